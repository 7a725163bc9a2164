//! The attribute [`#[tenure::locked]`](macro@locked).
//!
//! Users depend on the `tenure` crate, which has it.

mod args;
mod boxed;
mod expand;
mod function;
mod key;
mod kind;
mod length;
mod names;
mod output;
mod retry;
mod value;

/// Runs the body of a function while holding a lock, and not otherwise.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
/// use tenure::Error;
///
/// #[tenure::locked(key = "stock:{product_id}", lease = "6s", wait = "10s")]
/// async fn deduct(product_id: &str, left: u32) -> Result<u32, Error> {
///     Ok(left - 1)
/// }
///
/// tenure::set_client(tenure::connect("memory:").await?)?; // once, where the process starts
/// assert_eq!(deduct("PROD_001", 50).await?, 49);
/// # Ok(()) }
/// ```
///
/// It goes on async and on plain functions, on methods and in impls of traits (also those of `async_trait`), with type
/// parameters, lifetimes and any return type. The lock is taken before the first line of the body and released after
/// the last; a body that returns early, panics or is cancelled releases it as well. If the lock is not obtained, no
/// line of the body is run. A function that is called inside of another with the same key goes in again.
///
/// # The key
///
/// `key` is a format string. What stands in braces is an expression over the arguments: `{product_id}`,
/// `{self.region}`, `{order.id()}`, `{pair.0}`. It is evaluated once, before the body. `{{` and `}}` are braces. What has no
/// `Display` can be put in as `{shelf:?}`: as long as what that shows of it does not change, so that all versions of a program
/// that run at the same time make the same key.
///
/// Parts are encoded, as in a URL, so that no two lists of parts make the same key: with `key = "{a}:{b}"`, the parts
/// `("a:b", "c")` make `a%3Ab:c`, and `("a", "b:c")` make `a:b%3Ac`. For that, two parts need one of `: / | , ; #`
/// between them. `{path:raw}` is put in as it is, for those who share names with other programs, and then it is theirs
/// to see that different things have different keys. A part that turns out to be empty is an error, `Invalid`, and no line of the
/// body is run: one lock would stand for all that have none. A raw one may be empty.
///
/// # Arguments
///
/// | Argument | Meaning | Unless said |
/// |---|---|---|
/// | `key = "stock:{id}"` | what is contended for | must be said |
/// | `prefix = "stock:"` | what the key begins with | nothing: `client.lock("stock:42")` and `tenure run stock:42` take the same lock |
/// | `kind = fair` | `reentrant`, `simple`, `fair`, `read`, `write`, `fenced`, or `semaphore(n)`, of which n run at a time, if nobody has said another number before | `reentrant` |
/// | `lease = "6s"` | how long the store keeps the lock without hearing from us | 30 s |
/// | `renew = false` | lets the lease end by itself | it is renewed while the body runs |
/// | `wait = "10s"` | how long to wait, all told; `"0s"` is one attempt | for ever |
/// | `retry = …` | asks again by a policy instead of being woken, see below | woken |
/// | `max_hold = "1h"` | the longest the lock is held; then it is lost | no limit |
/// | `at_least = "1s"` | the shortest the lock is taken | as long as the body runs |
/// | `warn_after = "1m"` | raises the safety alarm when the body takes longer | no alarm |
/// | `warn_waiting_after = "1m"` | warns in the log when the wait takes longer, and names the holder | 10 s |
/// | `client = self.locks` | an expression: the client to lock with | the one in scope, or that of `tenure::set_client` |
/// | `enabled = self.locking` | an expression: if `false`, the body runs without the lock, which is counted and logged | `true` |
/// | `policy = self.policy` | an expression: a `tenure::Policy`, or a reference to one; what is said beside it goes before it | |
/// | `fallback = Self::closed` | what is called instead when the lock is not obtained | the error is returned |
/// | `on_busy = skip` | returns nothing if another has the lock | the error is returned |
/// | `on_lost = finish` | lets the body run to its end when the lock is lost | `cancel`: the body is dropped |
///
/// Lengths of time are texts such as `"6s"`, `"100ms"` or `"1h 30m"`, which are read while compiling, or expressions of
/// type `Duration`. With a `policy`, the prefix is the policy's unless it is said here.
///
/// The ways to ask again; `tries` is how often, and endless unless said:
///
/// * `retry = fixed("100ms", tries = 10)`: after the same pause every time
/// * `retry = linear("100ms", tries = 10)`: after the same pause and up to 50 ms more
/// * `retry = exponential("60ms", max = "2s", tries = 100)`: after pauses that grow by half, to 2 s unless said, and up to
///   50 ms more
///
/// # When the lock is not obtained
///
/// The function returns its error, made with `From<tenure::Error>`: because another held the lock for too long, because
/// the store cannot be reached, or because there is no client. Or it does what it was told:
///
/// * `fallback = path` calls another function with the same arguments, which returns the same type. Of an async
///   function it is an async one. A type that has no place for an error needs `on_lost = finish` besides, for a lock that is
///   lost is no reason to call it: the body has begun.
/// * `on_busy = skip` returns `()`, `None`, `Ok(())` or `Ok(None)` if another holds the lock, and only then: a store
///   that fails is not busy, and its error is returned or goes to the `fallback`. So a function that returns a bare `()` or
///   `Option` needs a `fallback` besides.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
/// use tenure::{Client, Error};
///
/// #[tenure::locked(key = "report", wait = "0s", on_busy = skip, client = client)]
/// async fn report(client: &Client) -> Result<Option<&'static str>, Error> {
///     Ok(Some("written"))
/// }
///
/// let client = tenure::connect("memory:").await?;
/// assert_eq!(report(&client).await?, Some("written"));
/// let held = client.lock("report")?.lock().await?;
/// assert_eq!(report(&client).await?, None);
/// # held.release().await?;
/// # Ok(()) }
/// ```
///
/// # When the lock is lost
///
/// The body of an async function is dropped before another can have the lock, and the function returns the error. With
/// `on_lost = finish` the body runs to its end, and then the function returns the error if its type has a place for it;
/// if not, what the body returned, and the loss is in the log. In the body, `tenure::current()` says how the lock
/// stands.
///
/// A plain function cannot be stopped, so its body always runs to its end.
///
/// # Plain functions
///
/// They wait on their thread, as `tenure::blocking` does; calls inside of calls on one thread go in again. In an async
/// task they would block its runtime: call them in `spawn_blocking` or `block_in_place`, or make them async.
///
/// ```
/// use tenure::{Client, Error, Memory};
///
/// #[tenure::locked(key = "stock:{product_id}", client = client)]
/// fn deduct(client: &Client, product_id: &str, left: u32) -> Result<u32, Error> {
///     Ok(left - 1)
/// }
///
/// assert_eq!(deduct(&Client::new(Memory::new())?, "PROD_001", 50)?, 49);
/// # Ok::<(), Error>(())
/// ```
///
/// # Order with other attributes
///
/// The attribute that is written first is expanded first, and what it makes ends up inside of what the later ones make.
/// So a transaction that is to be committed before the lock is released is written **above** `#[locked]`:
///
/// ```ignore
/// #[transactional]                         // inside: begins after the lock is taken, and commits before it is released
/// #[tenure::locked(key = "order:{id}")]    // outside
/// async fn pay(id: u64) -> Result<(), Error> {
///     Ok(())
/// }
/// ```
///
/// The other way round, another could take the lock and read what was not yet committed. Where that can be seen it is
/// refused, for attributes by the name of `transaction`, `transactional` or `tx`:
///
/// ```compile_fail
/// # use tenure::{Error, locked as transactional};
/// #[tenure::locked(key = "order:{id}")]
/// #[transactional(key = "…")] // error: the lock would be released before this commits: write `#[locked]` below it
/// async fn pay(id: u64) -> Result<(), Error> {
///     Ok(())
/// }
/// ```
///
/// # What it becomes
///
/// The key is all that is allocated for it.
#[doc = concat!("```ignore\n", include_str!("../tests/expansion/deduct.rs"), "```")]
#[proc_macro_attribute]
pub fn locked(args: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand::locked(args.into(), &item.into()).into()
}
