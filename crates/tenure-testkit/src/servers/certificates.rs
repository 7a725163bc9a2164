//! Throw-away TLS certificates: a CA, a server and a client certificate signed by it.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

/// Paths of PEM files in the directory of a server.
pub(crate) struct Certificates {
    pub(crate) ca: PathBuf,
    pub(crate) server: Identity,
    pub(crate) client: Identity,
}

/// A certificate and its private key.
pub(crate) struct Identity {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certificates {
    /// Makes a new set of certificates, valid for `127.0.0.1` and `localhost`, in `dir`.
    pub(crate) fn make_in(dir: &Path) -> Self {
        let authority = authority();
        Self {
            ca: write(dir.join("ca.pem"), &authority.pem()),
            server: identity(dir, "server", ExtendedKeyUsagePurpose::ServerAuth, &authority),
            client: identity(dir, "client", ExtendedKeyUsagePurpose::ClientAuth, &authority),
        }
    }
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = params("tenure test authority", &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    CertifiedIssuer::self_signed(params, new_key()).expect("a self-signed test CA can be made")
}

fn identity(
    dir: &Path,
    name: &str,
    usage: ExtendedKeyUsagePurpose,
    authority: &CertifiedIssuer<'static, KeyPair>,
) -> Identity {
    let mut params = params(name, &["127.0.0.1", "localhost"]);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    let key = new_key();
    let cert = params.signed_by(&key, authority).expect("a test certificate can be signed");
    Identity {
        cert: write(dir.join(format!("{name}.pem")), &cert.pem()),
        key: write(dir.join(format!("{name}.key")), &key.serialize_pem()),
    }
}

fn params(common_name: &str, names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).expect("the fixed names are valid");
    params.distinguished_name.push(DnType::CommonName, common_name);
    params
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("a P-256 key can be generated")
}

fn write(path: PathBuf, pem: &str) -> PathBuf {
    fs::write(&path, pem).expect("the server's temporary directory is writable");
    path
}
