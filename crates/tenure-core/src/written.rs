//! What has a written form goes through serde in that form.

use crate::{Length, Retry, Sort, Unreadable};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// Reads what is expected to be written so.
struct Written<T>(&'static str, PhantomData<T>);

impl<T: FromStr<Err = Unreadable>> de::Visitor<'_> for Written<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

macro_rules! written {
    ($($what:ty: $form:literal,)+) => {$(
        impl Serialize for $what {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $what {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Written($form, PhantomData))
            }
        }
    )+};
}

written! {
    Length: "a length of time such as \"30s\"",
    Sort: "a kind such as \"fair\" or \"semaphore:3\"",
    Retry: "a retry such as \"linear(100ms, tries=10)\"",
}
