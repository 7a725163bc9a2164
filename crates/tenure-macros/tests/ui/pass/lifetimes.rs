//! Named and elided lifetimes, in arguments and in what is returned.

#![deny(warnings)]

use tenure::{Client, Error, Memory};

struct Book<'a> {
    title: &'a str,
}

#[tenure::locked(key = "first:{words.len()}")]
async fn first<'a>(words: &'a [&'a str], or_else: &'a str) -> Result<&'a str, Error> {
    Ok(words.first().copied().unwrap_or(or_else))
}

#[tenure::locked(key = "elided:{text}")]
async fn elided(text: &str) -> Result<Option<&str>, Error> {
    if text.is_empty() {
        return Ok(None);
    }
    Ok(text.get(..1))
}

impl<'a> Book<'a> {
    #[tenure::locked(key = "book:{self.title}")]
    async fn title(&self) -> Result<&'a str, Error> {
        Ok(self.title)
    }

    #[tenure::locked(key = "book:{self.title}")]
    async fn rename<'b>(&'b mut self, title: &'a str) -> Result<&'b mut Book<'a>, Error> {
        self.title = title;
        Ok(self)
    }

    #[tenure::locked(key = "book:{self.title}")]
    fn blocking<'b>(&'b self, other: &'b str) -> Result<&'b str, Error> {
        Ok(if other.is_empty() { self.title } else { other })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    tenure::set_client(Client::new(Memory::new())?)?;
    let text = String::from("hello");
    assert_eq!(first(&[], &text).await?, "hello");
    assert_eq!(elided(&text).await?, Some("h"));
    let mut book = Book { title: "a" };
    assert_eq!(book.title().await?, "a");
    assert_eq!(book.rename("b").await?.title, "b");
    let book = Book { title: "b" };
    let said = std::thread::scope(|scope| scope.spawn(|| book.blocking("").map(str::to_owned)).join());
    assert_eq!(said.ok().transpose()?.as_deref(), Some("b"));
    Ok(())
}
