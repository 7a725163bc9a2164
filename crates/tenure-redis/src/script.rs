//! The Lua scripts, one file per operation, and their hashes.

use std::sync::LazyLock;

/// A script and the hash by which the server knows it.
pub(crate) struct Script {
    pub(crate) source: &'static str,
    pub(crate) hash: LazyLock<String>,
}

macro_rules! script {
    ($($file:literal),+) => {
        Script {
            source: concat!($(include_str!(concat!("../scripts/reentrant/", $file, ".lua"))),+),
            hash: LazyLock::new(|| {
                let source = concat!($(include_str!(concat!("../scripts/reentrant/", $file, ".lua"))),+);
                redis::Script::new(source).get_hash().to_owned()
            }),
        }
    };
}

pub(crate) static ACQUIRE: Script = script!("acquire", "holder");
pub(crate) static HOLDER: Script = script!("holder");
pub(crate) static REENTER: Script = script!("reenter", "count");
pub(crate) static RENEW: Script = script!("renew");
pub(crate) static RELEASE: Script = script!("release");
pub(crate) static LEAVE: Script = script!("leave", "count");
pub(crate) static FORCE: Script = script!("force");
