//! Policies in whatever serde reads and writes.

use super::Policy;
use super::fields::Fields;
use ::serde::{Deserialize, Deserializer, Serialize, Serializer, de};

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Fields::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Fields::deserialize(deserializer)?.onto(Self::new()).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_part_of_whatever_has_one() {
        #[derive(Deserialize)]
        struct Shop {
            stock: Policy,
        }
        let shop: Shop = serde_json::from_str(r#"{"stock": {"prefix": "stock:", "wait": null}}"#).unwrap();
        assert_eq!(shop.stock, Policy::new().prefix("stock:"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, told) in [
            (r#"{"wait": "0s", "retry": "fixed(1s)"}"#, "one attempt has no retries"),
            (r#"{"leese": "5s"}"#, "unknown field `leese`, expected one of `prefix`, `kind`, "),
            (r#"{"lease": 5}"#, "expected a length of time such as \"30s\""),
        ] {
            let error = serde_json::from_str::<Policy>(text).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
