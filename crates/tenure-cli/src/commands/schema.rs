//! `tenure schema`: the statements that make a store's tables, for somebody who may run them.

use crate::cli::Common;
use crate::exit::Failure;
use crate::output;
use tenure::mysql::{Config, SCHEMA};

pub(crate) fn run(common: &Common) -> Result<(), Failure> {
    let form = "needs no schema, name a MySQL or MariaDB database, as in `tenure --url mysql://host/database schema`";
    let Some(url) = common.url() else {
        return Err(Failure::invalid(format!("the embedded store {form}")));
    };
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    if Config::SCHEMES.contains(&scheme) {
        // Whoever typed it wrong hears so before the tables are in the wrong place.
        Config::from_url(url)?;
        return output::print(SCHEMA);
    }
    // Says what is wrong with a URL that leads nowhere.
    tenure::store(url)?;
    Err(Failure::invalid(format!("this store {form}: scheme=`{scheme}`")))
}
