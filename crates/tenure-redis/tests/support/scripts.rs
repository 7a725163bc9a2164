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
hash!(FENCED, "fenced/acquire", "reentrant/stand", "common/line", "reentrant/holder");
hash!(TAKE, "semaphore/take_keys", "common/number", "semaphore/look", "common/last", "semaphore/take");
hash!(
    LEAVE_WITH_PERMITS,
    "semaphore/release_keys",
    "common/number",
    "semaphore/look",
    "semaphore/release",
    "common/note"
);
hash!(RENEW_PERMITS, "semaphore/renew");
hash!(SUPPLY, "semaphore/supply_keys", "common/number", "semaphore/look", "common/supply");
hash!(TAKE_NAMED, "permits/take_keys", "common/number", "permits/look", "common/last", "permits/take");
hash!(RENEW_NAMED, "permits/renew");
hash!(GIVE_BACK, "permits/give_back_keys", "common/number", "permits/look", "permits/give_back");
hash!(SUPPLY_NAMED, "semaphore/supply_keys", "common/number", "permits/look", "common/supply");
hash!(COUNT, "latch/keys", "common/number", "latch/count");
hash!(TOGETHER, "multi/acquire");
