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

hash!(
    ACQUIRE,
    "common/given_up",
    "common/watermark",
    "common/token",
    "reentrant/acquire",
    "common/short",
    "reentrant/held",
    "reentrant/stand",
    "common/line",
    "reentrant/holder"
);
hash!(REENTER, "common/given_up", "reentrant/reenter", "reentrant/count");
hash!(RENEW, "reentrant/renew");
hash!(RELEASE, "common/give_up", "reentrant/release", "nested/rest", "common/tell", "common/note");
hash!(LEAVE, "common/give_up", "reentrant/leave", "reentrant/count");
hash!(
    FENCED,
    "common/given_up",
    "common/short",
    "common/watermark",
    "fenced/acquire",
    "reentrant/stand",
    "common/line",
    "reentrant/holder"
);
hash!(
    TAKE,
    "common/given_up",
    "common/first",
    "common/watermark",
    "semaphore/take_keys",
    "common/number",
    "semaphore/look",
    "common/last",
    "semaphore/take"
);
hash!(
    LEAVE_WITH_PERMITS,
    "common/give_up",
    "common/first",
    "semaphore/release_keys",
    "common/number",
    "semaphore/look",
    "semaphore/release",
    "common/note"
);
hash!(RENEW_PERMITS, "semaphore/renew");
hash!(SUPPLY, "common/first", "semaphore/supply_keys", "common/number", "semaphore/look", "common/supply");
hash!(
    TAKE_NAMED,
    "common/given_up",
    "permits/take_keys",
    "common/number",
    "permits/look",
    "common/last",
    "permits/take"
);
hash!(RENEW_NAMED, "permits/renew");
hash!(GIVE_BACK, "common/give_up", "permits/give_back_keys", "common/number", "permits/look", "permits/give_back");
hash!(SUPPLY_NAMED, "semaphore/supply_keys", "common/number", "permits/look", "common/supply");
hash!(COUNT, "common/watermark", "latch/keys", "common/number", "latch/count");
hash!(TOGETHER, "common/given_up", "common/short", "common/watermark", "multi/acquire");
