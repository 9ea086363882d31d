//! Where the log is, and under which name; and why it cannot be used.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use chat_cluster::MAX_ENVELOPE_BYTES;

/// The longest name of a realm in characters.
const MAX_NAME: usize = 32;

/// The bytes of a message beside its record: the header with the expected sequence.
const HEADERS: usize = 4_096;

/// The largest message that the servers must accept.
pub(crate) const LARGEST_MESSAGE: usize = MAX_ENVELOPE_BYTES + HEADERS;

/// The name of a realm: all members with this name share one log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealmName(String);

impl Default for RealmName {
    fn default() -> Self {
        Self("main".into())
    }
}

impl fmt::Display for RealmName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RealmName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        match !text.is_empty() && text.len() <= MAX_NAME && text.chars().all(fits) {
            true => Ok(Self(text.into())),
            false => Err("it must have 1 to 32 letters of a to z, digits and dashes"),
        }
    }
}

impl RealmName {
    /// The stream of the records.
    pub(crate) fn stream(&self) -> String {
        format!("TS_{}", self.0)
    }

    /// The stream of the realm's identity, which has one message.
    pub(crate) fn identity_stream(&self) -> String {
        format!("TS_{}_identity", self.0)
    }

    /// The bucket of the snapshots.
    pub(crate) fn bucket(&self) -> String {
        format!("TS_{}_snapshots", self.0)
    }

    /// The stream that the bucket of the snapshots is kept in.
    pub(crate) fn snapshot_stream(&self) -> String {
        format!("OBJ_{}", self.bucket())
    }

    /// The subject of this kind of message.
    pub(crate) fn subject(&self, kind: &str) -> String {
        format!("ts.{}.{kind}", self.0)
    }
}

/// Where the log is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// The addresses of the servers, as in `nats://10.0.0.1:4222`.
    pub servers: Vec<String>,
    /// A user and a password, as in `user:password`, or a token, or the text of a key file.
    pub credentials: Option<String>,
    /// The file with the certificates of the authorities that sign those of the servers. Without it,
    /// the machine's own authorities count.
    pub authority: Option<PathBuf>,
    /// The realm.
    pub realm: RealmName,
    /// The addresses of the servers' monitoring, as in `http://10.0.0.1:8222`.
    pub monitors: Vec<String>,
    /// Whether the operator says that the servers sync each record to their disks before they acknowledge
    /// it. If not, the monitoring of the servers is asked.
    pub is_vouched_for: bool,
}

/// Why the servers cannot hold a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message says what the fields are")]
pub enum ServerFault {
    #[error("nats-server {found} is too old: 2.14.4 is the oldest that keeps what it acknowledges")]
    Old { found: String },
    #[error(
        "the servers take messages of {found} bytes, and a record of the log may have {needed}: \
         set `max_payload: 9MB` in their configuration"
    )]
    Payload { found: usize, needed: usize },
    #[error(
        "whether the servers sync each record to their disks is not known: name their monitoring \
         with --cluster-monitor http://HOST:8222,… or vouch for it with --cluster-trust-servers"
    )]
    Unproven,
    #[error(
        "the server {server} acknowledges records before they are on its disk: set \
         `sync_interval: always` in the `jetstream` block of its configuration"
    )]
    Unsynced { server: String },
    #[error("the monitoring at {monitor} does not answer: {why}")]
    Silent { monitor: String, why: String },
    #[error("--cluster-monitor names no monitoring of {server}, which has a replica of the log")]
    Unwatched { server: String },
}

/// Why the log cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message says what the fields are")]
pub enum OpenError {
    #[error("--cluster: no server of {servers} can be used: {why}")]
    Unreachable { servers: String, why: String },
    #[error("--cluster-credentials: the key file is not usable: {0}")]
    Credentials(String),
    #[error("--cluster: {0}")]
    Server(#[from] ServerFault),
    #[error(
        "--cluster: the stream {stream} exists with other settings than this server makes it with; \
         `nats stream edit` changes them, or --cluster-realm names another realm"
    )]
    Different { stream: String },
    #[error(
        "--cluster: the stream {stream} does not exist: no member has made it, or the servers have lost it"
    )]
    Absent { stream: String },
    #[error("--cluster: the stream {stream} cannot be made: {why}")]
    Unmade { stream: String, why: String },
    #[error("--cluster: the snapshots in {bucket} cannot be read: {why}")]
    Snapshots { bucket: String, why: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_realm_s_name_is_part_of_subjects_and_of_names_of_streams() {
        for name in ["main", "a", "team-7"] {
            assert_eq!(
                name.parse::<RealmName>().map(|name| name.to_string()),
                Ok(name.into())
            );
        }
        for name in ["", "A", "a.b", "a b", "a_b", "*", &"a".repeat(33)] {
            assert!(name.parse::<RealmName>().is_err(), "{name}");
        }
        let realm = RealmName::default();
        assert_eq!(realm.stream(), "TS_main");
        assert_eq!(realm.subject("log"), "ts.main.log");
    }
}
