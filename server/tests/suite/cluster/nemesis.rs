//! What goes wrong on purpose, under load: each accepted message is in the room's history once and
//! in its order, none that was refused as not done is there, all members agree, each epoch has one
//! owner, and everybody is served again.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::disk::Trouble;
use serde_json::{Value, json};

use crate::cluster::draw::Draw;
use crate::cluster::fault::{Fault, plan};
use crate::cluster::log_judge::{LogJudge, Seen};
use crate::cluster::lost::{replayed, verify};
use crate::cluster::members::Members;
use crate::cluster::monitoring::{leader, whole, whole_within};
use crate::cluster::proxy::{Flow, Way};
use crate::cluster::stores;
use crate::cluster::talkers::{Habit, THINKING, Talkers};
use crate::cluster::tally::Tally;
use crate::cluster::upgrade::roll;

/// The faults of the check, unless `CLUSTER_ROUNDS` and `CLUSTER_SEED` say others.
const ROUNDS: u64 = 10;
const SEED: u64 = 2542;

const TALKERS: [(Habit, Duration); 10] = [
    (Habit::Insists, Duration::ZERO),
    (Habit::Insists, Duration::ZERO),
    (Habit::Insists, Duration::ZERO),
    (Habit::Insists, Duration::ZERO),
    (Habit::Believes, Duration::ZERO),
    (Habit::Believes, Duration::ZERO),
    (Habit::Believes, THINKING),
    (Habit::SaysOnce, Duration::ZERO),
    (Habit::SaysOnce, Duration::ZERO),
    (Habit::SaysOnce, THINKING),
];

/// The line before the rules that the judge finds broken. `cargo xtask mutants --cluster` reads it.
const JUDGED: &str = "the judge accuses:";

/// Everybody must be served again within this time after a fault.
pub(crate) const HEALED: Duration = Duration::from_secs(60);

/// How long pauses and cuts last: some are shorter than the owner's lease, and some longer than the
/// silence after which others claim, or than an election takes.
const MILLIS: [u64; 10] = [
    100, 300, 1_000, 2_500, 3_500, 4_500, 6_000, 8_000, 12_000, 20_000,
];

/// How long a server may restore a damaged store, until an operator replaces it.
const RESTORED: Duration = Duration::from_secs(20);

/// How late each step of a claim arrives: a good part of the time by which those of two members differ,
/// and so little that an append ends before its timeout.
const CLAIMS_LATE: Duration = Duration::from_millis(100);

/// How many of these lengths the check has.
const SHORT: usize = 6;

/// A number from a variable of the environment, or the usual one.
pub(crate) fn setting(name: &str, usual: u64) -> u64 {
    let given = std::env::var(name);
    given.map_or(usual, |given| given.parse().expect("a number"))
}

/// The lengths of pauses and cuts: short ones in the check.
pub(crate) fn lengths() -> &'static [u64] {
    match std::env::var_os("CLUSTER_ROUNDS") {
        Some(_) => &MILLIS,
        None => &MILLIS[..SHORT],
    }
}

/// A fault that was made and mended.
pub(crate) struct Played {
    /// Everybody must be served again after this instant.
    since: Instant,
    /// More to say of it.
    pub(crate) more: String,
}

/// One round.
pub(crate) struct Round<'a> {
    pub(crate) number: usize,
    pub(crate) members: &'a mut Members,
    pub(crate) draw: &'a mut Draw,
    pub(crate) length: Duration,
}

impl Round<'_> {
    /// Makes a fault, and mends it.
    pub(crate) fn play(mut self, fault: Fault) -> Played {
        let count = self.members.count();
        let owner = self.members.owner();
        let follower = (owner + 1 + self.draw.below(count - 1)) % count;
        let server = self.draw.below(count);
        let two = [server, (server + 1) % count];
        let all: Vec<_> = (0..count).collect();
        let cut = Flow::Cut;
        match fault {
            Fault::KillOwner => self.kill(&[owner], &[]),
            Fault::KillOwnerLate => self.kill_late(owner),
            Fault::KillFollower => self.kill(&[follower], &[]),
            Fault::KillLeader => self.kill(&[], &[self.leader()]),
            Fault::KillMajority => self.kill(&[], &two),
            Fault::KillAll => self.kill(&all, &all),
            Fault::StopOwner => self.stop(owner),
            Fault::PauseOwner => self.pause(|of, signal| of.signal(owner, signal)),
            Fault::PauseLeader => {
                let leader = self.leader();
                self.pause(|of, signal| of.servers.signal(leader, signal))
            }
            Fault::CutOwner => self.cut(|of| of.network.set_links(owner, Way::Both, cut)),
            Fault::DeafOwner => self.cut(|of| of.network.set_links(owner, Way::Back, cut)),
            Fault::MuteOwner => self.cut(|of| of.network.set_links(owner, Way::There, cut)),
            Fault::CutLeader => self.cut_leader(Way::Both),
            Fault::DeafLeader => self.cut_leader(Way::Back),
            Fault::MuteLeader => self.cut_leader(Way::There),
            Fault::CutReplica => {
                let other = (self.leader() + 1 + self.draw.below(count - 1)) % count;
                self.cut(|of| of.network.set_routes(other, Way::Both, cut))
            }
            Fault::CutServers => self.cut(|of| {
                (0..count).for_each(|server| of.network.set_routes(server, Way::Both, cut));
            }),
            // A request that clients give up meanwhile does not come late: its key may be forgotten.
            Fault::CutDoor => self.cut(|of| of.network.set_door(follower, Flow::Lost)),
            Fault::Delay => {
                // With the longest, records arrive after their append has timed out.
                let by = Duration::from_millis(self.draw.one_of(&[5, 20, 60, 150, 1_500]));
                self.cut(|of| of.network.delay(by))
            }
            Fault::WipeStore => self.wipe(server),
            Fault::FlipBit => self.flip_bit(server),
            Fault::FillLeader => self.fill_leader(),
            Fault::FillMember => self.fill_member(),
            Fault::UpgradeServers => self.upgrade(|of, number| of.servers.replace(number)),
            Fault::UpgradeMembers => self.upgrade(|of, number| {
                of.stop(number);
                of.start_again(number);
            }),
        }
    }

    fn leader(&self) -> usize {
        leader(&self.members.servers, None)
    }

    fn played(&self, since: Instant) -> Played {
        let more = String::new();
        Played { since, more }
    }

    /// Kills members and servers, and starts them again: a majority of servers after a while.
    fn kill(&mut self, members: &[usize], servers: &[usize]) -> Played {
        members.iter().for_each(|number| self.members.kill(*number));
        let to_kill = servers.iter();
        to_kill.for_each(|number| self.members.servers.kill(*number));
        let since = Instant::now();
        if members.is_empty() {
            thread::park_timeout(self.length);
        }
        let killed = servers.iter();
        killed.for_each(|number| self.members.servers.start_again(*number));
        let killed = members.iter();
        killed.for_each(|number| self.members.start_again(*number));
        self.played(since)
    }

    /// Kills the owner, and mends the network after another member has claimed the log.
    fn kill_late(&mut self, owner: usize) -> Played {
        self.members.network.delay(CLAIMS_LATE);
        self.members.kill(owner);
        let since = Instant::now();
        self.members.owner();
        self.members.network.heal();
        self.members.start_again(owner);
        self.played(since)
    }

    fn stop(&mut self, number: usize) -> Played {
        let since = Instant::now();
        self.members.stop(number);
        self.members.start_again(number);
        self.played(since)
    }

    fn pause(&self, signal: impl Fn(&Members, &str)) -> Played {
        signal(self.members, "STOP");
        let since = Instant::now();
        thread::park_timeout(self.length);
        signal(self.members, "CONT");
        self.lasting(since)
    }

    fn cut(&self, cut: impl Fn(&Members)) -> Played {
        cut(self.members);
        let since = Instant::now();
        thread::park_timeout(self.length);
        self.members.network.heal();
        self.lasting(since)
    }

    fn lasting(&self, since: Instant) -> Played {
        let more = format!("for {:?}", self.length);
        Played { since, more }
    }

    fn cut_leader(&self, way: Way) -> Played {
        let leader = self.leader();
        self.cut(|of| of.network.set_routes(leader, way, Flow::Cut))
    }

    /// Stops a server, and does this to its disk. The others are whole before, and have a leader
    /// before it starts again.
    fn harm(&mut self, server: usize, harm: impl FnOnce(&Path)) -> Instant {
        let since = self.harm_only(server, harm);
        whole(&self.members.servers);
        since
    }

    fn harm_only(&mut self, server: usize, harm: impl FnOnce(&Path)) -> Instant {
        whole(&self.members.servers);
        self.members.servers.stop(server);
        let since = Instant::now();
        leader(&self.members.servers, Some(server));
        harm(&self.members.servers.store(server));
        self.members.servers.start_again(server);
        since
    }

    fn wipe(&mut self, server: usize) -> Played {
        let since = self.harm(server, stores::wipe);
        self.played(since)
    }

    /// After the flip, the server may lead the log, and members read all of the log again. Then its
    /// store is replaced, as the documentation says.
    fn flip_bit(&mut self, server: usize) -> Played {
        let bit = self.draw.below(usize::MAX);
        let mut flipped = String::new();
        let before = self.members.alarms();
        let since = self.harm_only(server, |store| flipped = stores::flip_bit(store, bit));
        if whole_within(&self.members.servers, RESTORED).is_err() {
            // Some bits keep this version of the server from restoring its records for ever.
            self.members.servers.kill(server);
            stores::wipe(&self.members.servers.store(server));
            self.members.servers.start_again(server);
            whole(&self.members.servers);
            let more = format!("{flipped}, by which it never started");
            return Played { since, more };
        }
        let other = self.leader();
        if other != server {
            self.members.servers.restart(other);
        }
        for number in 0..self.members.count() {
            self.members.kill(number);
            self.members.start_again(number);
        }
        let owner = self.members.owner();
        let led = self.leader() == server;
        self.harm(server, stores::wipe);
        let alarms = self.members.alarms() - before;
        let led = if led { ", which led then" } else { "" };
        let more = format!("{flipped}{led}; {alarms} alarms, owner {owner}");
        Played { since, more }
    }

    /// Fills the disk of the server that leads the log. Then there is space again, and it starts anew.
    fn fill_leader(&mut self) -> Played {
        let leader = self.leader();
        self.members.servers.fill_disk(leader);
        let since = Instant::now();
        thread::park_timeout(self.length);
        self.members.servers.restart(leader);
        self.lasting(since)
    }

    fn fill_member(&mut self) -> Played {
        let kept = self.members.kept.as_ref();
        let disk = kept.and_then(|kept| kept.disk.as_ref()).expect("its disk");
        disk.set(Trouble::Full);
        let since = Instant::now();
        thread::park_timeout(self.length);
        disk.set(Trouble::Gone);
        self.lasting(since)
    }

    fn upgrade(&mut self, replace: impl FnMut(&mut Members, usize)) -> Played {
        let since = Instant::now();
        let more = roll(self.members, self.number, replace);
        Played { since, more }
    }
}

/// A run: its faults, one after another.
struct Run<'a> {
    seed: u64,
    draw: &'a mut Draw,
    members: &'a mut Members,
    talkers: &'a Talkers,
    judge: &'a LogJudge,
    tally: Tally,
}

impl Run<'_> {
    /// Makes these faults while all talk. Returns what clients saw at the end.
    fn play(&mut self, plan: Vec<Fault>) -> Seen {
        let talkers = self.talkers;
        talkers.talk_while(|| {
            let healed = talkers.heal(Instant::now(), HEALED);
            assert!(healed.is_some(), "nobody is served at the start");
            for (number, fault) in plan.into_iter().enumerate() {
                self.round(number, fault);
            }
        });
        let doors = 0..self.members.count();
        let shown = doors.map(|door| talkers.history(door)).collect();
        let states = self.members.agreed();
        self.judge.compare(&states);
        self.check_journal();
        let sequences = states.iter().filter_map(|state| state["sequence"].as_u64());
        let last = sequences.max().expect("members");
        Seen { last, shown }
    }

    /// Compares the journal of the first member with the log, and the state that follows from it with
    /// those of members at the same position.
    fn check_journal(&mut self) {
        let folder = self.members.data(0);
        let (code, said) = verify(self.members, Some(&folder));
        assert_eq!(code, Some(0), "{said}");
        self.note(&said);
        let until = Instant::now() + HEALED;
        while !self.has_journal_of_others(&folder, until) {
            self.members.start_again(0);
            self.members.agreed();
        }
    }

    /// Stops the first member, and compares the state of its journal with those of the others. Returns
    /// whether one was at the journal's position; timers may have moved all beyond it.
    fn has_journal_of_others(&mut self, folder: &Path, until: Instant) -> bool {
        self.members.stop(0);
        let (position, digest) = replayed(folder);
        let digest = format!("{digest:016x}");
        let state = json!({ "member": "m0", "position": position, "digest": digest });
        self.judge.compare(&[state]);
        loop {
            let states = self.members.states();
            self.judge.compare(&states);
            if states.iter().any(|state| state["position"] == position) {
                return true;
            }
            assert!(Instant::now() < until, "journal at {position}: {states:?}");
            let is_beyond = |state: &Value| state["position"].as_u64() > Some(position);
            if !states.is_empty() && states.iter().all(is_beyond) {
                return false;
            }
        }
    }

    fn round(&mut self, number: usize, fault: Fault) {
        let seed = self.seed;
        self.note(&format!("seed {seed}, round {number}: {fault}"));
        let length = Duration::from_millis(self.draw.one_of(lengths()));
        let round = Round {
            number,
            members: self.members,
            draw: self.draw,
            length,
        };
        let Played { since, more } = round.play(fault);
        let healed = self.talkers.heal(since, HEALED);
        let states = self.members.states();
        let healed = healed.unwrap_or_else(|| panic!("not served again; {states:?}"));
        self.note(&format!("  served again after {healed:.2?} {more}"));
        self.judge.compare(&states);
        self.tally.add(fault, healed);
        assert!(!self.judge.accuses(), "the log breaks a rule");
        assert_eq!(self.members.stranded(), [0; 0], "they follow the log");
    }

    /// Says something, and keeps it beside the logs.
    #[expect(clippy::print_stdout, reason = "the test says what it does")]
    fn note(&self, text: &str) {
        println!("{text}");
        let noted = self.members.logs.add("nemesis", &format!("{text}\n"));
        noted.expect("a file");
    }
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn what_was_accepted_is_there_once_whatever_fails() {
    let rounds = usize::try_from(setting("CLUSTER_ROUNDS", ROUNDS)).expect("it is small");
    let seed = setting("CLUSTER_SEED", SEED);
    let mut draw = Draw(seed);
    let plan = plan(rounds, &mut draw);
    let mut members = Members::start_for_talkers();
    let judge = LogJudge::start(&members.servers);
    let doors = (0..members.count()).map(|number| members.address(number));
    let talkers = Talkers::register(&TALKERS, doors.collect());
    let mut run = Run {
        seed,
        draw: &mut draw,
        members: &mut members,
        talkers: &talkers,
        judge: &judge,
        tally: Tally::default(),
    };
    // The judge speaks in any case: its rules say more than what failed elsewhere.
    let played = catch_unwind(AssertUnwindSafe(|| run.play(plan)));
    let table = run.tally.table();
    let judged = judge.finish(&talkers, &members.stranded(), played.as_ref().ok());
    let judged = judged.unwrap_or_else(|broken| panic!("{JUDGED}\n{broken}"));
    let seen = played.unwrap_or_else(|why| resume_unwind(why));
    seen.shown.iter().for_each(|shown| talkers.check(shown));
    println!("seed {seed}: {judged}\n{table}");
}
