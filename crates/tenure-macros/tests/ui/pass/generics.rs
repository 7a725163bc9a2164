//! Type parameters, const parameters, `impl Trait` arguments and bounds.

#![deny(warnings)]

use std::fmt::{Debug, Display};
use tenure::{Client, Error, Memory};

#[tenure::locked(key = "item:{id}")]
async fn of_type<T: Display, const N: usize>(id: T, values: [u8; N]) -> Result<usize, Error> {
    let _used = id;
    Ok(values.len())
}

#[tenure::locked(key = "item:{id}")]
async fn of_impl(id: impl Display + Clone, seen: &mut impl Extend<String>) -> Result<(), Error> {
    seen.extend([id.to_string()]);
    Ok(())
}

#[tenure::locked(key = "item:{id}")]
async fn with_bounds<'a, K, E>(id: &'a K, fails: bool) -> Result<&'a K, E>
where
    K: Display + ?Sized,
    E: From<Error> + From<std::fmt::Error>,
{
    if fails {
        Err(std::fmt::Error)?;
    }
    Ok(id)
}

struct Shelf<T>(Vec<T>);

impl<T: Debug + Clone> Shelf<T> {
    #[tenure::locked(key = "shelf:{self.0.len()}")]
    async fn put<U: Into<T>>(&mut self, thing: U) -> Result<T, Error> {
        let thing = thing.into();
        self.0.push(thing.clone());
        Ok(thing)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tenure::set_client(Client::new(Memory::new())?)?;
    assert_eq!(of_type("a", [0; 4]).await?, 4);
    let mut seen = Vec::new();
    of_impl(7, &mut seen).await?;
    assert_eq!(seen, ["7"]);
    let id = with_bounds::<_, Box<dyn std::error::Error>>("x", false).await?;
    assert_eq!(id, "x");
    assert!(with_bounds::<_, Box<dyn std::error::Error>>("x", true).await.is_err());
    assert_eq!(Shelf::<String>(Vec::new()).put("book").await?, "book");
    Ok(())
}
