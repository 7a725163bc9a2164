//! The Lua scripts, one file per operation, and their hashes.

use crate::layout::Layout;
use std::sync::LazyLock;
use tenure_core::{Claim, Kind, StoreError, StoreErrorKind};

/// A script and the hash by which the server knows it.
pub(crate) struct Script {
    pub(crate) source: &'static str,
    pub(crate) hash: LazyLock<String>,
}

macro_rules! script {
    ($($file:literal),+) => {
        Script {
            source: concat!($(include_str!(concat!("../scripts/", $file, ".lua"))),+),
            hash: LazyLock::new(|| {
                let source = concat!($(include_str!(concat!("../scripts/", $file, ".lua"))),+);
                redis::Script::new(source).get_hash().to_owned()
            }),
        }
    };
}

/// The scripts by which claims of one sort take, keep and leave locks.
pub(crate) struct Scripts {
    pub(crate) acquire: Script,
    pub(crate) reenter: Script,
    pub(crate) renew: Script,
    pub(crate) release: Script,
    pub(crate) leave: Script,
}

/// For claims that take a re-entrant lock for themselves.
pub(crate) static REENTRANT: Scripts = Scripts {
    acquire: script!(
        "common/given_up",
        "common/watermark",
        "common/token",
        "reentrant/acquire",
        "common/short",
        "reentrant/held",
        "reentrant/stand",
        "common/line",
        "reentrant/holder"
    ),
    reenter: script!("common/given_up", "reentrant/reenter", "reentrant/count"),
    renew: script!("reentrant/renew"),
    release: script!("common/give_up", "reentrant/release", "nested/rest", "common/tell", "common/note"),
    leave: script!("common/give_up", "reentrant/leave", "reentrant/count"),
};

/// For claims that stand under others.
pub(crate) static NESTED: Scripts = Scripts {
    acquire: script!(
        "common/given_up",
        "common/short",
        "common/watermark",
        "nested/acquire",
        "reentrant/stand",
        "common/line",
        "reentrant/holder"
    ),
    reenter: script!("common/given_up", "reentrant/reenter", "nested/count"),
    renew: script!("nested/renew"),
    release: script!("common/give_up", "nested/release", "nested/rest", "common/tell", "common/note"),
    leave: script!("common/give_up", "reentrant/leave", "nested/count"),
};

/// For claims that take a fenced lock for themselves: its tokens come from elsewhere, the rest is the re-entrant lock's.
pub(crate) static FENCED: Scripts = Scripts {
    acquire: script!(
        "common/given_up",
        "common/short",
        "common/watermark",
        "fenced/acquire",
        "reentrant/stand",
        "common/line",
        "reentrant/holder"
    ),
    reenter: script!("common/given_up", "reentrant/reenter", "reentrant/count"),
    renew: script!("reentrant/renew"),
    release: script!("common/give_up", "reentrant/release", "nested/rest", "common/tell", "common/note"),
    leave: script!("common/give_up", "reentrant/leave", "reentrant/count"),
};

/// For claims on fenced locks that stand under others.
pub(crate) static NESTED_FENCED: Scripts = Scripts {
    acquire: script!(
        "common/given_up",
        "common/short",
        "common/watermark",
        "fenced/acquire",
        "reentrant/stand",
        "common/line",
        "reentrant/holder"
    ),
    reenter: script!("common/given_up", "reentrant/reenter", "nested/count"),
    renew: script!("nested/renew"),
    release: script!("common/give_up", "nested/release", "nested/rest", "common/tell", "common/note"),
    leave: script!("common/give_up", "reentrant/leave", "nested/count"),
};

/// For claims on simple locks, which are never entered twice.
pub(crate) static SIMPLE: Scripts = Scripts {
    acquire: script!(
        "common/given_up",
        "common/watermark",
        "common/token",
        "simple/acquire",
        "common/line",
        "simple/holder"
    ),
    reenter: script!("simple/reenter"),
    renew: script!("simple/renew"),
    release: script!("common/give_up", "simple/release", "common/tell", "common/note"),
    leave: script!("simple/reenter"),
};

/// For claims that take a fair lock for themselves.
pub(crate) static FAIR: Scripts = Scripts {
    acquire: script!(
        "common/given_up",
        "common/first",
        "common/short",
        "common/watermark",
        "fair/acquire",
        "fair/line",
        "fair/enter"
    ),
    reenter: script!("common/given_up", "reentrant/reenter", "reentrant/count"),
    renew: script!("reentrant/renew"),
    release: script!(
        "common/give_up",
        "common/first",
        "fair/release",
        "fair/line",
        "fair/leave",
        "reentrant/release",
        "nested/rest",
        "fair/tell",
        "common/note"
    ),
    leave: script!("common/give_up", "reentrant/leave", "reentrant/count"),
};

/// For claims on fair locks that stand under others.
pub(crate) static NESTED_FAIR: Scripts = Scripts {
    acquire: script!(
        "common/given_up",
        "common/first",
        "common/short",
        "common/watermark",
        "fair/acquire",
        "fair/line",
        "fair/enter"
    ),
    reenter: script!("common/given_up", "reentrant/reenter", "nested/count"),
    renew: script!("nested/renew"),
    release: script!(
        "common/give_up",
        "common/first",
        "fair/release",
        "fair/line",
        "fair/leave",
        "nested/release",
        "nested/rest",
        "fair/tell",
        "common/note"
    ),
    leave: script!("common/give_up", "reentrant/leave", "nested/count"),
};

/// For claims on either side of a read-write lock.
pub(crate) static READ_WRITE: Scripts = Scripts {
    acquire: script!(
        "common/given_up",
        "common/first",
        "common/short",
        "common/watermark",
        "rw/acquire_keys",
        "rw/now",
        "rw/shares",
        "rw/look",
        "rw/acquire"
    ),
    reenter: script!("common/given_up", "reentrant/reenter", "rw/count"),
    renew: script!("rw/renew"),
    release: script!(
        "common/give_up",
        "common/first",
        "common/short",
        "rw/release_keys",
        "rw/now",
        "rw/shares",
        "rw/look",
        "rw/release",
        "common/note"
    ),
    leave: script!("common/give_up", "reentrant/leave", "rw/count"),
};

/// The same, in Redisson's layout.
pub(crate) static FAIR_OF_REDISSON: Scripts = Scripts {
    acquire: script!(
        "common/given_up",
        "common/short",
        "common/watermark",
        "fair/acquire",
        "redisson/line",
        "fair/enter"
    ),
    reenter: script!("common/given_up", "reentrant/reenter", "reentrant/count"),
    renew: script!("reentrant/renew"),
    release: script!(
        "common/give_up",
        "fair/release",
        "redisson/line",
        "fair/leave",
        "reentrant/release",
        "nested/rest",
        "fair/tell",
        "common/note"
    ),
    leave: script!("common/give_up", "reentrant/leave", "reentrant/count"),
};

pub(crate) static NESTED_FAIR_OF_REDISSON: Scripts = Scripts {
    acquire: script!(
        "common/given_up",
        "common/short",
        "common/watermark",
        "fair/acquire",
        "redisson/line",
        "fair/enter"
    ),
    reenter: script!("common/given_up", "reentrant/reenter", "nested/count"),
    renew: script!("nested/renew"),
    release: script!(
        "common/give_up",
        "fair/release",
        "redisson/line",
        "fair/leave",
        "nested/release",
        "nested/rest",
        "fair/tell",
        "common/note"
    ),
    leave: script!("common/give_up", "reentrant/leave", "nested/count"),
};

pub(crate) static READ_WRITE_OF_REDISSON: Scripts = Scripts {
    acquire: script!(
        "common/given_up",
        "common/first",
        "common/short",
        "common/watermark",
        "rw/acquire_keys",
        "rw/now",
        "redisson/shares",
        "rw/look",
        "rw/acquire"
    ),
    reenter: script!("common/given_up", "reentrant/reenter", "redisson/count"),
    renew: script!("redisson/renew"),
    release: script!(
        "common/give_up",
        "common/first",
        "common/short",
        "rw/release_keys",
        "rw/now",
        "redisson/shares",
        "rw/look",
        "rw/release",
        "common/note"
    ),
    leave: script!("common/give_up", "reentrant/leave", "redisson/count"),
};

/// For claims on semaphores, which take all their permits at once and leave with all of them.
pub(crate) static SEMAPHORE: Scripts = Scripts {
    acquire: script!(
        "common/given_up",
        "common/first",
        "common/watermark",
        "semaphore/take_keys",
        "common/number",
        "semaphore/look",
        "common/last",
        "semaphore/take"
    ),
    reenter: script!("simple/reenter"),
    renew: script!("semaphore/renew"),
    release: script!(
        "common/give_up",
        "common/first",
        "semaphore/release_keys",
        "common/number",
        "semaphore/look",
        "semaphore/release",
        "common/note"
    ),
    leave: script!("simple/reenter"),
};
pub(crate) static SUPPLY: Script =
    script!("common/first", "semaphore/supply_keys", "common/number", "semaphore/look", "common/supply");

/// For permits that have names.
pub(crate) static PERMITS: Scripts = Scripts {
    acquire: script!(
        "common/given_up",
        "permits/take_keys",
        "common/number",
        "permits/look",
        "common/last",
        "permits/take"
    ),
    reenter: script!("simple/reenter"),
    renew: script!("permits/renew"),
    release: script!("common/give_up", "permits/release", "common/note"),
    leave: script!("simple/reenter"),
};
pub(crate) static SUPPLY_NAMED: Script =
    script!("semaphore/supply_keys", "common/number", "permits/look", "common/supply");
pub(crate) static GIVE_BACK: Script =
    script!("common/give_up", "permits/give_back_keys", "common/number", "permits/look", "permits/give_back");

/// For all that is done to latches.
pub(crate) static LATCH: Script = script!("common/watermark", "latch/keys", "common/number", "latch/count");

/// For whoever looks at what is counted.
pub(crate) static INSPECT_COUNT: Script = script!("counted/sight", "common/inspect");
pub(crate) static FORCE_COUNT: Script = script!("common/put_out", "counted/sight", "counted/force");

/// For those who take several locks at one moment.
pub(crate) static TOGETHER: Script = script!("common/given_up", "common/short", "common/watermark", "multi/acquire");

/// For locks on a majority of servers.
pub(crate) static RETRACT: Script = script!("common/give_up", "reentrant/release", "nested/rest", "common/note");
pub(crate) static RETRACT_NESTED: Script = script!("common/give_up", "nested/release", "nested/rest", "common/note");
pub(crate) static RETRACT_SIMPLE: Script = script!("common/give_up", "simple/release", "common/note");
pub(crate) static STAMP: Script = script!("redlock/stamp", "redlock/raise");
pub(crate) static STAMP_SIMPLE: Script = script!("redlock/stamp_simple", "redlock/raise");
pub(crate) static JOIN: Script = script!("common/given_up", "common/short", "redlock/join", "redlock/raise");
pub(crate) static JOIN_SIMPLE: Script = script!("common/given_up", "redlock/join_simple", "redlock/raise");

/// For whoever looks.
pub(crate) static INSPECT: Script = script!("common/short", "common/sight", "common/inspect");
pub(crate) static FORCE: Script = script!("common/put_out", "common/short", "common/sight", "common/force");
pub(crate) static FORCED: Script = script!("common/put_out", "common/forced");

impl Scripts {
    /// Those for a claim on a lock of a kind.
    pub(crate) fn of(layout: Layout, kind: Kind, claim: &Claim) -> Result<&'static Self, StoreError> {
        match kind {
            Kind::Reentrant if claim.is_nested() => Ok(&NESTED),
            Kind::Reentrant => Ok(&REENTRANT),
            Kind::Fenced if claim.is_nested() => Ok(&NESTED_FENCED),
            Kind::Fenced => Ok(&FENCED),
            Kind::Simple => Ok(&SIMPLE),
            Kind::Fair if layout == Layout::Redisson && claim.is_nested() => Ok(&NESTED_FAIR_OF_REDISSON),
            Kind::Fair if layout == Layout::Redisson => Ok(&FAIR_OF_REDISSON),
            Kind::Read | Kind::Write if layout == Layout::Redisson => Ok(&READ_WRITE_OF_REDISSON),
            Kind::Fair if claim.is_nested() => Ok(&NESTED_FAIR),
            Kind::Fair => Ok(&FAIR),
            Kind::Read | Kind::Write => Ok(&READ_WRITE),
            Kind::Semaphore => Ok(&SEMAPHORE),
            Kind::Permits => Ok(&PERMITS),
            other => Err(StoreError::new(
                StoreErrorKind::Unsupported,
                format!("this version of the redis backend does not know the kind: kind={other}"),
            )),
        }
    }
}
