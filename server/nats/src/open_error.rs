//! Why a log cannot be used.

use crate::monitor::ServerFault;

/// Why the log cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message says what the fields are")]
pub enum OpenError {
    #[error("--cluster: no server of {servers} can be used: {why}")]
    Unreachable { servers: String, why: String },
    #[error("--cluster-credentials: the key file is not usable: {why}")]
    Credentials { why: String },
    #[error("--cluster: {0}")]
    Server(#[from] ServerFault),
    #[error("--cluster: the stream {stream} {fault}")]
    Stream { stream: String, fault: SettingFault },
    #[error("--cluster: the snapshots in {bucket} cannot be read: {why}")]
    Snapshots { bucket: String, why: String },
}

/// What is wrong with a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingFault {
    /// It exists with other settings.
    #[error(
        "exists with other settings than this server makes it with; `nats stream edit` changes \
         them, or --cluster-realm names another realm"
    )]
    Different,
    /// It does not exist.
    #[error("does not exist: no member has made it, or the servers have lost it")]
    Absent,
    /// It cannot be made.
    #[error("cannot be made: {0}")]
    Unmade(String),
    /// It holds what no member of this version wrote.
    #[error("holds what is no identity of a realm")]
    Identity,
}
