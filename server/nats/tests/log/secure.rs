//! Servers that ask for a key file, or speak TLS.

use std::fs;

use chat_cluster::Outcome;
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa};
use serde_json::{Value, json};
use server_settings::ClusterSettings;

use crate::servers::{PROPER, Servers};
use crate::{Bench, assert_refused, options, refusal};

/// Signs claims as servers read them.
fn token(issuer: &KeyPair, subject: &KeyPair, name: &str, nats: &Value) -> String {
    let encode = |bytes: &[u8]| {
        let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
        base64::Engine::encode(&engine, bytes)
    };
    let head = json!({ "typ": "JWT", "alg": "ed25519-nkey" });
    let claims = json!({
        "jti": name,
        "iat": 1_700_000_000,
        "iss": issuer.public_key(),
        "sub": subject.public_key(),
        "name": name,
        "nats": nats,
    });
    let signed = [head, claims].map(|part| encode(part.to_string().as_bytes()));
    let signed = signed.join(".");
    let signature = issuer.sign(signed.as_bytes()).expect("it has the key");
    format!("{signed}.{}", encode(&signature))
}

/// The settings of a server with one account, and the key file of a user of it.
fn operated() -> (String, String) {
    let [operator, system, account, user] = [
        KeyPair::new_operator(),
        KeyPair::new_account(),
        KeyPair::new_account(),
        KeyPair::new_user(),
    ];
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1,
        "consumer": -1,
    });
    let no_storage = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1,
    });
    let of_operator = json!({
        "type": "operator", "version": 2, "system_account": system.public_key(),
    });
    let of_account = |limits| json!({ "type": "account", "version": 2, "limits": limits });
    let of_user = json!({
        "type": "user", "version": 2, "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1,
    });
    let settings = format!(
        "{PROPER}\noperator: {}\nresolver: MEMORY\nresolver_preload: {{ {}: {}, {}: {} }}",
        token(&operator, &operator, "operator", &of_operator),
        system.public_key(),
        token(&operator, &system, "system", &of_account(no_storage)),
        account.public_key(),
        token(&operator, &account, "chat", &of_account(limits)),
    );
    let credentials = format!(
        "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------",
        token(&account, &user, "member", &of_user),
        user.seed().expect("it has the key"),
    );
    (settings, credentials)
}

#[tokio::test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
async fn a_server_with_accounts_takes_the_key_file_of_one_of_their_users() {
    let (settings, credentials) = operated();
    let servers = Servers::start_with(1, &settings);
    let given = ClusterSettings {
        credentials: Some(credentials),
        ..options(&servers, "keys")
    };
    let mut bench = Bench::open(&given).await;
    assert_eq!(bench.append(0, b"one").await, Outcome::Acknowledged(1));
    // Another operator's user.
    let (_, foreign) = operated();
    for credentials in [None, Some(foreign)] {
        let wrong = ClusterSettings {
            credentials,
            ..given.clone()
        };
        assert_refused(&wrong).await;
    }
    let broken = ClusterSettings {
        credentials: Some("-----BEGIN NATS USER JWT-----\nnothing".into()),
        ..given
    };
    let why = refusal(&broken).await;
    assert!(why.starts_with("--cluster-credentials: "), "{why}");
}

#[tokio::test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
async fn a_server_with_tls_is_trusted_by_the_authority_that_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let authority = |name: &str| {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = rcgen::KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
        fs::write(file(name), issuer.pem()).expect("a file");
        issuer
    };
    let (ours, _) = (authority("ours"), authority("foreign"));
    let key = rcgen::KeyPair::generate().expect("a key");
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address");
    let certificate = params.signed_by(&key, &ours).expect("a certificate");
    fs::write(file("server.pem"), certificate.pem()).expect("a file");
    fs::write(file("server.key"), key.serialize_pem()).expect("a file");
    let tls = format!(
        "{PROPER}\ntls {{ cert_file: {:?}, key_file: {:?} }}",
        file("server.pem"),
        file("server.key")
    );
    let servers = Servers::start_with(1, &tls);
    let options = options(&servers, "tls");
    let secured = options.servers.iter();
    let secured = secured.map(|address| address.replace("nats://", "tls://"));
    let given = ClusterSettings {
        servers: secured.collect(),
        authority: Some(file("ours")),
        ..options
    };
    let mut bench = Bench::open(&given).await;
    assert_eq!(bench.append(0, b"one").await, Outcome::Acknowledged(1));
    for authority in [None, Some(file("foreign"))] {
        let wrong = ClusterSettings {
            authority,
            ..given.clone()
        };
        assert_refused(&wrong).await;
    }
}
