//! What a key can be made of.

#![deny(warnings)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use tenure::{Client, Error, Memory};

const REGION: &str = "eu";

struct Order {
    id: u64,
    lines: Vec<(u32, &'static str)>,
}

impl Order {
    fn id(&self) -> u64 {
        self.id
    }
}

async fn holds(client: &Client, key: &str) -> Result<(), Error> {
    assert!(client.lock(key)?.try_lock().await?.is_none(), "{key}");
    Ok(())
}

#[tenure::locked(key = "{order.id}:{order.id()}:{order.lines[0].1}", client = client)]
async fn fields_and_calls(client: &Client, order: &Order) -> Result<(), Error> {
    holds(client, "7:7:book").await
}

#[tenure::locked(key = "{pair.0}/{pair.1.0}/{(*count) + 1}", client = client)]
async fn tuples(client: &Client, pair: (u8, (u8,)), count: &u8) -> Result<(), Error> {
    holds(client, "1/2/4").await
}

#[tenure::locked(key = "{crate::REGION}#{self::REGION};{REGION}", client = client)]
async fn constants(client: &Client) -> Result<(), Error> {
    holds(client, "eu#eu;eu").await
}

#[tenure::locked(key = "{a}:{b}", client = client)]
async fn encoded(client: &Client, a: &str, b: &str, key: &str) -> Result<(), Error> {
    holds(client, key).await
}

#[tenure::locked(prefix = "", key = "{path:raw}{rest : raw}", client = client)]
async fn raw(client: &Client, path: &str, rest: u8) -> Result<(), Error> {
    holds(client, "a/b:c7").await
}

#[derive(Debug)]
enum Shelf {
    Top,
    Under(&'static str),
}

#[tenure::locked(key = "{shelf:?}/{Shelf::Under(\"a/b\") : ?}", client = client)]
async fn as_programmers_see_it(client: &Client, shelf: &Shelf) -> Result<(), Error> {
    holds(client, "Top/Under(\"a%2Fb\")").await
}

#[tenure::locked(prefix = "{{app}}:", key = "{{{id}}}", client = client)]
async fn braces(client: &Client, id: u8) -> Result<(), Error> {
    holds(client, "{app}:{7}").await
}

#[tenure::locked(key = "{map[\"a\"]}|{map.values().max().copied().unwrap_or_default()}", client = client)]
async fn texts(client: &Client, map: &BTreeMap<&str, u8>) -> Result<(), Error> {
    holds(client, "1|2").await
}

struct Once<'a>(&'a Cell<u32>);

impl Display for Once<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.set(self.0.get() + 1);
        f.write_str("once")
    }
}

#[tenure::locked(key = "{shown}", client = client)]
async fn once(client: &Client, shown: Once<'_>) -> Result<u32, Error> {
    holds(client, "once").await?;
    Ok(shown.0.get())
}

#[tenure::locked(key = r"{a}\,{b}", client = client)]
async fn patterns(client: &Client, (a, b): (u8, u8), [c, ..]: [u8; 2]) -> Result<u8, Error> {
    holds(client, "1\\,2").await?;
    Ok(a + b + c)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let client = Client::new(Memory::new())?;
    fields_and_calls(&client, &Order { id: 7, lines: vec![(1, "book")] }).await?;
    tuples(&client, (1, (2,)), &3).await?;
    constants(&client).await?;
    encoded(&client, "a:b", "c", "a%3Ab:c").await?;
    encoded(&client, "a", "b:c", "a:b%3Ac").await?;
    raw(&client, "a/b:c", 7).await?;
    as_programmers_see_it(&client, &Shelf::Top).await?;
    braces(&client, 7).await?;
    texts(&client, &BTreeMap::from([("a", 1), ("b", 2)])).await?;
    assert_eq!(once(&client, Once(&Cell::new(0))).await?, 1);
    assert_eq!(patterns(&client, (1, 2), [3, 4]).await?, 6);
    Ok(())
}
