//! The names in what we make meet none of the user's.

#![deny(warnings)]
#![allow(non_snake_case, dead_code)]

use tenure::Client;

const SITE: u32 = 1;
struct Option;
struct Result;
struct String;
mod core {}
mod std {}

#[allow(clippy::unnecessary_wraps)]
fn Ok<T>(value: T) -> ::std::result::Result<T, tenure::Error> {
    ::std::result::Result::Ok(value)
}

fn Err() {}

fn Some() {}

#[tenure::locked(key = "{key}:{section}:{policy}:{SITE}", client = client, lease = options, enabled = value.error)]
async fn names(
    client: &Client,
    (key, section, policy): (u32, u32, u32),
    options: ::std::time::Duration,
    value: &Lost,
) -> ::std::result::Result<u32, tenure::Error> {
    let site = SITE;
    let ended = key + section + policy;
    Ok(ended + site + u32::from(value.error))
}

#[tenure::locked(key = "{key}:{section}", client = client)]
fn plain(client: &Client, key: u32, section: u32) -> ::std::result::Result<u32, tenure::Error> {
    let error = SITE;
    Ok(key + section + error)
}

struct Lost {
    error: bool,
}

macro_rules! function {
    ($name:ident, $argument:ident, $key:literal, $lease:expr) => {
        #[tenure::locked(key = $key, lease = $lease, client = $argument)]
        async fn $name($argument: &Client) -> ::std::result::Result<u32, tenure::Error> {
            Ok($key.len() as u32)
        }
    };
}

function!(from_a_macro, section, "abc", "5s");

#[tokio::main(flavor = "current_thread")]
async fn main() -> ::std::result::Result<(), tenure::Error> {
    let client = Client::new(tenure::Memory::new())?;
    let second = ::std::time::Duration::from_secs(1);
    assert_eq!(names(&client, (1, 2, 3), second, &Lost { error: true }).await?, 8);
    assert_eq!(from_a_macro(&client).await?, 3);
    let joined = ::std::thread::spawn(move || plain(&client, 1, 2)).join();
    assert_eq!(joined.ok().transpose()?, 4.into());
    Ok(())
}
