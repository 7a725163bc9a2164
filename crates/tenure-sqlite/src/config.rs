//! From a URL to a file.

use crate::backend::Sqlite;
use percent_encoding::percent_decode_str;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use tenure_core::{Clock, Error};

const FORM: &str = "write `sqlite:/path/to/file` or `sqlite:path/to/file`";

/// Which file keeps the locks. Read from a URL:
///
/// * `sqlite:/path/to/file`, or `sqlite:///path/to/file`
/// * `sqlite:path/to/file`, from the directory in which the process is when it reads the URL
///
/// There are no options. `%`, `?` and `#` in a path are percent-encoded; [`Config::at`] takes a path as it is.
pub struct Config {
    path: PathBuf,
    pretended: Option<(String, Clock)>,
}

impl Config {
    /// The schemes this backend answers to.
    pub const SCHEMES: [&'static str; 1] = ["sqlite"];

    /// Reads a URL.
    ///
    /// ```
    /// use tenure_sqlite::Config;
    ///
    /// assert!(Config::from_url("sqlite:/var/lib/app/locks").is_ok());
    /// assert!(Config::from_url("sqlite:/var/lib/app/locks?fast=yes").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// [`Invalid`](tenure_core::ErrorKind::Invalid) for a URL that names no file or says something we do not know.
    pub fn from_url(url: &str) -> Result<Self, Error> {
        let rest = url
            .strip_prefix("sqlite:")
            .ok_or_else(|| Error::invalid(format!("not a sqlite url, {FORM}: url=`{url}`")))?;
        if rest.contains('#') {
            return Err(Error::invalid(format!("the url has a fragment, percent-encode any `#`: url=`{url}`")));
        }
        let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
        if let Some(option) = options.split('&').find(|option| !option.is_empty()) {
            let name = option.split('=').next().unwrap_or(option);
            return Err(Error::invalid(format!(
                "a sqlite url has no options, leave it out or percent-encode `?` in the path: option=`{name}`"
            )));
        }
        let path = match path.strip_prefix("//") {
            None => path,
            Some(rest) if rest.starts_with('/') => rest,
            Some(_) => {
                return Err(Error::invalid(format!("a sqlite url names a file and no host, {FORM}: url=`{url}`")));
            }
        };
        let path = OsString::from_vec(percent_decode_str(path).collect());
        match path.to_str() {
            Some("") => Err(Error::invalid(format!("the url names no file, {FORM}"))),
            Some(":memory:") => Err(Error::invalid("there is no file in memory, write `memory:` for a store that is")),
            _ => Self::at(path),
        }
    }

    /// The file at a path.
    ///
    /// # Errors
    ///
    /// [`Invalid`](tenure_core::ErrorKind::Invalid) for a path that can be no file's.
    pub fn at(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let shown = path.display();
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(Error::invalid(format!("a path has no zero bytes: path=`{shown}`")));
        }
        if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(Error::invalid(format!("the path is a directory's, name a file: path=`{shown}`")));
        }
        let path = std::path::absolute(path).map_err(|error| {
            Error::invalid(format!("the path cannot be made whole, write it from the root on: {error} path=`{shown}`"))
        })?;
        Ok(Self { path, pretended: None })
    }

    /// For tests: takes this for the id of the machine's boot, and this for its clock. All who share the file must.
    #[doc(hidden)]
    #[must_use]
    pub fn pretend(mut self, boot: &str, clock: impl Into<Clock>) -> Self {
        self.pretended = Some((boot.to_owned(), clock.into()));
        self
    }

    /// The backend. The file is opened, and made if there is none, when it is first used.
    pub fn into_backend(self) -> Sqlite {
        Sqlite::new(self.path, self.pretended)
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Config({})", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::ErrorKind;

    #[test]
    fn urls_name_files() {
        let here = std::env::current_dir().unwrap();
        for (url, path) in [
            ("sqlite:/a/b", PathBuf::from("/a/b")),
            ("sqlite:///a/b", PathBuf::from("/a/b")),
            ("sqlite:a/b", here.join("a/b")),
            ("sqlite:/a%20b%3F%23%25", PathBuf::from("/a b?#%")),
            ("sqlite:/a b", PathBuf::from("/a b")),
            ("sqlite:/a?", PathBuf::from("/a")),
            ("sqlite:/a/../b", PathBuf::from("/a/../b")),
        ] {
            assert_eq!(Config::from_url(url).unwrap().path, path, "{url}");
        }
        let bytes = Config::from_url("sqlite:/%FF").unwrap();
        assert_eq!(bytes.path.as_os_str().as_encoded_bytes(), b"/\xFF");
    }

    #[test]
    fn what_names_no_file_is_refused() {
        for (url, said) in [
            ("sqlite:", "names no file"),
            ("sqlite://", "no host"),
            ("sqlite://host/a", "no host"),
            ("sqlite::memory:", "memory:"),
            ("sqlite:/", "directory"),
            ("sqlite:/a/", "directory"),
            ("sqlite:..", "directory"),
            ("sqlite:/a?mode=ro", "option=`mode`"),
            ("sqlite:/a?&x", "option=`x`"),
            ("sqlite:/a#b", "fragment"),
            ("sqlite:/a%00b", "zero"),
            ("redis://a", "not a sqlite url"),
        ] {
            let error = Config::from_url(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{url}");
            assert!(error.to_string().contains(said), "{url}: {error}");
        }
    }
}
