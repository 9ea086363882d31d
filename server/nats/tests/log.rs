//! The log on real servers. `cargo xtask test --only cluster` installs them, and runs these tests.

#[path = "../../tests/suite/cluster/proxy.rs"]
#[allow(dead_code, reason = "this test program needs delays alone")]
mod proxy;
#[path = "log/secure.rs"]
mod secure;
#[path = "shared/servers.rs"]
mod servers;

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use chat_cluster::{AppendId, Outcome, ReadId, Source};
use futures_util::StreamExt as _;
use server_nats::{CallError, Log, Report, StoredSnapshot};
use server_settings::ClusterSettings;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use proxy::{Flow, Proxy, Way};
use servers::Servers;

/// The time limit of every wait. No test waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(60);

/// Three servers that no test harms, which end with the last test that has them.
fn shared() -> Arc<Servers> {
    static SHARED: Mutex<Weak<Servers>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().expect("no test panics here");
    shared.upgrade().unwrap_or_else(|| {
        let servers = Arc::new(Servers::start(3));
        *shared = Arc::downgrade(&servers);
        servers
    })
}

fn options(servers: &Servers, realm: &str) -> ClusterSettings {
    ClusterSettings {
        servers: servers.addresses(),
        realm: realm.into(),
        monitors: servers.monitors(),
        ..ClusterSettings::default()
    }
}

/// A log, and what it reports.
struct Bench {
    log: Log,
    reports: mpsc::UnboundedReceiver<Report>,
    next: u64,
}

impl Bench {
    async fn open(options: &ClusterSettings) -> Self {
        let mut log = Log::open(options).await.expect("the servers are proper");
        let (tell, reports) = mpsc::unbounded_channel();
        log.attach(move |report| {
            let _ = tell.send(report);
        });
        let next = 0;
        Self { log, reports, next }
    }

    async fn report(&mut self) -> Report {
        let report = tokio::time::timeout(PATIENCE, self.reports.recv()).await;
        report.expect("in time").expect("the log is there")
    }

    /// Appends once; none if the outcome is not known.
    async fn try_append(&mut self, expected: u64, bytes: &[u8]) -> Option<Outcome> {
        self.next += 1;
        let wanted = AppendId(self.next);
        self.log.publish(wanted, expected, bytes);
        let reported = async {
            loop {
                let report = self.reports.recv().await.expect("the log is there");
                if let Report::Published { id, outcome, .. } = report
                    && id == wanted
                {
                    return outcome;
                }
            }
        };
        let reported = tokio::time::timeout(PATIENCE, reported).await;
        reported.expect("in time")
    }

    async fn append(&mut self, expected: u64, bytes: &[u8]) -> Outcome {
        let outcome = self.try_append(expected, bytes).await;
        outcome.expect("the servers are well")
    }

    async fn read(&mut self, sequence: u64, source: Source) -> Option<Vec<u8>> {
        self.next += 1;
        let wanted = ReadId(self.next);
        self.log.read(wanted, sequence, source);
        loop {
            if let Report::Found { id, bytes } = self.report().await
                && id == wanted
            {
                return bytes;
            }
        }
    }

    async fn newest_snapshot(&self) -> Option<Vec<u8>> {
        let newest = self.log.reader().newest_snapshot().await;
        newest.expect("a bucket")
    }

    /// The next record of the followed log.
    async fn record(&mut self) -> (u64, Vec<u8>) {
        loop {
            if let Report::Record {
                sequence, bytes, ..
            } = self.report().await
            {
                return (sequence, bytes);
            }
        }
    }
}

#[tokio::test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
async fn a_record_is_appended_only_behind_the_one_that_is_expected() {
    let servers = shared();
    let mut bench = Bench::open(&options(&servers, "append")).await;
    assert_eq!(bench.append(0, b"one").await, Outcome::Acknowledged(1));
    assert_eq!(bench.append(0, b"other").await, Outcome::WrongLast);
    assert_eq!(bench.append(5, b"later").await, Outcome::WrongLast);
    assert_eq!(bench.append(1, b"two").await, Outcome::Acknowledged(2));
    assert_eq!(bench.read(1, Source::Leader).await, Some(b"one".to_vec()));
    assert_eq!(bench.read(3, Source::Leader).await, None);
    // A replica may lag behind, and has it in the end.
    while bench.read(2, Source::Replica(1)).await != Some(b"two".to_vec()) {}
    assert_eq!(bench.read(3, Source::Replica(1)).await, None);
}

#[tokio::test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
async fn a_follower_receives_every_record_once_and_in_order_from_where_it_begins() {
    let servers = shared();
    let options = options(&servers, "follow");
    let mut owner = Bench::open(&options).await;
    let mut follower = Bench::open(&options).await;
    follower.log.follow(1, 0);
    for sequence in 0..100_u64 {
        let bytes = sequence.to_string();
        let appended = owner.append(sequence, bytes.as_bytes()).await;
        assert_eq!(appended, Outcome::Acknowledged(sequence + 1));
    }
    for sequence in 1..=100_u64 {
        let wanted = (sequence, (sequence - 1).to_string().into_bytes());
        assert_eq!(follower.record().await, wanted);
    }
    follower.log.follow(98, 1);
    assert_eq!(follower.record().await, (98, b"97".to_vec()));
    assert_eq!(follower.record().await, (99, b"98".to_vec()));
}

#[tokio::test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
async fn all_members_of_a_realm_have_the_identity_that_one_of_them_drew() {
    let servers = shared();
    let options = options(&servers, "identity");
    let (one, two) = tokio::join!(Bench::open(&options), Bench::open(&options));
    let (a, b) = tokio::join!(
        one.log.reader().identity(Some(b"drawn by one")),
        two.log.reader().identity(Some(b"drawn by two"))
    );
    let (a, b) = (a.expect("an identity"), b.expect("an identity"));
    assert_eq!(a, b);
    let drawn = a.as_deref().expect("an identity");
    assert!(drawn == b"drawn by one" || drawn == b"drawn by two");
    let later = two.log.reader().identity(Some(b"drawn later")).await;
    assert_eq!(later.expect("an identity"), a);
}

#[tokio::test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
async fn the_log_is_purged_below_the_last_two_snapshots() {
    let servers = shared();
    let mut bench = Bench::open(&options(&servers, "snapshots")).await;
    assert_eq!(bench.newest_snapshot().await, None);
    for sequence in 0..9 {
        bench.append(sequence, b"record").await;
    }
    for sequence in [2, 5, 8] {
        bench.log.store(StoredSnapshot {
            sequence,
            position: sequence,
            digest: 7,
            bytes: vec![u8::try_from(sequence).expect("it is small"); 300_000],
        });
        loop {
            let newest = bench.newest_snapshot().await;
            if newest.is_some_and(|bytes| u64::from(bytes[0]) == sequence) {
                break;
            }
        }
    }
    assert_eq!(bench.newest_snapshot().await, Some(vec![8; 300_000]));
    // The purge follows the snapshot.
    while bench.read(5, Source::Leader).await.is_some() {}
    assert_eq!(
        bench.read(6, Source::Leader).await,
        Some(b"record".to_vec())
    );
    // A follower that begins before it receives a hole, which the member notices.
    bench.log.follow(1, 0);
    assert_eq!(bench.record().await.0, 6);
    assert_eq!(bench.append(9, b"record").await, Outcome::Acknowledged(10));
}

#[tokio::test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
async fn a_call_reaches_the_member_that_serves_it_or_nobody_at_once() {
    let servers = shared();
    let bench = Bench::open(&options(&servers, "calls")).await;
    let calls = bench.log.reader();
    let unserved = calls.ask("call", b"hello".to_vec(), PATIENCE).await;
    assert_eq!(unserved, Err(CallError::NoOwner));
    let mut serving = calls.serve("call").await.expect("a connection");
    let owner = tokio::spawn(async move {
        let call = serving.next().await.expect("a call");
        let answer = [b"to ", &call.bytes[..]].concat();
        call.answer(answer).await;
    });
    let answer = loop {
        match calls.ask("call", b"hello".to_vec(), PATIENCE).await {
            Err(CallError::NoOwner) => {}
            other => break other,
        }
    };
    assert_eq!(answer, Ok(b"to hello".to_vec()));
    owner.await.expect("it answered");
}

#[tokio::test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
async fn a_server_that_asks_for_a_password_takes_that_of_the_credentials() {
    let settings = "max_payload: 9MB\nSYNC: always\nauthorization: { user: ada, password: secret }";
    let servers = Servers::start_with(1, settings);
    let given = ClusterSettings {
        credentials: Some("ada:secret".into()),
        ..options(&servers, "secret")
    };
    let mut bench = Bench::open(&given).await;
    assert_eq!(bench.append(0, b"one").await, Outcome::Acknowledged(1));
    for credentials in [None, Some("ada:wrong".into()), Some("token".into())] {
        let wrong = ClusterSettings {
            credentials,
            ..given.clone()
        };
        assert_refused(&wrong).await;
    }
}

/// Checks that the servers refuse a connection with these options.
async fn assert_refused(options: &ClusterSettings) {
    let why = refusal(options).await;
    assert!(why.starts_with("--cluster: no server of"), "{why}");
}

/// Why a log with these options cannot be opened.
async fn refusal(options: &ClusterSettings) -> String {
    let opened = Log::open(options).await;
    let why = opened.err().expect("the servers are not proper");
    why.to_string()
}

/// The server that leads the stream, by the name of the servers' own choice.
async fn leader(options: &ClusterSettings) -> Option<String> {
    let client = async_nats::connect(&options.servers).await.ok()?;
    let context = async_nats::jetstream::new(client);
    let name = format!("TS_{}", options.realm);
    let mut stream = context.get_stream(name).await.ok()?;
    let info = stream.info().await.ok()?;
    info.cluster.as_ref()?.leader.clone()
}

#[tokio::test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
async fn what_was_acknowledged_outlives_the_stream_s_leader() {
    let mut servers = Servers::start(3);
    let options = options(&servers, "kill");
    let mut owner = Bench::open(&options).await;
    let mut follower = Bench::open(&options).await;
    follower.log.follow(1, 0);
    for sequence in 0..40_u64 {
        let bytes = sequence.to_string().into_bytes();
        if sequence == 20 {
            let leader = leader(&options).await.expect("a leader");
            let number = (0..3).find(|number| servers.name(*number) == leader);
            servers.kill(number.expect("one of ours"));
        }
        // As a member does: the same bytes with the same sequence, until the fate is known.
        loop {
            match owner.try_append(sequence, &bytes).await {
                Some(Outcome::Acknowledged(at)) => break assert_eq!(at, sequence + 1),
                Some(Outcome::WrongLast) => {
                    if owner.read(sequence + 1, Source::Leader).await == Some(bytes.clone()) {
                        break;
                    }
                }
                Some(Outcome::Busy) | None => {}
                Some(Outcome::Rejected) => panic!("the record is short"),
            }
        }
    }
    for sequence in 0..40_u64 {
        let wanted = (sequence + 1, sequence.to_string().into_bytes());
        assert_eq!(follower.record().await, wanted);
    }
}

#[tokio::test]
async fn a_realm_whose_name_fits_no_subject_is_refused_before_any_server_is_asked() {
    for realm in ["", "a.b", "*"] {
        let named = ClusterSettings {
            realm: realm.into(),
            ..ClusterSettings::default()
        };
        let why = refusal(&named).await;
        assert!(why.starts_with("--cluster-realm: it must have"), "{why}");
    }
}

#[tokio::test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
async fn servers_that_do_not_keep_what_they_acknowledge_are_refused() {
    let small = Servers::start_with(1, "SYNC: always");
    let why = refusal(&options(&small, "small")).await;
    assert!(why.contains("messages of 1048576 bytes"), "{why}");

    let lazy = Servers::start_with(1, "max_payload: 9MB");
    let watched = options(&lazy, "lazy");
    let why = refusal(&watched).await;
    assert!(
        why.contains("n0 acknowledges records before they are on its disk"),
        "{why}"
    );
    let unwatched = ClusterSettings {
        monitors: Vec::new(),
        ..watched.clone()
    };
    let why = refusal(&unwatched).await;
    assert!(why.contains("is not known: name their monitoring"), "{why}");
    let vouched = ClusterSettings {
        trust_servers: true,
        ..unwatched
    };
    // One server that is alone has one replica.
    let mut bench = Bench::open(&vouched).await;
    assert_eq!(bench.append(0, b"one").await, Outcome::Acknowledged(1));
}

#[tokio::test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
async fn every_server_with_a_replica_is_asked() {
    let servers = shared();
    let options = options(&servers, "watched");
    let some = ClusterSettings {
        monitors: options.monitors[..2].to_vec(),
        ..options
    };
    let why = refusal(&some).await;
    assert!(why.contains("names no monitoring of n2"), "{why}");
}

#[tokio::test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
async fn a_stream_with_other_settings_is_refused() {
    let servers = shared();
    let options = options(&servers, "other");
    // The servers have just started.
    let client = async_nats::ConnectOptions::new()
        .retry_on_initial_connect()
        .connect(&options.servers)
        .await
        .expect("addresses");
    let context = async_nats::jetstream::new(client);
    let other = async_nats::jetstream::stream::Config {
        name: "TS_other".into(),
        subjects: vec!["ts.other.log".into()],
        ..async_nats::jetstream::stream::Config::default()
    };
    while context.create_stream(other.clone()).await.is_err() {}
    let why = refusal(&options).await;
    assert!(why.contains("TS_other exists with other settings"), "{why}");
}

/// The server is so far away that its answer comes when the append already counts as unknown.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
async fn an_acknowledgement_that_comes_late_is_reported_too() {
    let servers = Servers::start(1);
    let (runtime, to) = (Handle::current(), servers.ports()[0]);
    let proxy = spawn_blocking(move || Proxy::start(&runtime, to)).await;
    let proxy = proxy.expect("a free port");
    let options = ClusterSettings {
        servers: vec![format!("nats://127.0.0.1:{}", proxy.port())],
        ..options(&servers, "far")
    };
    let mut bench = Bench::open(&options).await;
    proxy.set(Way::Both, Flow::Delayed(Duration::from_millis(700)));
    bench.log.publish(AppendId(1), 0, b"late");
    let mut outcomes = Vec::new();
    while outcomes.len() < 2 {
        if let Report::Published { outcome, .. } = bench.report().await {
            outcomes.push(outcome);
        }
    }
    assert_eq!(outcomes, [None, Some(Outcome::Acknowledged(1))]);
}
