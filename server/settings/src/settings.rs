//! The settings of a server: flags first, then variables, then the file, then defaults.

mod cluster;
mod file;
mod journal;
mod limits;
mod rows;

use std::path::Path;

use chat_types::{Config, Span};

use crate::given::Given as _;
use crate::named_file;
use crate::os_error::reason;
use crate::realm::{self, MAX_REALMS, Realm};

pub use self::cluster::{ClusterArgs, ClusterSettings, NO_CLUSTER, ReadsRule};
pub use self::journal::{Durability, JournalSettings, Retention, Unnamed, usual_folder};
pub use self::rows::{DEFAULT_LISTEN, LogForm, ServeArgs, Settings};

impl Settings {
    /// Merges the settings of all sources, and checks them.
    ///
    /// # Errors
    /// What is wrong, where, and what is accepted.
    pub fn gather(args: &ServeArgs, unnamed: Unnamed) -> Result<Self, String> {
        let mut given = args.clone();
        if let Some(path) = &args.config {
            let file = file::read(path)?;
            // Both count, and of a limit that both have the flag's, which is the last.
            given.limits.splice(..0, file.limits.iter().cloned());
            given = given.or(file);
        }
        let port = given.listen.unwrap_or(DEFAULT_LISTEN).port();
        let cluster = ClusterSettings::gather(&given.cluster, port)?;
        if cluster.is_some() && unnamed == Unnamed::InMemory {
            return Err("--cluster is for `talking-stick serve` alone: leave it out".into());
        }
        if cluster.is_some() && given.in_memory {
            let both = "keeps all in the cluster's log, and --in-memory nothing: leave one out";
            return Err(format!("--cluster {both}"));
        }
        let journal = match &cluster {
            // Members on one machine must not have one folder.
            Some(_) => JournalSettings::gather(&given, Unnamed::InMemory)?,
            None => JournalSettings::gather(&given, unnamed)?,
        };
        if let (Some(Realm { name, .. }), Unnamed::InMemory) = (given.realms.first(), unnamed) {
            let why = "several realms are for `talking-stick serve` alone: leave it out";
            return Err(format!("--realms {name}: {why}"));
        }
        let of_cluster = cluster.as_ref().map(|cluster| cluster.realm.clone());
        let realm = of_cluster.unwrap_or_else(|| realm::FIRST.into());
        let (history, limits) = (Retention::gather(&given), limits(&given)?);
        let settings = Self::of(given, cluster, realm, journal, history, limits);
        settings.check_history()?;
        settings.check_realms()?;
        settings.check_access()?;
        Ok(settings)
    }

    /// The settings of one of its realms. A journal has a folder within that of the server.
    #[must_use]
    pub fn of_realm(&self, realm: &Realm) -> Self {
        let mut of = self.clone();
        let name: &str = &realm.name;
        of.realm = name.into();
        of.allow_hosts
            .extend(realm.host.as_ref().map(ToString::to_string));
        if let Some(cluster) = &mut of.cluster {
            cluster.realm = name.into();
        }
        if let Some(journal) = &mut of.journal {
            journal.folder = journal.folder.join("realms").join(name);
        }
        of
    }

    /// The name of its realm, if the server has others, too.
    #[must_use]
    pub fn realm_label(&self) -> Option<&str> {
        (!self.realms.is_empty()).then_some(&*self.realm)
    }

    fn check_history(&self) -> Result<(), String> {
        let Some(server) = &self.history_server else {
            return Ok(());
        };
        let why = if !cfg!(feature = "postgres") {
            ": this program is built without PostgreSQL. Build it with `cargo build --release -p \
             server --features postgres`, or leave the server out"
        } else if self.journal.is_none() {
            " copies the history of a journal, and this server keeps none: name its folder with \
             --data, and leave --in-memory out"
        } else if !self.realms.is_empty() {
            " copies one realm, and this server has several: leave one of the two out"
        } else {
            return Ok(());
        };
        Err(format!("--history {server}{why}"))
    }

    fn check_realms(&self) -> Result<(), String> {
        for (index, realm) in self.realms.iter().enumerate() {
            let before = &self.realms[..index];
            let is_named = |other: &Realm| other.name == realm.name;
            let is_there = |other: &Realm| other.host.is_some() && other.host == realm.host;
            let why = if *realm.name == *self.realm || before.iter().any(is_named) {
                "there is another realm of this name"
            } else if before.iter().any(is_there) {
                "its host is another realm's"
            } else if index >= MAX_REALMS {
                "a server has at most 32 realms besides the first"
            } else {
                continue;
            };
            return Err(format!("--realms {}: {why}", realm.name));
        }
        Ok(())
    }

    /// Checks that the settings are safe. An allowed host means that others have access: a proxy
    /// may forward them to a server on loopback.
    fn check_access(&self) -> Result<(), String> {
        let listen = self.listen;
        let is_loopback = listen.ip().to_canonical().is_loopback();
        let hosts = self.realms.iter().filter_map(|realm| realm.host.as_ref());
        let hosts = hosts.map(ToString::to_string);
        let host = self.allow_hosts.iter().cloned().chain(hosts).next();
        let by = host.as_ref().map(|host| format!("--allow-hosts {host}"));
        let by = by.or_else(|| (!is_loopback).then(|| format!("--listen {listen}")));
        match (host, by) {
            (_, Some(by)) if self.trust_usernames => Err(format!(
                "--trust-usernames lets anybody speak for anybody: it is for this machine alone. \
                 Leave it out, or leave out what opens the server to others: {by}"
            )),
            (host, _) if !is_loopback && (host.is_none() || self.auth_tokens.is_none()) => {
                Err(format!(
                    "{listen} is open to other machines: name the hosts by which they reach this \
                     one with --allow-hosts, and who may come with --auth-tokens"
                ))
            }
            (Some(host), _) if self.auth_tokens.is_none() => Err(format!(
                "--allow-hosts {host} opens the server to others than this machine: say who may \
                 come with --auth-tokens, or leave the host out"
            )),
            _ => Ok(()),
        }
    }
}

/// The text in the file that a flag names.
fn read_file(flag: &str, path: &Path) -> Result<String, String> {
    named_file::read(path).map_err(|error| {
        let (path, why) = (path.display(), reason(&error));
        format!("cannot read the file of {flag}, {path}: {why}")
    })
}

/// The core's limits, with those of the boss, whose ranges the command line has checked.
fn limits(given: &ServeArgs) -> Result<Config, String> {
    let texts = given.limits.iter().flat_map(|flag| limits::parts(flag));
    let checked =
        texts.map(|text| limits::of_flag(text).map_err(|why| format!("--limit {text}: {why}")));
    let checked = checked.collect::<Result<Vec<_>, _>>()?;
    let limits = limits::together(checked).expect("each was checked by itself");
    let cooldown = given.boss_alertness_cooldown;
    Ok(Config {
        boss_alertness: given.boss_alertness.unwrap_or(limits.boss_alertness),
        boss_alertness_cooldown: cooldown.map_or(limits.boss_alertness_cooldown, |seconds| {
            Span::secs(seconds.into())
        }),
        ..limits
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use clap::Parser as _;

    use super::*;
    use crate::Toolset;
    use crate::cli::Cli;

    fn gathered(args: &ServeArgs) -> Result<Settings, String> {
        Settings::gather(args, Unnamed::InMemory)
    }

    /// The settings of a command line with these flags.
    fn flags(flags: &[&str]) -> Result<Settings, String> {
        let words = [&["talking-stick"], flags].concat();
        gathered(&Cli::try_parse_from(words).unwrap().serve)
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
        let server = ["--history", "postgres://chat:secret@db/chat"];
        let settings = flags(&[&server[..], &["--data", "/nowhere"]].concat());
        let in_memory = flags(&server).unwrap_err();
        match cfg!(feature = "postgres") {
            true => {
                let server = settings.unwrap().history_server.unwrap();
                assert_eq!(server.to_string(), "postgres://chat@db/chat");
                assert!(in_memory.contains("name its folder with --data"));
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
        let settings = flags(&[]).unwrap();
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
        assert_eq!(settings.memory_limit, Some(512 << 20));
        assert_eq!(settings.toolsets, [Toolset::Room]);
        assert_eq!(settings.limits.stick_lease, Span::secs(5));
        assert_eq!(settings.limits.turn_limit, chat_types::config::Limit::None);
    }

    #[test]
    fn the_sample_file_says_what_is_so_anyway() {
        let (_file, args) = file(include_str!("../../../deploy/talking-stick.yaml"));
        let (sample, default) = (gathered(&args).unwrap(), flags(&[]).unwrap());
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
        let hosts = ["--allow-hosts", "chat.example.org"];
        let tokens = ["--auth-tokens", "tokens.txt"];
        let open = ["--listen", "0.0.0.0:1"];
        let trusting = ["--trust-usernames"];
        for (given, named) in [
            (
                &[&["--limit", "stick_lease"][..]][..],
                "as in stick_lease=60s",
            ),
            (&[&["--limit", "stick_leese=1s"]], "stick_lease"),
            (&[&["--limit", "max_members=1"]], "2 to 65536"),
            (&[&hosts], "chat.example.org opens"),
            (&[&hosts], "--auth-tokens"),
            (&[&hosts, &tokens, &trusting], "--trust-usernames"),
            (&[&hosts, &tokens, &trusting], "--allow-hosts"),
            (&[&open], "--allow-hosts"),
            (&[&open, &trusting], "--trust-usernames"),
        ] {
            let why = flags(&given.concat()).unwrap_err();
            assert!(why.contains(named), "{named}: {why}");
        }
        for safe in [&[&hosts[..], &tokens][..], &[&hosts, &tokens, &open]] {
            assert!(flags(&safe.concat()).is_ok(), "{safe:?}");
        }
        for (text, named) in [
            ("lisen: 127.0.0.1:1\n", "listen"),
            ("limits: { max_members: many }\n", "limits"),
        ] {
            let (_kept, args) = file(text);
            let why = gathered(&args).unwrap_err();
            assert!(why.contains(named), "{why}");
        }
    }

    #[test]
    fn commas_part_limits_and_within_brackets_they_do_not() {
        let limits = |text: &str| flags(&["--limit", text]).map(|settings| settings.limits);
        let both = limits("stick_lease=5s,rate_limit={per_second: 1, burst: 2},turn_limit=7");
        let both = both.unwrap();
        assert_eq!(both.stick_lease, Span::secs(5));
        assert_eq!(both.turn_limit, chat_types::config::Limit::At(7));
        let alone = limits("rate_limit={per_second: 1, burst: 2}").unwrap();
        assert_eq!(both.rate_limit, alone.rate_limit);
        let why = limits("stick_lease=5s,turn_limit").unwrap_err();
        assert!(why.contains("--limit turn_limit: write a key"), "{why}");
    }
}
