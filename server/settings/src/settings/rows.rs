//! The settings of a server, a row for each: its help, its flag, its variable, and what is made of
//! it. Its key in the file is the name of the row, and is read as its flag is. Its variable has that name,
//! too. A row without `=>` is read by the `gather` of `journal.rs`, `cluster.rs` or `settings.rs`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use chat_types::config::Limit;
use chat_types::{Config, Span};

use super::{ClusterArgs, ClusterSettings, Durability, JournalSettings, Retention};
use crate::accepted::{address, age, count, level, size, whole};
use crate::given::{Given as _, settings};
use crate::memory_limit::{memory, share};
use crate::{Realm, ServerUrl, Toolset};

/// The default address to listen on.
pub const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8894);

/// The largest cool-down of a boss, in seconds: a year, as for all durations.
const MAX_COOLDOWN: u32 = 365 * 24 * 3_600;

/// The format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogForm {
    /// Lines for people.
    #[default]
    Pretty,
    /// A JSON object per line.
    Json,
}

settings! {
    /// The settings of a server, each as given.
    ServeArgs {
        /// Address to listen on [default: 127.0.0.1:8894]
        #[arg(long, value_name = "ADDRESS", value_parser = address)]
        listen: Option<SocketAddr> => listen: SocketAddr = unwrap_or(DEFAULT_LISTEN),
        /// Host names of this server, besides those of loopback
        #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
        allow_hosts: Vec<String> => allow_hosts: Vec<String> = into(),
        /// Callers' tokens: the file that `talking-stick token` adds to
        #[arg(long, value_name = "FILE")]
        auth_tokens: Option<PathBuf> => auth_tokens: Option<PathBuf> = into(),
        /// Operators' tokens, in the same form: opens /admin
        #[arg(long, value_name = "FILE")]
        operator_tokens: Option<PathBuf> => operator_tokens: Option<PathBuf> = into(),
        /// More chats, at /r/NAME and, for NAME=HOST, at that host
        #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
        realms: Vec<Realm> => realms: Vec<Realm> = into(),
        /// The tools on /mcp: pairing, room, breaks [default: all]
        #[arg(long, value_name = "SET,…", value_delimiter = ',')]
        toolsets: Vec<Toolset> => toolsets: Vec<Toolset> = or(Toolset::ALL.into()),
        /// Serve older clients, which send a username and no handle
        #[arg(long)]
        trust_usernames: bool => trust_usernames: bool = into(),
        /// Time limit for a shutdown [default: 10s]
        #[arg(long, value_name = "TIME", value_parser = Span::parse, allow_hyphen_values = true)]
        grace: Option<Span> => grace: Span = unwrap_or(Span::secs(10)),
        /// Memory limit, as in 512MiB or none [default: 3/4 of the machine's]
        #[arg(long, value_name = "SIZE", value_parser = memory, allow_hyphen_values = true)]
        memory_limit: Option<Limit<u64>>
            => memory_limit: Option<u64> = map_or_else(share, Limit::limit),
        /// The folder of the journal [default of a server: the user's]
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
        /// Keep no journal: a stop loses everything
        #[arg(long)]
        in_memory: bool,
        #[command(flatten)]
        #[expect(missing_docs, reason = "a comment here would be a heading of the help")]
        cluster: ClusterArgs,
        /// Entries that the journal keeps, or none [default: 1000000]
        #[arg(long, value_name = "COUNT", value_parser = count, allow_negative_numbers = true)]
        journal_entries: Option<Limit<u64>>,
        /// Size limit of the journal, as in 512MiB or none [default: 2GiB]
        #[arg(long, value_name = "SIZE", value_parser = size, allow_hyphen_values = true)]
        journal_bytes: Option<Limit<u64>>,
        /// Free space of the disk that the server leaves [default: 64MiB]
        #[arg(long, value_name = "SIZE", value_parser = size, allow_hyphen_values = true)]
        disk_reserve: Option<Limit<u64>>,
        /// Size limit of the history, as in 2GiB or none [default: 8GiB]
        #[arg(long, value_name = "SIZE", value_parser = size, allow_hyphen_values = true)]
        history_bytes: Option<Limit<u64>>,
        /// When a call is accepted [default: fsync]
        #[arg(long, value_name = "WHAT")]
        durability: Option<Durability>,
        /// Copy the history to PostgreSQL, and read it there
        #[arg(long, value_name = "POSTGRES://…")]
        history: Option<ServerUrl> => history_server: Option<ServerUrl> = into(),
        /// Age limit of messages, as in 90d or none [default: none]
        #[arg(long, value_name = "TIME", value_parser = age, allow_hyphen_values = true)]
        history_age: Option<Limit<Span>>,
        /// Messages that the history keeps, or none [default: 1000000]
        #[arg(long, value_name = "COUNT", value_parser = count, allow_negative_numbers = true)]
        history_messages: Option<Limit<u64>>,
        /// Start although acknowledged entries are lost
        #[arg(long)]
        accept_loss: bool,
        /// Limits, as in stick_lease=60s,turn_limit=none; repeatable
        #[arg(long = "limit", value_name = "KEY=VALUE")]
        limits: Vec<String>,
        /// Percentage of breaks that alert the boss [default: 50]
        #[arg(long, value_name = "PERCENT", value_parser = whole(0..=100),
            allow_negative_numbers = true, visible_alias = "boss_alertness")]
        boss_alertness: Option<u32>,
        /// Seconds until an alert boss calms down by one level [default: 300]
        #[arg(long, value_name = "SECONDS", value_parser = whole(0..=MAX_COOLDOWN),
            allow_negative_numbers = true, visible_alias = "boss_alertness_cooldown")]
        boss_alertness_cooldown: Option<u32>,
        /// A YAML file with settings
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Format of the log [default: pretty]
        #[arg(long, value_name = "FORM")]
        log: Option<LogForm> => log: LogForm = unwrap_or_default(),
        /// error, warn, info, debug or trace [default: info]
        #[arg(long, value_name = "LEVEL", value_parser = level)]
        log_level: Option<tracing::Level> => log_level: tracing::Level = unwrap_or(tracing::Level::INFO),
        /// Log each request with its route, status and duration
        #[arg(long)]
        access_log: bool => access_log: bool = into(),
    }
    /// The checked settings of a server.
    #[derive(Clone, Debug)]
    Settings {
        /// The cluster, if this server is a member of one.
        cluster: Option<ClusterSettings>,
        /// The name of the first realm.
        realm: String,
        /// The durable journal; in memory if there is none.
        journal: Option<JournalSettings>,
        /// How long a durable journal's messages stay in the history.
        history: Retention,
        /// The limits of the core.
        limits: Config,
    }
}

impl ServeArgs {
    /// Whether any argument configures a server. These do not: what concerns a client that joins one,
    /// too, and what changes nothing in a server without a journal and a cluster.
    #[must_use]
    pub fn says_anything(&self) -> bool {
        let given = self.clone();
        let of_any_client = Self {
            toolsets: given.toolsets,
            in_memory: given.in_memory,
            cluster: ClusterArgs {
                cluster: Vec::new(),
                ..given.cluster
            },
            durability: given.durability,
            accept_loss: given.accept_loss,
            log: given.log,
            log_level: given.log_level,
            access_log: given.access_log,
            ..Self::default()
        };
        *self != of_any_client
    }
}
