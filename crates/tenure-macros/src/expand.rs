//! What a locked function becomes.

use crate::args::Args;
use crate::function::{Form, Function};
use crate::kind::Kind;
use crate::length::Length;
use crate::output::Output;
use crate::retry::Retry;
use crate::value;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, LitStr};

/// The function under its lock, or what is wrong.
pub(crate) fn locked(args: TokenStream, item: &TokenStream) -> TokenStream {
    let made = match (Args::read(args), Function::read(item)) {
        (Ok(args), Ok(function)) => expand(&args, function),
        (Err(mut error), Err(other)) => {
            error.combine(other);
            Err(error)
        }
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
    };
    made.unwrap_or_else(|error| {
        let error = error.into_compile_error();
        // With the function as it was, so that those who call it are not blamed for it.
        quote!(#item #error)
    })
}

fn expand(args: &Args, mut function: Function) -> syn::Result<TokenStream> {
    if let (Form::Plain, Some(word)) = (function.form, args.on_lost.as_ref().filter(|word| *word == "cancel")) {
        let rule = "a plain function cannot be stopped: write `on_lost = finish`, or make it an async fn";
        return Err(Error::new(word.span(), rule));
    }
    if let Output::Never(span) = function.output
        && (args.fallback.is_none() || !finishes(args, &function))
    {
        let rule = "a function that does not return cannot say that it has no lock: return `Result<Infallible, _>`";
        return Err(Error::new(span, format!("{rule}, or write `fallback = …` and `on_lost = finish`")));
    }
    let enter = enter(args, &function)?;
    // Only now: a fallback is called with what the user has named.
    function.name_all();
    let run = run(args, &function);
    Ok(function.with_body(enter, run))
}

/// Whether the body runs to its end when the lock is lost.
fn finishes(args: &Args, function: &Function) -> bool {
    function.form == Form::Plain || args.on_lost.as_ref().is_some_and(|word| word == "finish")
}

/// Takes the lock, or returns.
fn enter(args: &Args, function: &Function) -> syn::Result<TokenStream> {
    let name = LitStr::new(&format!("::{}", function.name()), Span::mixed_site());
    let (policy, key) = (policy(args), args.key_tokens());
    let client = match &args.client {
        None => quote!(::tenure::locked::client()),
        Some(client) => {
            let client = value::reference(client);
            quote!(::tenure::locked::of(#client))
        }
    };
    let (enter, wait) = match function.form {
        Form::Async | Form::Boxed => (quote!(enter), Some(quote!(.await))),
        Form::Plain => (quote!(blocking::enter), None),
    };
    let busy = args.on_busy.as_ref().map(|_| {
        let skip = function.output.says("Skips", "skip");
        quote_spanned! {Span::mixed_site()=>
            ::core::result::Result::Err(error) if ::tenure::locked::is_busy(&error) => return #skip(),
        }
    });
    let otherwise = match &args.fallback {
        Some(path) => {
            let arguments = function.arguments()?;
            let wait = wait.as_ref().map(|_| quote_spanned!(value::ours(path.span())=> .await));
            let call = quote_spanned!(value::ours(path.span())=> #path(#(#arguments),*) #wait);
            // What does not return has nothing to return.
            let back = if let Output::Never(_) = function.output { None } else { Some(quote!(return)) };
            quote_spanned! {Span::mixed_site()=>
                ::core::result::Result::Err(error) => {
                    site.falls_back(&error);
                    #back #call
                }
            }
        }
        None => {
            let tell = function.output.says("Tells", "tell");
            quote_spanned!(Span::mixed_site()=> ::core::result::Result::Err(error) => return #tell(error),)
        }
    };
    let (mutable, no_future) = match function.form {
        Form::Async | Form::Boxed => (Some(quote!(mut)), None),
        Form::Plain => (None, function.output.refuse_future()),
    };
    Ok(quote_spanned! {Span::mixed_site()=>
        #no_future
        let #mutable section = {
            let client = #client;
            #policy
            let key = #key;
            let site = {
                static SITE: ::tenure::locked::Site =
                    ::tenure::locked::Site::new(::core::concat!(::core::module_path!(), #name));
                &SITE
            };
            match ::tenure::locked::#enter(site, client, &policy, key) #wait {
                ::core::result::Result::Ok(section) => section,
                #busy
                #otherwise
            }
        };
    })
}

/// Runs the body, and says what became of the lock.
fn run(args: &Args, function: &Function) -> TokenStream {
    let Function { form, output, body, .. } = function;
    let (statements, captures, conditional) = (&body.stmts, function.captures(), function.conditional_captures());
    let captures = (!captures.is_empty()).then(|| quote!(::tenure::locked::inside(&(#(&#captures,)*));));
    let captures = quote!(#captures #(#conditional)*);
    let (work, pinned, wait) = match form {
        Form::Plain => {
            let arrow = output.arrow();
            (quote!(move || #arrow { #captures #(#statements)* }), None, None)
        }
        Form::Async | Form::Boxed => {
            let hint = output.hint();
            let body = quote!(async move { #captures #hint #(#statements)* });
            // After the section, so that it is dropped before the lock is released.
            let pinned = quote_spanned! {Span::mixed_site()=>
                let body = #body;
                let body = ::core::pin::pin!(body);
            };
            (quote_spanned!(Span::mixed_site()=> body), Some(pinned), Some(quote!(.await)))
        }
    };
    if let Output::Never(_) = output {
        return quote_spanned! {Span::mixed_site()=>
            #pinned
            let _ = section.finish(#work) #wait;
            #[allow(unreachable_code)]
            ::core::unreachable!();
        };
    }
    if finishes(args, function) {
        // What returns nothing may have a body that does not return.
        let unit = matches!(output, Output::Unit(_)).then(|| quote!(: ::tenure::locked::Ended<()>));
        return quote_spanned! {Span::mixed_site()=>
            #pinned
            let ended #unit = section.finish(#work) #wait;
            {
                #[allow(unused_imports)]
                use ::tenure::locked::GiveAnyway as _;
                ended.give()
            }
        };
    }
    let tell_loss = output.says("TellsLoss", "tell_loss");
    quote_spanned! {Span::mixed_site()=>
        #pinned
        match section.run(#work) #wait {
            ::core::result::Result::Ok(value) => value,
            ::core::result::Result::Err(lost) => #tell_loss(lost),
        }
    }
}

/// Makes `policy` the policy that was said.
fn policy(args: &Args) -> TokenStream {
    let span = Span::mixed_site();
    let kind = args.kind.as_ref().map(Kind::tokens).map(|kind| quote!(.kind(#kind)));
    let enabled = args.enabled.as_ref().map(|enabled| quote!(.enabled(#enabled)));
    let options = options(args);
    // One attempt has no retries, whatever is said elsewhere.
    let base = if args.is_once() {
        quote_spanned!(span=> ::tenure::locked::once(options))
    } else {
        quote_spanned!(span=> options)
    };
    let options = (!options.is_empty()).then(|| quote_spanned!(span=> .map(|options| #base #options)));
    let Some(base) = &args.policy else {
        return quote_spanned!(span=> let policy = ::tenure::locked::policy(&client) #kind #enabled #options;);
    };
    let base = value::reference(base);
    let prefix = args.prefix_of_policy().map(|prefix| quote!(.prefix(#prefix)));
    // In one statement, so that a lock by which the policy was read is not held meanwhile.
    quote_spanned! {span=>
        let policy = ::tenure::locked::like(#base) #prefix #kind #enabled #options;
    }
}

/// The calls that change options into those that were said.
fn options(args: &Args) -> TokenStream {
    let length = |name: &str, length: &Option<Length>| {
        let name = Ident::new(name, Span::mixed_site());
        length.as_ref().map(Length::tokens).map(|length| quote!(.#name(#length)))
    };
    let lease = length("lease", &args.lease);
    let no_renew = args.renew.as_ref().filter(|renew| !renew.value).map(|_| quote!(.no_renew()));
    let wait = length("wait", &args.wait);
    let retry = args.retry.as_ref().map(Retry::tokens).map(|retry| quote!(.retry(#retry)));
    let max_hold = length("max_hold", &args.max_hold);
    let at_least = length("at_least", &args.at_least);
    let warn_after = length("warn_after", &args.warn_after);
    let warn_waiting_after = length("warn_waiting_after", &args.warn_waiting_after);
    quote!(#lease #no_renew #wait #retry #max_hold #at_least #warn_after #warn_waiting_after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expansion(args: TokenStream, item: &TokenStream) -> String {
        let file = syn::parse2(locked(args, item)).expect("code");
        prettyplease::unparse(&file)
    }

    #[test]
    fn an_async_function_becomes_what_is_written_down() {
        let made = expansion(
            quote!(key = "stock:{product_id}", lease = "6s", wait = "10s"),
            &quote! {
                /// Takes one from the shelf.
                async fn deduct(&self, product_id: &str) -> Result<u32, Error> {
                    let left = self.count(product_id).await? - 1;
                    self.store(product_id, left).await?;
                    Ok(left)
                }
            },
        );
        let expected = include_str!("../tests/expansion/deduct.rs");
        assert!(made == expected, "it becomes\n{made}\nand not\n{expected}");
    }
}
