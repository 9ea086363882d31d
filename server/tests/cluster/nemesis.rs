//! What goes wrong on purpose, under load: each accepted message is in the room's history once and
//! in its order, all members agree, and everybody is served again.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::members::Members;
use crate::process::Connection;
use crate::talkers::Talkers;

/// The number of faults, unless `CLUSTER_ROUNDS` says another one.
const ROUNDS: usize = 3;

const TALKERS: usize = 4;

/// Everybody must be served again within this time after a fault.
const HEALED: Duration = Duration::from_secs(45);

/// How long a pause lasts: longer than the owner's lease, and than the others' silence.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(2_500),
    Duration::from_millis(4_500),
    Duration::from_millis(6_000),
];

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// The owner is killed, and starts again.
    KillOwner,
    /// The owner is paused for longer than its lease.
    PauseOwner,
    /// The owner is asked to stop, and starts again.
    StopOwner,
    /// The NATS server that leads the log is killed, and starts again.
    KillLeader,
    /// The NATS server that leads the log is paused.
    PauseLeader,
    /// A member that is not the owner is killed, and starts again.
    KillFollower,
    /// Two NATS servers are killed, so that nothing can be appended, and start again.
    KillMajority,
    /// All NATS servers and all members are killed, and start again.
    KillAll,
}

/// All kinds, in the order in which the first rounds make them.
const FAULTS: [Fault; 8] = [
    Fault::KillOwner,
    Fault::KillLeader,
    Fault::StopOwner,
    Fault::PauseOwner,
    Fault::PauseLeader,
    Fault::KillFollower,
    Fault::KillMajority,
    Fault::KillAll,
];

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KillOwner => "owner killed",
            Self::PauseOwner => "owner paused",
            Self::StopOwner => "owner stopped",
            Self::KillLeader => "leader of the log killed",
            Self::PauseLeader => "leader of the log paused",
            Self::KillFollower => "follower killed",
            Self::KillMajority => "two NATS servers killed",
            Self::KillAll => "all killed",
        })
    }
}

/// Numbers drawn from a seed (`SplitMix64`).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let end = u64::try_from(end).expect("it is small");
        usize::try_from((z ^ (z >> 31)) % end).expect("it is small")
    }
}

fn setting(name: &str, usual: u64) -> u64 {
    let given = std::env::var(name);
    given.map_or(usual, |given| given.parse().expect("a number"))
}

/// The faults of a run: each kind once, then any.
fn plan(rounds: usize, draw: &mut Draw) -> Vec<Fault> {
    let drawn = std::iter::repeat_with(|| FAULTS[draw.below(FAULTS.len())]);
    FAULTS.into_iter().chain(drawn).take(rounds).collect()
}

/// The processes that a fault concerns, by number.
struct Victims {
    members: Vec<usize>,
    servers: Vec<usize>,
}

fn victims(members: &Members, fault: Fault, draw: &mut Draw) -> Victims {
    let count = members.count();
    let owner = members.owner();
    let follower = (owner + 1 + draw.below(count - 1)) % count;
    let first = draw.below(count);
    let (members, servers) = match fault {
        Fault::KillOwner | Fault::PauseOwner | Fault::StopOwner => (vec![owner], vec![]),
        Fault::KillFollower => (vec![follower], vec![]),
        Fault::KillLeader | Fault::PauseLeader => (vec![], vec![leader(members)]),
        Fault::KillMajority => (vec![], vec![first, (first + 1) % count]),
        Fault::KillAll => ((0..count).collect(), (0..count).collect()),
    };
    Victims { members, servers }
}

/// Makes a fault, and mends it. Returns when everybody must be served again.
fn play(members: &mut Members, fault: Fault, draw: &mut Draw) -> Instant {
    let pause = PAUSES[draw.below(PAUSES.len())];
    let victims = victims(members, fault, draw);
    match fault {
        Fault::KillOwner
        | Fault::KillFollower
        | Fault::KillLeader
        | Fault::KillMajority
        | Fault::KillAll => {
            for &number in &victims.members {
                members.kill(number);
            }
            for &number in &victims.servers {
                members.servers.kill(number);
            }
            let since = Instant::now();
            if fault == Fault::KillMajority {
                thread::park_timeout(pause);
            }
            for number in victims.servers {
                members.servers.start_again(number);
            }
            for number in victims.members {
                members.start_again(number);
            }
            since
        }
        Fault::StopOwner => {
            let since = Instant::now();
            for number in victims.members {
                members.stop(number);
                members.start_again(number);
            }
            since
        }
        Fault::PauseOwner | Fault::PauseLeader => {
            let signal = |name: &str| {
                let ours = victims.members.iter();
                ours.for_each(|number| members.signal(*number, name));
                let servers = victims.servers.iter();
                servers.for_each(|number| members.servers.signal(*number, name));
            };
            signal("STOP");
            let since = Instant::now();
            thread::park_timeout(pause);
            signal("CONT");
            since
        }
    }
}

/// The NATS server that leads the log, by what one of them says.
fn leader(members: &Members) -> usize {
    let until = Instant::now() + HEALED;
    loop {
        for monitor in members.servers.monitors() {
            let address = monitor.trim_start_matches("http://").parse();
            let address = address.expect("an address");
            let Some(jsz) = jsz(address) else {
                continue;
            };
            let streams = jsz["account_details"][0]["stream_detail"].as_array();
            let log = streams
                .into_iter()
                .flatten()
                .find(|stream| stream["name"] == "TS_main");
            let name = log.and_then(|log| log["cluster"]["leader"].as_str());
            let is_it = |number: &usize| Some(members.servers.name(*number)) == name;
            if let Some(number) = (0..members.count()).find(is_it) {
                return number;
            }
        }
        assert!(Instant::now() < until, "the log has no leader");
    }
}

/// What the monitoring says of the streams.
fn jsz(monitor: SocketAddr) -> Option<Value> {
    let mut connection = Connection::try_open(monitor, Duration::from_secs(2))?;
    let answer = connection.exchange("GET /jsz?streams=1", &[], "")?;
    let body = match answer.header("Transfer-Encoding") {
        Some(_) => connection.chunks()?,
        None => answer.body,
    };
    serde_json::from_str(&body).ok()
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn what_was_accepted_is_there_once_whatever_fails() {
    let rounds = usize::try_from(setting("CLUSTER_ROUNDS", ROUNDS as u64)).expect("it is small");
    let seed = setting("CLUSTER_SEED", 1);
    let mut draw = Draw(seed);
    let plan = plan(rounds, &mut draw);
    let mut members = Members::start();
    let doors = (0..members.count()).map(|number| members.address(number));
    let talkers = Talkers::register(TALKERS, doors.collect());
    let mut heals: BTreeMap<Fault, Vec<Duration>> = BTreeMap::new();
    thread::scope(|scope| {
        for number in 0..TALKERS {
            let talkers = &talkers;
            scope.spawn(move || talkers.talk(number));
        }
        let stopper = Stopper(&talkers);
        let healed = talkers.heal(Instant::now(), HEALED);
        assert!(healed.is_some(), "nobody is served at the start");
        for (round, fault) in plan.into_iter().enumerate() {
            let since = play(&mut members, fault, &mut draw);
            let healed = talkers.heal(since, HEALED);
            let healed = healed.unwrap_or_else(|| {
                let states = members.states();
                panic!("seed {seed}, round {round}, {fault}: not served again; {states:?}")
            });
            println!("round {round}: {fault}, served again after {healed:?}");
            heals.entry(fault).or_default().push(healed);
        }
        drop(stopper);
    });
    members.agreed();
    for door in 0..members.count() {
        talkers.check(&talkers.history(door));
    }
    println!(
        "seed {seed}: {} messages, each once and in order",
        talkers.accepted()
    );
    for (fault, mut times) in heals {
        times.sort_unstable();
        let (least, median) = (times[0], times[times.len() / 2]);
        let most = times[times.len() - 1];
        let count = times.len();
        println!(
            "{fault}: {count} times, served again after {least:.1?} {median:.1?} {most:.1?} (least, median, most)"
        );
    }
}

/// Stops the talkers, also when the test fails: they would talk for ever.
struct Stopper<'a>(&'a Talkers);

impl Drop for Stopper<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
