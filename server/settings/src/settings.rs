//! The settings of a server: flags first, then variables, then the file, then defaults.

mod cluster;
mod error;
mod file;
mod journal;
mod limits;
mod realms;
mod unnamed;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use chat_types::{Config, Span};

use crate::cli::{LogForm, ServeArgs};
use crate::realm::{self, Realm};
use crate::{
    AccessLog, ConformanceFixtures, MemoryLimit, OutputSchemas, Retention, ServerUrl, Toolset,
    Usernames,
};

pub use self::cluster::{ClusterSettings, SyncProof};
pub use self::error::SettingsError;
pub use self::journal::{JournalSettings, LossRule};
pub use self::unnamed::{Unnamed, usual_folder};

use self::file::File;
use self::limits::GivenLimit;
use self::realms::wrong_realm;

/// The default address to listen on.
pub const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8894);

/// The checked settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The server's names, besides those of loopback.
    pub allow_hosts: Vec<String>,
    /// The file of users' tokens; without one, no token is needed.
    pub auth_tokens: Option<PathBuf>,
    /// The file of operators' tokens; without one, there are no operators.
    pub operator_tokens: Option<PathBuf>,
    /// The tools offered on `/mcp`.
    pub toolsets: Vec<Toolset>,
    /// Whether the list of tools has the schemas of results.
    pub output_schemas: OutputSchemas,
    /// Whether usernames are trusted, for older clients.
    pub usernames: Usernames,
    /// The time limit for a shutdown.
    pub grace: Span,
    /// The memory above which requests that hold memory are refused.
    pub memory_limit: MemoryLimit,
    /// The cluster, if this server is a member of one.
    pub cluster: Option<ClusterSettings>,
    /// The name of the first realm.
    pub realm: String,
    /// The realms besides the first, each a chat of its own.
    pub realms: Vec<Realm>,
    /// The durable journal; in memory if there is none.
    pub journal: Option<JournalSettings>,
    /// How long a durable journal's messages stay in the history.
    pub history: Retention,
    /// The server with a copy of the history.
    pub history_server: Option<ServerUrl>,
    /// The limits of the core.
    pub limits: Config,
    /// The format of the log.
    pub log: LogForm,
    /// The level of the log.
    pub log_level: tracing::Level,
    /// Whether requests are logged.
    pub access_log: AccessLog,
    /// Whether the fixtures of the official conformance suite are served.
    pub fixtures: ConformanceFixtures,
}

impl Settings {
    /// Merges the settings of all sources, and checks them.
    ///
    /// # Errors
    /// What is wrong, where, and what is accepted.
    pub fn gather(args: &ServeArgs, unnamed: Unnamed) -> Result<Self, SettingsError> {
        let file = match &args.config {
            Some(path) => File::read(path)?,
            None => File::default(),
        };
        let listen = args.listen.or(file.listen).unwrap_or(DEFAULT_LISTEN);
        let cluster = ClusterSettings::gather(args, &file, listen.port())?;
        let journal = match &cluster {
            Some(_) if unnamed == Unnamed::InMemory => return Err(SettingsError::ClusterOfOne),
            Some(_) if args.in_memory || file.in_memory => {
                return Err(SettingsError::ClusterInMemory);
            }
            // Members on one machine must not have one folder.
            Some(_) => JournalSettings::gather(args, &file, Unnamed::InMemory)?,
            None => JournalSettings::gather(args, &file, unnamed)?,
        };
        let history = retention(args, &file);
        let realms = first(&args.realms, file.realms, &[]);
        if let (Some(realm), Unnamed::InMemory) = (realms.first(), unnamed) {
            let why = "several realms are for `talking-stick serve` alone: leave it out";
            return Err(wrong_realm(realm, why));
        }
        let settings = Self {
            listen,
            realm: cluster
                .as_ref()
                .map_or_else(|| realm::FIRST.into(), |cluster| cluster.realm.clone()),
            realms,
            allow_hosts: first(&args.allow_hosts, file.allow_hosts, &[]),
            auth_tokens: args.auth_tokens.clone().or(file.auth_tokens),
            operator_tokens: args.operator_tokens.clone().or(file.operator_tokens),
            toolsets: first(&args.toolsets, file.toolsets, Toolset::ALL),
            output_schemas: match args.no_output_schemas || file.no_output_schemas {
                true => OutputSchemas::LeftOut,
                false => OutputSchemas::Listed,
            },
            usernames: match args.trust_usernames || file.trust_usernames {
                true => Usernames::Trusted,
                false => Usernames::NotTrusted,
            },
            grace: args.grace.or(file.grace).unwrap_or(Span::secs(10)),
            memory_limit: args.memory_limit.or(file.memory_limit).unwrap_or_default(),
            cluster,
            journal,
            history,
            history_server: args.history.clone().or(file.history),
            limits: bossed(limits(file.limits, &args.limits)?, args),
            log: args.log.or(file.log).unwrap_or_default(),
            log_level: args
                .log_level
                .or(file.log_level)
                .unwrap_or(tracing::Level::INFO),
            access_log: match args.access_log || file.access_log {
                true => AccessLog::Written,
                false => AccessLog::Absent,
            },
            fixtures: match args.conformance_fixtures {
                true => ConformanceFixtures::Served,
                false => ConformanceFixtures::Absent,
            },
        };
        settings.check()?;
        Ok(settings)
    }

    /// Checks that the settings are safe. An allowed host means that others have access: a proxy
    /// may forward them to a server on loopback.
    fn check(&self) -> Result<(), SettingsError> {
        if let Some(server) = &self.history_server {
            let server = server.clone();
            if !cfg!(feature = "postgres") {
                return Err(SettingsError::NoPostgres { server });
            }
            if self.journal.is_none() {
                return Err(SettingsError::NothingToCopy { server });
            }
            if !self.realms.is_empty() {
                return Err(SettingsError::SeveralToCopy { server });
            }
        }
        self.check_realms()?;
        let listen = self.listen;
        let is_loopback = listen.ip().to_canonical().is_loopback();
        let hosts = self.realms.iter().filter_map(|realm| realm.host.as_ref());
        let hosts = hosts.map(ToString::to_string);
        let host = self.allow_hosts.iter().cloned().chain(hosts).next();
        let host = host.as_ref();
        if self.usernames == Usernames::Trusted {
            let by = host.map(|host| format!("--allow-hosts {host}"));
            let by = by.or_else(|| (!is_loopback).then(|| format!("--listen {listen}")));
            if let Some(by) = by {
                return Err(SettingsError::Trusting { by });
            }
        }
        if !is_loopback && (host.is_none() || self.auth_tokens.is_none()) {
            return Err(SettingsError::Exposed { listen });
        }
        match host {
            Some(host) if self.auth_tokens.is_none() => {
                Err(SettingsError::Anonymous { host: host.clone() })
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// How much of the history stays.
fn retention(args: &ServeArgs, file: &File) -> Retention {
    let usual = Retention::default();
    Retention {
        age: args.history_age.or(file.history_age).unwrap_or(usual.age),
        messages: args
            .history_messages
            .or(file.history_messages)
            .unwrap_or(usual.messages),
        bytes: args
            .disk
            .history_bytes
            .or(file.history_bytes)
            .unwrap_or(usual.bytes),
    }
}

/// The first non-empty list.
fn first<T: Clone>(given: &[T], of_file: Vec<T>, default: &[T]) -> Vec<T> {
    match (given, &of_file[..]) {
        ([], []) => default.to_vec(),
        ([], _) => of_file,
        (given, _) => given.to_vec(),
    }
}

/// The core's limits: flags before the file before defaults.
fn limits(mut given: Vec<GivenLimit>, flags: &[String]) -> Result<Config, SettingsError> {
    for text in flags.iter().flat_map(|flag| limits::parts(flag)) {
        let limit = limits::of_flag(text).map_err(|why| SettingsError::Limit {
            text: text.into(),
            why,
        })?;
        given.push(limit);
    }
    Ok(limits::together(given).expect("each was checked by itself"))
}

/// The limits with the flags of the boss, whose ranges the command line has checked.
fn bossed(limits: Config, args: &ServeArgs) -> Config {
    let cooldown = args.boss_alertness_cooldown;
    Config {
        boss_alertness: args.boss_alertness.unwrap_or(limits.boss_alertness),
        boss_alertness_cooldown: cooldown.map_or(limits.boss_alertness_cooldown, |seconds| {
            Span::secs(seconds.into())
        }),
        ..limits
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gathered(args: &ServeArgs) -> Result<Settings, String> {
        Settings::gather(args, Unnamed::InMemory).map_err(|error| error.to_string())
    }

    fn file(text: &str) -> (tempfile::NamedTempFile, ServeArgs) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let args = ServeArgs {
            config: Some(file.path().into()),
            ..ServeArgs::default()
        };
        (file, args)
    }

    #[test]
    fn a_copy_of_the_history_needs_a_journal_and_a_program_that_can_make_it() {
        let gather = |data: Option<&str>| {
            gathered(&ServeArgs {
                history: "postgres://chat:secret@db/chat".parse().ok(),
                data: data.map(Into::into),
                ..ServeArgs::default()
            })
        };
        let settings = gather(Some("/nowhere"));
        let in_memory = gather(None).unwrap_err();
        match cfg!(feature = "postgres") {
            true => {
                let server = settings.unwrap().history_server.unwrap();
                assert_eq!(server.to_string(), "postgres://chat@db/chat");
                assert!(
                    in_memory.contains("name its folder with --data"),
                    "{in_memory}"
                );
            }
            false => {
                let why = settings.unwrap_err();
                assert!(why.contains("--features postgres"), "{why}");
                assert!(!why.contains("secret"), "{why}");
            }
        }
    }

    #[test]
    fn nothing_said_is_loopback_and_all_tools() {
        let settings = gathered(&ServeArgs::default()).unwrap();
        assert_eq!(settings.listen, DEFAULT_LISTEN);
        assert_eq!(settings.toolsets, Toolset::ALL);
        assert_eq!(settings.limits, Config::default());
        assert_eq!(settings.grace, Span::secs(10));
    }

    #[test]
    fn flags_go_before_the_file_and_the_file_before_defaults() {
        let (_file, mut args) = file(
            "listen: 127.0.0.1:1\ngrace: 3s\nmemory_limit: 512MiB\ntoolsets: [room]\n\
             limits: { stick_lease: 60s, turn_limit: none }\n",
        );
        args.listen = Some("127.0.0.1:2".parse().unwrap());
        args.limits = vec!["stick_lease=5s".into()];
        let settings = gathered(&args).unwrap();
        assert_eq!(settings.listen.port(), 2);
        assert_eq!(settings.grace, Span::secs(3));
        assert_eq!(settings.memory_limit.bytes(), Some(512 << 20));
        assert_eq!(settings.toolsets, [Toolset::Room]);
        assert_eq!(settings.limits.stick_lease, Span::secs(5));
        assert_eq!(settings.limits.turn_limit, chat_types::config::Limit::None);
    }

    #[test]
    fn the_sample_file_says_what_is_so_anyway() {
        let (_file, args) = file(include_str!("../../../deploy/talking-stick.yaml"));
        let (sample, default) = (
            gathered(&args).unwrap(),
            gathered(&ServeArgs::default()).unwrap(),
        );
        assert_eq!(format!("{sample:?}"), format!("{default:?}"));
    }

    #[test]
    fn each_comment_of_the_sample_file_that_is_a_setting_can_be_one() {
        let sample = include_str!("../../../deploy/talking-stick.yaml");
        let is_key = |word: &str| {
            word.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        let setting = |line: &'static str| {
            let setting = line.strip_prefix("# ")?;
            let (key, _) = setting.split_once(": ")?;
            is_key(key).then_some(setting)
        };
        let lines = sample.lines().map(|line| setting(line).unwrap_or(line));
        let (_file, args) = file(&lines.collect::<Vec<_>>().join("\n"));
        let settings = Settings::gather(&args, Unnamed::InUsualFolder).unwrap();
        assert!(settings.auth_tokens.is_some() && settings.operator_tokens.is_some());
        assert_eq!(settings.realms.len(), 2);
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_accepted() {
        let limit = |text: &str| {
            gathered(&ServeArgs {
                limits: vec![text.into()],
                ..ServeArgs::default()
            })
            .unwrap_err()
        };
        assert!(limit("stick_lease").contains("as in stick_lease=60s"));
        assert!(
            limit("stick_leese=1s").contains("stick_lease"),
            "{}",
            limit("stick_leese=1s")
        );
        assert!(
            limit("max_members=1").contains("2 to 65536"),
            "{}",
            limit("max_members=1")
        );
        let (_kept, args) = file("lisen: 127.0.0.1:1\n");
        assert!(gathered(&args).unwrap_err().contains("listen"));
        let (_kept, args) = file("limits: { max_members: many }\n");
        let why = gathered(&args).unwrap_err();
        assert!(why.contains("limits"), "{why}");
    }

    #[test]
    fn commas_part_limits_and_within_brackets_they_do_not() {
        let limits = |flag: &str| {
            let args = ServeArgs {
                limits: vec![flag.into()],
                ..ServeArgs::default()
            };
            gathered(&args).map(|settings| settings.limits)
        };
        let both = limits("stick_lease=5s,rate_limit={per_second: 1, burst: 2},turn_limit=7");
        let both = both.unwrap();
        assert_eq!(both.stick_lease, Span::secs(5));
        assert_eq!(both.turn_limit, chat_types::config::Limit::At(7));
        let alone = limits("rate_limit={per_second: 1, burst: 2}").unwrap();
        assert_eq!(both.rate_limit, alone.rate_limit);
        let why = limits("stick_lease=5s,turn_limit").unwrap_err();
        assert!(why.contains("--limit turn_limit: write a key"), "{why}");
    }

    #[test]
    fn a_host_that_is_allowed_asks_for_tokens_on_loopback_too() {
        let hosts = ServeArgs {
            allow_hosts: vec!["chat.example.org".into()],
            ..ServeArgs::default()
        };
        let why = gathered(&hosts).unwrap_err();
        assert!(
            why.contains("chat.example.org") && why.contains("--auth-tokens"),
            "{why}"
        );
        let tokens = ServeArgs {
            auth_tokens: Some("tokens.txt".into()),
            ..hosts
        };
        assert!(gathered(&tokens).is_ok());
        let trusting = ServeArgs {
            trust_usernames: true,
            ..tokens
        };
        let why = gathered(&trusting).unwrap_err();
        assert!(
            why.contains("--trust-usernames") && why.contains("--allow-hosts"),
            "{why}"
        );
    }

    #[test]
    fn what_is_open_to_others_needs_names_and_tokens() {
        let open = ServeArgs {
            listen: Some("0.0.0.0:1".parse().unwrap()),
            ..ServeArgs::default()
        };
        assert!(gathered(&open).unwrap_err().contains("--allow-hosts"));
        let trusting = ServeArgs {
            trust_usernames: true,
            ..open.clone()
        };
        assert!(
            gathered(&trusting)
                .unwrap_err()
                .contains("--trust-usernames")
        );
        let closed = ServeArgs {
            allow_hosts: vec!["chat.example.org".into()],
            auth_tokens: Some("tokens.txt".into()),
            ..open
        };
        assert!(gathered(&closed).is_ok());
    }
}
