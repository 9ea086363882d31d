//! The settings of a member of a cluster.

use std::fs;
use std::path::{Path, PathBuf};

use super::SettingsError;
use super::file::File;
use crate::cli::{ReadsRule, ServeArgs};
use crate::named_file;

/// The realm of a cluster that names none.
const REALM: &str = "main";

/// A member of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSettings {
    /// The addresses of the NATS servers.
    pub servers: Vec<String>,
    /// A user and a password, as in `user:password`, or a token, or the text of a key file.
    pub credentials: Option<String>,
    /// The file with the certificates of the authorities of these servers.
    pub authority: Option<PathBuf>,
    /// The name of the log.
    pub realm: String,
    /// The name of this member.
    pub member: String,
    /// The addresses of the servers' monitoring.
    pub monitors: Vec<String>,
    /// Who says that the servers sync what they acknowledge.
    pub sync_proof: SyncProof,
    /// When this member answers reads, if it is the owner.
    pub reads: ReadsRule,
}

/// Who says that the servers sync each record to their disks before they acknowledge it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncProof {
    /// Their monitoring.
    Asked,
    /// The operator.
    Vouched,
}

impl ClusterSettings {
    /// The settings, if an address of a server is given. `port` is the one that this server listens
    /// on.
    pub(super) fn gather(
        ServeArgs { cluster: args, .. }: &ServeArgs,
        file: &File,
        port: u16,
    ) -> Result<Option<Self>, SettingsError> {
        let servers = super::first(&args.cluster, file.cluster.clone(), &[]);
        if servers.is_empty() {
            return Ok(None);
        }
        if cfg!(not(feature = "cluster")) {
            return Err(SettingsError::NoCluster);
        }
        let credentials = args.cluster_credentials.as_ref();
        let credentials = credentials.or(file.cluster_credentials.as_ref());
        let credentials = credentials.map(|path| read("--cluster-credentials", path));
        let authority = args.cluster_ca.clone().or_else(|| file.cluster_ca.clone());
        if let Some(path) = &authority {
            // The library reads it at each connection, and would say only that it cannot connect.
            read("--cluster-ca", path)?;
        }
        let member = args.cluster_member.clone();
        let member = member.or_else(|| file.cluster_member.clone());
        let realm = args.cluster_realm.clone();
        let realm = realm.or_else(|| file.cluster_realm.clone());
        Ok(Some(Self {
            servers,
            credentials: credentials.transpose()?,
            authority,
            realm: realm.unwrap_or_else(|| REALM.into()),
            member: member.unwrap_or_else(|| format!("{}:{port}", host())),
            monitors: super::first(&args.cluster_monitor, file.cluster_monitor.clone(), &[]),
            reads: args.reads.or(file.reads).unwrap_or_default(),
            sync_proof: match args.cluster_trust_servers || file.cluster_trust_servers {
                true => SyncProof::Vouched,
                false => SyncProof::Asked,
            },
        }))
    }
}

fn read(flag: &'static str, path: &Path) -> Result<String, SettingsError> {
    let text = named_file::read(path);
    let text = text.map_err(|error| SettingsError::OfCluster {
        flag,
        path: path.into(),
        error,
    })?;
    Ok(text.trim().to_owned())
}

/// The name of this machine.
fn host() -> String {
    let of_kernel = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = of_kernel.or_else(|| std::env::var("HOSTNAME").ok());
    let name = name.map(|name| name.trim().to_owned());
    name.filter(|name| !name.is_empty())
        .unwrap_or_else(|| "member".into())
}
