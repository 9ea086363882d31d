//! Why settings are refused.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::ServerUrl;
use crate::os_error::reason;

/// An invalid setting.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message says what the fields are")]
pub enum SettingsError {
    #[error("cannot read the file of --config, {path}: {}", reason(error), path = path.display())]
    Unreadable {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error(
        "--in-memory keeps nothing, and --data {folder} keeps a journal there: leave one out",
        folder = folder.display()
    )]
    KeptAndNot { folder: PathBuf },
    #[error(
        "no folder for the journal: HOME is not set. Name one with --data, or keep nothing with \
         --in-memory"
    )]
    NoFolder,
    #[error(
        "--history {server}: this program is built without PostgreSQL. Build it with \
         `cargo build --release -p server --features postgres`, or leave the server out"
    )]
    NoPostgres { server: ServerUrl },
    #[error(
        "--history {server} copies the history of a journal, and this server keeps none: name its \
         folder with --data, and leave --in-memory out"
    )]
    NothingToCopy { server: ServerUrl },
    #[error(
        "--cluster: this program was built without clusters: build it with \
         `cargo install --path server --features cluster`"
    )]
    NoCluster,
    #[error("cannot read the file of {flag}, {path}: {}", reason(error), path = path.display())]
    OfCluster {
        flag: &'static str,
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("--cluster keeps all in the cluster's log, and --in-memory nothing: leave one out")]
    ClusterInMemory,
    #[error("--cluster is for `talking-stick serve` alone: leave it out")]
    ClusterOfOne,
    #[error("--realms {name}: {why}")]
    Realms { name: String, why: &'static str },
    #[error(
        "--history {server} copies one realm, and this server has several: leave one of the two out"
    )]
    SeveralToCopy { server: ServerUrl },
    #[error("{path}: {error}", path = path.display())]
    Malformed { path: PathBuf, error: String },
    #[error("--limit {text}: {why}")]
    Limit { text: String, why: String },
    #[error(
        "{listen} is open to other machines: name the hosts by which they reach this one with \
         --allow-hosts, and who may come with --auth-tokens"
    )]
    Exposed { listen: SocketAddr },
    #[error(
        "--allow-hosts {host} opens the server to others than this machine: say who may come with \
         --auth-tokens, or leave the host out"
    )]
    Anonymous { host: String },
    #[error(
        "--trust-usernames lets anybody speak for anybody: it is for this machine alone. Leave it \
         out, or leave out what opens the server to others: {by}"
    )]
    Trusting { by: String },
}
