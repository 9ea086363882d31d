//! Replays of journals that a core in memory wrote.

use chat_core::{
    Address, Addressees, Caller, Command, EnterQueue, Entry, Implied, Operate, RequestKey, RoomId,
    SecretHash, UserId, VERSION,
};
use chat_journal::{BundleWriter, Chain, Identity, Mark, Snapshot};
use chat_types::{Continuity, Span};
use sim_model::history::{Observer, RunEvent};
use sim_model::outcome::Progress;
use sim_model::protocol::Refusal;

use super::*;
use crate::seed::run_seed;

/// A journal in memory.
struct Journal {
    hub: Hub,
    chain: Chain,
    at: Time,
    records: Vec<(chat_core::Position, Vec<u8>)>,
    checkpoints: Vec<Checkpoint>,
    snapshot: Option<(chat_core::Position, Vec<u8>)>,
}

fn identity() -> Identity {
    Identity {
        realm: 0xabc,
        seed: 5,
        secret: [9; 32],
    }
}

impl Journal {
    fn new() -> Self {
        let config = Config::default();
        let mut journal = Self {
            hub: Hub::new(config.clone(), identity().seed),
            chain: Chain::new(&identity().origin()),
            at: Time(1_764_000_000_000_000),
            records: Vec::new(),
            checkpoints: Vec::new(),
            snapshot: None,
        };
        journal.entry(
            Span::ZERO,
            Entry::Started {
                config: Box::new(config),
                version: VERSION.into(),
                seed: identity().seed,
            },
        );
        journal
    }

    /// Appends an entry, this long after the one before.
    fn entry(&mut self, later: Span, entry: Entry) {
        self.at += later;
        // Refusals are entries, too.
        let _ = self.hub.handle(self.at, &entry);
        while self.hub.poll_effect().is_some() {}
        let sealed = self.chain.seal(self.at, &[entry]);
        self.records.push((sealed.first, sealed.bytes));
        self.chain = sealed.after;
    }

    fn call(&mut self, caller: Caller, command: Command) {
        self.keyed(caller, None, command);
    }

    /// The participant opens its stream.
    fn listens(&mut self, user: u64) {
        let (user, implied) = (UserId(user), Implied::OpenStream);
        self.entry(Span::millis(5), Entry::Implied { user, implied });
    }

    fn keyed(&mut self, caller: Caller, key: Option<u128>, command: Command) {
        let key = key.map(RequestKey);
        let entry = Entry::Call {
            caller,
            key,
            command,
        };
        self.entry(Span::secs(1), entry);
    }

    fn checkpoint(&mut self) {
        self.checkpoints.push(Checkpoint {
            position: self.hub.position(),
            digest: self.hub.digest(),
        });
    }

    /// Forgets all records, but for a snapshot.
    fn forget(&mut self) {
        let file = Snapshot::write(&identity().origin(), &self.chain, &self.hub);
        self.snapshot = Some((self.hub.position(), file));
        self.records.clear();
    }

    fn bundle(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = BundleWriter::begin(&identity().origin(), &mut out);
        writer.marks(&Mark::at(&self.chain).file(), &mut out);
        if let Some((position, file)) = &self.snapshot {
            writer.snapshot(*position, file, &mut out);
        }
        for checkpoint in &self.checkpoints {
            writer.checkpoint(*checkpoint, &mut out);
        }
        for (first, record) in &self.records {
            writer.record(*first, record, &mut out);
        }
        writer.end(&mut out);
        out
    }
}

fn hash(number: u8) -> SecretHash {
    SecretHash([number; 16])
}

fn new(number: u8) -> Caller {
    Caller::New {
        handle: hash(number),
        reader: hash(100 + number),
        from: Address(u64::from(number)),
    }
}

fn known(number: u8) -> Caller {
    Caller::Handle(hash(number))
}

fn login(name: &str) -> Command {
    Command::Login {
        username: name.into(),
        room: "lobby".into(),
    }
}

fn say(text: &str) -> Command {
    Command::SendMessage {
        room: None,
        text: text.into(),
        epoch: None,
        to: Addressees::ALL,
    }
}

fn enter() -> Command {
    Command::EnterQueue(EnterQueue {
        user_id: None,
        display_name: None,
        interests: std::sync::Arc::default(),
    })
}

fn claim() -> Command {
    Command::TalkingStick {
        room: None,
        epoch: None,
    }
}

/// Two talk with the stick, two are paired, the server restarts, an operator mutes, and the machine sleeps.
fn conversation() -> Journal {
    let mut journal = Journal::new();
    journal.call(new(1), login("ann"));
    journal.call(new(2), login("ben"));
    journal.listens(1);
    journal.listens(2);
    journal.call(known(1), claim());
    journal.call(known(2), claim());
    journal.call(known(2), say("too early"));
    let text = "the first words".into();
    let (room, epoch) = (None, None);
    journal.call(known(1), Command::Append { room, text, epoch });
    let to = Addressees::ALL;
    let push = Command::Push { room, epoch, to };
    journal.keyed(known(1), Some(7), push.clone());
    journal.keyed(known(1), Some(7), push);
    journal.call(new(3), enter());
    journal.call(new(4), enter());
    // Nobody is paired before the first use of its handle.
    journal.listens(3);
    journal.listens(4);
    journal.call(known(3), say("hello"));
    journal.checkpoint();
    let config = Box::new(Config::default());
    let resumed = Entry::Resumed {
        config,
        version: VERSION.into(),
        continuity: Continuity::Whole,
    };
    journal.entry(Span::secs(30), resumed);
    let act = Operate::Mute {
        user: UserId(4),
        reason: "spam".into(),
    };
    let operator = "root".into();
    journal.entry(Span::secs(2), Entry::Operate { operator, act });
    journal.call(known(4), say("am I heard?"));
    journal.entry(Span::secs(3_600), Entry::Stepped);
    journal.call(known(2), Command::Reset { room, epoch });
    journal
}

fn replayed(journal: &Journal, options: &ReplayOptions) -> (Replayed, Vec<String>) {
    let file = journal.bundle();
    let mut bundle = Bundle::read(&file).unwrap();
    let mut lines = Vec::new();
    let mut show = |line: &str| lines.push(line.to_owned());
    let found = replay(&mut bundle, options, &mut show).unwrap();
    (found, lines)
}

#[test]
fn a_whole_journal_is_judged_and_counted() {
    let journal = conversation();
    let (found, lines) = replayed(&journal, &ReplayOptions::default());
    assert_eq!(found.violation, None);
    assert_eq!((found.exit_code, found.broken), (0, None));
    assert_eq!((found.first, found.last), (1, journal.hub.position().0));
    assert_eq!((found.digests, found.other_digests.len()), (1, 0));
    assert_eq!((found.participants, found.rooms), (4, 2));
    assert_eq!(found.entries["send_message"], 3);
    assert_eq!(found.refused["stick_required"], 1);
    assert_eq!(found.refused["muted"], 1);
    assert_eq!(found.restarts.len(), 1);
    assert_eq!(found.restarts[0].down_us, 30_000_000);
    assert!(found.properties["idempotent_requests"].checks > 0);
    assert!(found.properties["stick_exclusion"].checks > 0);
    assert!(lines.is_empty());
}

#[test]
fn a_decision_that_the_protocol_forbids_is_a_violation() {
    let journal = conversation();
    let file = journal.bundle();
    let mut bundle = Bundle::read(&file).unwrap();
    let mut show = |_: &str| {};
    let mut replay = Replay::new(&bundle, &ReplayOptions::default(), &mut show);
    // The server accepts what needs the stick, as a bug in the core would.
    let mut look = |hub: &Hub, at: Time, entry: &Entry, outcome: &Result<Reply, Reject>| {
        let outcome = match outcome {
            Err(Reject::StickRequired) => &Ok(Reply::Sent {
                room: RoomId(1),
                room_seq: chat_core::RoomSeq(9),
                at,
                turns_left: None,
            }),
            outcome => outcome,
        };
        replay.entry(hub, at, entry, outcome);
    };
    walk(&mut bundle, &mut look).unwrap();
    let found = replay.finish();
    let violation = found.violation.expect("a forbidden send");
    assert_eq!(found.exit_code, 1);
    assert_eq!(violation.violation.property, "stick_exclusion");
    assert_eq!(violation.position, 8);
}

#[test]
fn a_state_that_differs_from_the_server_s_is_reported() {
    let mut journal = conversation();
    journal.checkpoints[0].digest ^= 1;
    let position = journal.checkpoints[0].position.0;
    let (found, _) = replayed(&journal, &ReplayOptions::default());
    assert_eq!((found.other_digests, found.exit_code), (vec![position], 1));
}

#[test]
fn a_journal_without_its_beginning_is_checked_but_not_judged() {
    let mut journal = conversation();
    journal.forget();
    journal.call(known(1), say("after that"));
    let (found, _) = replayed(&journal, &ReplayOptions::default());
    assert!(
        found
            .unjudged
            .is_some_and(|why| why.contains("position 22"))
    );
    assert!(found.properties.is_empty() && found.validated > 0);
    assert_eq!(found.exit_code, 4);
}

#[test]
fn a_journal_is_reported_if_its_first_record_is_there_or_none_is_yet() {
    let reported = |file: &[u8]| {
        let mut decisions = Decisions::default();
        let entries = observe(&mut Bundle::read(file).unwrap(), &mut decisions);
        (entries.unwrap(), decisions.0.len())
    };
    let mut empty = Vec::new();
    let writer = BundleWriter::begin(&identity().origin(), &mut empty);
    writer.end(&mut empty);
    assert_eq!(reported(&empty), (Some(0), 0));
    let mut journal = conversation();
    assert_eq!(reported(&journal.bundle()), (Some(21), 13));
    journal.forget();
    journal.call(known(1), say("after that"));
    assert_eq!(reported(&journal.bundle()), (None, 0));
}

/// The replay of a journal up to this position, and what it shows of this participant.
fn followed(journal: &Journal, until: Option<u64>, whom: &str) -> (Replayed, Vec<String>) {
    let follow = Some(whom.parse().unwrap());
    replayed(journal, &ReplayOptions { until, follow })
}

#[test]
fn the_last_call_of_a_followed_participant_unregisters_it() {
    let mut journal = conversation();
    journal.call(known(2), Command::Unregister);
    let (_, lines) = followed(&journal, None, "ben");
    let last = lines.last().unwrap();
    assert!(last.contains("user_2  unregister → "), "{last}");
}

#[test]
fn a_participant_that_is_not_in_the_journal_leaves_the_names_of_others() {
    let follow = |whom: &str| followed(&conversation(), None, whom);
    let (found, lines) = follow("benn");
    assert!(found.other_names.unwrap().contains(&"ben".to_owned()) && lines.is_empty());
    assert!(follow("user_99").0.other_names.is_some());
    assert_eq!(follow("ben").0.other_names, None);
}

#[test]
fn a_replay_stops_at_its_last_position_and_follows_one_participant() {
    let journal = conversation();
    let (found, lines) = followed(&journal, Some(8), "ben");
    assert_eq!((found.last, found.validated > 0), (8, true));
    let text = lines.join("\n");
    assert!(
        text.contains("send \"too early\" → refused: stick_required"),
        "{text}"
    );
    assert!(text.contains("· stick granted to user_1"), "{text}");
    assert!(!text.contains("append"), "{text}");
    assert_eq!(followed(&journal, Some(8), "user_2").1, lines);
}

#[test]
fn a_damaged_journal_is_refused_by_its_position() {
    let mut journal = conversation();
    journal.records.remove(5);
    let file = journal.bundle();
    let mut bundle = Bundle::read(&file).unwrap();
    let error = replay(&mut bundle, &ReplayOptions::default(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("positions 6 to 6"), "{error}");
}

/// The calls of a run with their outcomes, in the order of the journal.
#[derive(Default)]
struct Decisions(Vec<(&'static str, Option<&'static str>)>);

impl Decisions {
    fn add(&mut self, entry: &Entry, said: Result<&Reply, Refusal>) {
        if let Entry::Call { command, .. } = entry {
            let code = said.err().map(|refusal| refusal.code);
            self.0.push((command.tool(), code));
        }
    }
}

impl Observer for Decisions {
    fn observe(&mut self, event: RunEvent<'_>) {
        if let RunEvent::Server(_, ServerRecord::Committed { entry, said, .. }) = event {
            self.add(entry, *said);
        }
    }
}

/// The decisions of the journal's last calls, and those of a run of the scenario made of them.
fn twice(journal: &Journal, last: usize) -> [Decisions; 2] {
    let file = journal.bundle();
    let mut bundle = Bundle::read(&file).unwrap();
    let (plan, notes) = to_scenario(&mut bundle, None, last).unwrap();
    let text = sim_scenario::annotated(&plan, &notes);
    assert!(
        !text.contains("first words") && !text.contains("hello"),
        "{text}"
    );
    let plan = sim_scenario::parse("replayed", &text).unwrap();
    let mut again = Decisions::default();
    let outcome = run_seed(&plan, plan.seed, &Progress::default(), Some(&mut again));
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    let mut first = Decisions::default();
    let mut keys = std::collections::BTreeSet::new();
    let mut look = |_: &Hub, _: Time, entry: &Entry, outcome: &Result<Reply, Reject>| {
        // Repeated calls are left out of the scenario.
        let is_repeated = matches!(entry, Entry::Call { key: Some(key), .. } if !keys.insert(*key));
        if !is_repeated {
            first.add(entry, outcome.as_ref().map_err(Refusal::from));
        }
    };
    walk(&mut bundle, &mut look).unwrap();
    [first, again]
}

#[test]
fn a_journal_as_a_scenario_has_the_same_decisions() {
    let [first, again] = twice(&conversation(), 1_000);
    assert_eq!(first.0.len(), 12);
    assert_eq!(first.0, again.0);
}

#[test]
fn the_last_calls_of_a_journal_get_the_same_answers() {
    let [first, again] = twice(&conversation(), 4);
    let last = first.0.len() - 4;
    assert_eq!(first.0[last..], again.0[again.0.len() - 4..]);
}
