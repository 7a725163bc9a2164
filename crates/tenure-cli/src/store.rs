//! Which store is meant, and how it is reached.

use crate::cli::Common;
use crate::exit::{Failure, Reason};
use crate::output::Talk;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure::{Builder, Client};

/// How long a store may take to be reached at first, for somebody who did not say.
const REACH: Duration = Duration::from_secs(5);
/// And for somebody who did.
const LONGEST: Duration = Duration::from_secs(600);

/// A client of the store that was chosen, or of the embedded one.
pub(crate) async fn connect(common: &Common, talk: Talk, builder: Builder) -> Result<Client, Failure> {
    let url = common.url();
    if url.is_some_and(|url| url.starts_with("memory:")) {
        return Err(Failure::invalid(
            "locks in memory end with this process and exclude nobody, choose another store or leave --url and \
             TENURE_URL out: url=`memory:`",
        ));
    }
    let Some(url) = url else {
        let file = embedded()?;
        let is_new = !file.exists();
        let client = builder.connect(tenure::sqlite::Config::at(&file)?.into_backend()).await?;
        if is_new {
            talk.say(&format!(
                "locks are kept in {}, for this user on this machine; for others too, give --url or set TENURE_URL",
                file.display()
            ));
        }
        return Ok(client);
    };
    Ok(builder.connect(tenure::store(url)?).await?)
}

/// How long to try to reach the store, for somebody who waits for so long at most.
pub(crate) fn reach_within(wait: Option<Duration>) -> Duration {
    // Who only looks once still has to get there.
    wait.filter(|wait| !wait.is_zero()).unwrap_or(REACH).clamp(Duration::from_millis(100), LONGEST)
}

/// The embedded store's file, in a directory that is there.
fn embedded() -> Result<PathBuf, Failure> {
    let path = |name| std::env::var_os(name).map(PathBuf::from);
    let file = file(path("XDG_STATE_HOME"), path("HOME"))?;
    make(file.parent().unwrap_or(Path::new("/")))?;
    Ok(file)
}

/// Where the embedded store lives.
fn file(state: Option<PathBuf>, home: Option<PathBuf>) -> Result<PathBuf, Failure> {
    // Relative paths are to be ignored, says the XDG base directory specification.
    let state = state.filter(|path| path.is_absolute());
    let home = home.filter(|path| path.is_absolute()).map(|home| home.join(".local/state"));
    match state.or(home) {
        Some(state) => Ok(state.join("tenure/locks.db")),
        None => Err(Failure::invalid(
            "there is no state directory to keep locks in, set HOME or XDG_STATE_HOME, or choose a store with --url",
        )),
    }
}

/// Makes the directory, for its owner alone.
fn make(dir: &Path) -> Result<(), Failure> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| {
        Failure::new(
            Reason::Unavailable,
            format!(
                "could not make the directory that keeps the locks, make it writable or choose a store with --url: {}: \
                 {error}",
                dir.display()
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_file_is_where_state_belongs() {
        let path = |text: &str| Some(PathBuf::from(text));
        let found = |state, home| file(state, home).map(|file| file.display().to_string()).map_err(|f| f.reason);
        assert_eq!(found(path("/s"), path("/h")), Ok("/s/tenure/locks.db".into()));
        assert_eq!(found(None, path("/h")), Ok("/h/.local/state/tenure/locks.db".into()));
        assert_eq!(found(path("here"), path("/h")), Ok("/h/.local/state/tenure/locks.db".into()));
        assert_eq!(found(path(""), path("")), Err(Reason::Invalid));
        assert_eq!(found(None, None), Err(Reason::Invalid));
    }

    #[test]
    fn the_directory_is_its_owners_alone() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("a/b");
        make(&dir).unwrap();
        make(&dir).unwrap();
        assert_eq!(dir.metadata().unwrap().permissions().mode() & 0o777, 0o700);

        let file = home.path().join("file");
        std::fs::write(&file, "").unwrap();
        let failure = make(&file.join("tenure")).unwrap_err();
        assert_eq!(failure.reason, Reason::Unavailable);
        assert!(failure.message.contains("--url"), "{}", failure.message);
    }

    #[test]
    fn the_store_is_waited_for_as_long_as_the_lock() {
        assert_eq!(reach_within(None), REACH);
        assert_eq!(reach_within(Some(Duration::ZERO)), REACH);
        assert_eq!(reach_within(Some(Duration::from_secs(2))), Duration::from_secs(2));
        assert_eq!(reach_within(Some(Duration::from_secs(60))), Duration::from_secs(60));
    }
}
