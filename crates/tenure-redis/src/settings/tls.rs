//! The files that a URL names for TLS.

use super::Options;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tenure_core::Error;

/// Whom to trust and who we are, in PEM form.
#[derive(Default)]
pub(crate) struct Tls {
    /// The authority to trust; those of the system if there is none.
    pub(crate) ca: Option<Vec<u8>>,
    pub(crate) identity: Option<Identity>,
}

/// A certificate of our own and its key.
pub(crate) struct Identity {
    pub(crate) cert: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

impl Tls {
    pub(super) fn read(options: &Options) -> Result<Self, Error> {
        let file = |option: &str| options.get(option).map(|path| file(option, path)).transpose();
        let ca = file("tls_ca")?;
        if let (Some(path), Some(pem)) = (options.get("tls_ca"), &ca)
            && !matches!(CertificateDer::pem_slice_iter(pem).next(), Some(Ok(_)))
        {
            return Err(Error::invalid(format!(
                "the file of `tls_ca` holds no certificate, give one in PEM form: path=`{path}`"
            )));
        }
        if options.contains_key("tls_cert") != options.contains_key("tls_key") {
            return Err(Error::invalid("tls_cert and tls_key go together: give both or neither"));
        }
        let identity = file("tls_cert")?.zip(file("tls_key")?).map(|(cert, key)| Identity { cert, key });
        Ok(Self { ca, identity })
    }
}

fn file(option: &str, path: &str) -> Result<Vec<u8>, Error> {
    std::fs::read(path)
        .map_err(|error| Error::invalid(format!("the file of `{option}` cannot be read: {error} path=`{path}`")))
}
