//! The scripts' hashes: what a request that runs one of them contains, so that the proxy can find it.

use std::sync::LazyLock;
use tenure_redis::redis::Script;

macro_rules! hash {
    ($name:ident, $($file:literal),+) => {
        pub(crate) static $name: LazyLock<String> = LazyLock::new(|| {
            let source = concat!($(include_str!(concat!("../../scripts/", $file, ".lua"))),+);
            Script::new(source).get_hash().to_owned()
        });
    };
}

hash!(ACQUIRE, "common/token", "reentrant/acquire", "reentrant/stand", "common/line", "reentrant/holder");
hash!(REENTER, "reentrant/reenter", "reentrant/count");
hash!(RENEW, "reentrant/renew");
hash!(RELEASE, "reentrant/release", "nested/rest", "common/tell", "common/note");
hash!(LEAVE, "reentrant/leave", "reentrant/count");
