//! The settings of a member of a cluster, as given and as checked.

use std::fs;
use std::path::PathBuf;

use super::read_file;
use crate::given::settings;
use crate::realm;

/// What a program without clusters says to those who ask for one.
pub const NO_CLUSTER: &str = "--cluster: this program was built without clusters: build it with \
                              `cargo install --path server --features cluster`";

/// When the owner answers reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ReadsRule {
    /// At once, while its lease lasts by its own clock
    #[default]
    Lease,
    /// After an append to the log, whatever the clocks show
    Strict,
}

settings! {
    /// Where a cluster's log is, each as given.
    ClusterArgs {
        /// Join a cluster, by its NATS servers, as in nats://10.0.0.1:4222
        #[arg(long, value_name = "URL,…", value_delimiter = ',')]
        cluster: Vec<String> => servers: Vec<String> = into(),
        /// A file with user:password, a token, or keys (.creds) for these servers
        #[arg(long, value_name = "FILE")]
        cluster_credentials: Option<PathBuf>,
        /// Authority of their certificates, for tls:// [default: the machine's]
        #[arg(long, value_name = "FILE")]
        cluster_ca: Option<PathBuf> => authority: Option<PathBuf> = into(),
        /// The name of the cluster's log [default: main]
        #[arg(long, value_name = "NAME")]
        cluster_realm: Option<String>
            => realm: String = unwrap_or_else(|| realm::FIRST.into()),
        /// The name of this member [default: host and port]
        #[arg(long, value_name = "NAME")]
        cluster_member: Option<String>,
        /// The monitoring of each NATS server, as in http://10.0.0.1:8222
        #[arg(long, value_name = "URL,…", value_delimiter = ',')]
        cluster_monitor: Vec<String> => monitors: Vec<String> = into(),
        /// Vouch that these servers sync before they acknowledge
        ///
        /// Otherwise --cluster-monitor is asked
        #[arg(long)]
        cluster_trust_servers: bool => trust_servers: bool = into(),
        /// When the owner answers reads [default: lease]
        #[arg(long, value_name = "WHEN")]
        reads: Option<ReadsRule> => reads: ReadsRule = unwrap_or_default(),
    }
    /// A member of a cluster.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    ClusterSettings {
        /// A user and a password, as in `user:password`, or a token, or the text of a key file.
        credentials: Option<String>,
        /// The name of this member.
        member: String,
    }
}

impl ClusterSettings {
    /// The settings, if an address of a server is given. `port` is the one that this server listens
    /// on.
    pub(super) fn gather(given: &ClusterArgs, port: u16) -> Result<Option<Self>, String> {
        if given.cluster.is_empty() {
            return Ok(None);
        }
        if cfg!(not(feature = "cluster")) {
            return Err(NO_CLUSTER.into());
        }
        let credentials = given.cluster_credentials.as_ref();
        let credentials = credentials.map(|path| read_file("--cluster-credentials", path));
        let credentials = credentials.transpose()?.map(|text| text.trim().to_owned());
        if let Some(path) = &given.cluster_ca {
            // The library reads it at each connection, and would say only that it cannot connect.
            read_file("--cluster-ca", path)?;
        }
        let member = given.cluster_member.clone();
        let member = member.unwrap_or_else(|| format!("{}:{port}", host()));
        Ok(Some(Self::of(given.clone(), credentials, member)))
    }
}

/// The name of this machine.
fn host() -> String {
    let of_kernel = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = of_kernel.or_else(|| std::env::var("HOSTNAME").ok());
    let name = name.map(|name| name.trim().to_owned());
    name.filter(|name| !name.is_empty())
        .unwrap_or_else(|| "member".into())
}
