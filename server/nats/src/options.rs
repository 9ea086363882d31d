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

/// Why the log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It does not exist.
    #[error(
        "--cluster: the stream {0} does not exist: no member has made it, or the servers have lost it"
    )]
    Absent(String),
    /// Another reason.
    #[error("{0}")]
    Unusable(String),
}

impl OpenError {
    /// The error of a stream that cannot be made or read.
    pub(crate) fn unmade(stream: &str, why: impl fmt::Display) -> Self {
        Self::Unusable(format!(
            "--cluster: the stream {stream} cannot be made: {why}"
        ))
    }

    /// The error of the snapshots.
    pub(crate) fn snapshots(realm: &RealmName, why: impl fmt::Display) -> Self {
        let bucket = realm.bucket();
        Self::Unusable(format!(
            "--cluster: the snapshots in {bucket} cannot be read: {why}"
        ))
    }
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
