//! Faults, and when they occur.

use std::sync::Arc;

use chat_types::{Span, StickMove, TimerKind};
use serde_json::{Value as Json, json};

use super::context::Context;
use super::environment::ConfigChange;
use super::error::Read;
use super::fields::Fields;
use super::form::{ByKeys, Form, form, group};
use super::forms::{
    Count, Distinct, List, Share, SomeTime, Whole, Word, items, names, narrowed, words,
};
use super::node::{Node, Value};
use super::schemas::{Schemas, word_or_key};
use super::script::User;
use super::tables::DrawnTime;
use super::text::Text;
use sim_model::draw::Shape;
use sim_model::outcome::Point;
use sim_model::plan::{
    ClientHarm, Fault, FaultKind, Harm, LEASE_DRIFT, LogHarm, MemberHarm, Milestone, OperatorAct,
    OperatorVerb, Outage, Reached, Repeats, Stored, Victims, Which,
};

words! { Server("what can go down") => () = ["server": ()] }

words! { Replies("what can get lost") => () = ["replies": ()] }

form! {
    /// One fault: `at`, `every` or `at_milestone`, and exactly one kind.
    #[derive(Default)]
    struct FaultKeys("a fault", "{ at: 10s, crash: server, down_for: 1s }", "Fault") {
        /// The time from the start; with `every`, the first time; with `at_milestone`, the time
        /// from which milestones count, 0s by default.
        at: Option<Span>,
        at_milestone: Option<Milestone>,
        /// The fault repeats until the end of the scenario's duration, with this time from one
        /// start to the next, and from the start of the run to the first if there is no `at`. At
        /// random instants: { mean: 20s }. At most 1000 times.
        every: Option<DrawnTime>,
        /// The server crashes.
        crash: Option<Word<Server>>; one_of "kind",
        /// The server shuts down: it accepts no new calls, finishes the accepted ones, and stops.
        stop: Option<Word<Server>>; one_of "kind",
        /// With `crash` and `stop`: how long it stays down.
        down_for: Option<SomeTime>; with("crash", "stop"); needed_with("crash", "stop"),
        /// With `crash`: whether uncommitted journal entries are lost.
        lose_unsynced: bool = false; with("crash"),
        /// No packet passes between these users and the server.
        partition: Option<AffectedUsers>; one_of "kind",
        /// These users read nothing from their streams.
        slow_readers: Option<AffectedUsers>; one_of "kind",
        /// These users' processes stop.
        suspend: Option<AffectedUsers>; one_of "kind",
        slow_disk: Option<SlowDisk>; one_of "kind",
        fail_disk: Option<FailDisk>; one_of "kind",
        damage_disk: Option<DamageDisk>; one_of "kind",
        /// With several `servers`: something happens to one of them.
        member: Option<StruckMember>; one_of "kind",
        /// With several `servers`: something happens to their log.
        log: Option<StrikeLog>; one_of "kind",
        /// The server's clock jumps ahead.
        clock_jump: Option<SomeTime>; one_of "kind",
        /// Changes these keys of `server` from the server's next start on.
        configure: Option<ConfigChange>; one_of "kind",
        /// The next replies of the server are lost; at a milestone that is committed, all replies
        /// of its commit.
        lose: Option<Word<Replies>>; one_of "kind",
        /// An operator acts.
        operator: Option<OperatorAct>; one_of "kind",
        /// Whether a live run, where not every fault is possible, may leave it out.
        optional: bool = false,
    }
}

group! {
    FaultKeys => FaultKind {
        partition: [(victims, duration)] = [FaultKind::Clients { what: ClientHarm::Partition, victims, duration }],
        slow_readers: [(victims, duration)] = [FaultKind::Clients { what: ClientHarm::SlowReaders, victims, duration }],
        suspend: [(victims, duration)] = [FaultKind::Clients { what: ClientHarm::Suspend, victims, duration }],
        slow_disk: [SlowDisk { factor, duration }] = [FaultKind::SlowDisk { factor, duration }],
        fail_disk: [FailDisk { duration, unknown }] = [FaultKind::FailDisk { duration, unknown }],
        damage_disk: [DamageDisk { what, of, restore_after }] = [FaultKind::DamageDisk { what, of, restore_after }],
        member: [StrikeMember { what, which, duration, percent }] = [FaultKind::Member { what, which, duration, percent }],
        log: [StrikeLog { what, duration }] = [FaultKind::Log { what, duration }],
        clock_jump: [by] = [FaultKind::ClockJump { by }],
        configure: [config] = [FaultKind::Configure(config)],
        lose: [()] = [FaultKind::LoseReplies],
        operator: [act] = [FaultKind::Operator(act)],
    }
    FaultKind::Down { .. } => ()
}

impl ByKeys for Fault {
    type Keys = FaultKeys;

    fn from_keys(mut keys: FaultKeys, fields: &Fields<'_>, _: &mut Context) -> Read<Self> {
        if keys.every.is_some() {
            let why = "a fault repeats from a time on; without `every`, it waits for a milestone";
            fields.refuse(&["at_milestone"], why)?;
        } else if keys.at_milestone.is_none() {
            fields.need("at", "10s")?;
        }
        let starts_at_once = keys.at.is_some();
        let how = match (keys.stop, keys.lose_unsynced) {
            (Some(()), _) => Outage::Stop,
            (None, false) => Outage::Crash,
            (None, true) => Outage::CrashUnsynced,
        };
        let down_for = keys.down_for.unwrap_or(Span::ZERO);
        Ok(Self {
            at: keys.at.unwrap_or(Span::ZERO),
            milestone: keys.at_milestone,
            repeats: keys.every.take().map(|every| Repeats {
                every,
                starts_at_once,
            }),
            kind: keys.take().unwrap_or(FaultKind::Down { down_for, how }),
            is_optional: keys.optional,
        })
    }

    fn to_keys(&self) -> FaultKeys {
        let repeats = self.repeats.as_ref();
        let is_drawn = repeats.is_some_and(|repeats| !repeats.starts_at_once);
        let is_left_out = self.milestone.is_some() && self.at == Span::ZERO;
        let at = (!is_left_out && !is_drawn).then_some(self.at);
        let mut keys = FaultKeys {
            at,
            at_milestone: self.milestone,
            every: self.repeats.clone().map(|repeats| repeats.every),
            optional: self.is_optional,
            ..FaultKeys::default()
        };
        if let FaultKind::Down { down_for, how } = self.kind {
            keys.down_for = Some(down_for);
            keys.lose_unsynced = how == Outage::CrashUnsynced;
            keys.stop = (how == Outage::Stop).then_some(());
            keys.crash = (how != Outage::Stop).then_some(());
        } else {
            keys.set(self.kind.clone());
        }
        keys
    }
}

words! { PointOf("a point that a run may reach") => &'static str = all names(Point::NAMES) }

words! { Move("a move of a stick") => &'static str = all names(StickMove::NAMES) }

words! { Timer("a kind of timer") => &'static str = all names(TimerKind::NAMES) }

form! {
    /// The fault starts when the run reaches this.
    #[derive(Default)]
    struct MilestoneKeys("`at_milestone`", "{ sometimes: match }") {
        /// A `sometimes` point.
        sometimes: Option<Word<PointOf>>; one_of "group",
        /// A change of a stick, when it is committed and before any client learns of it.
        stick: Option<Word<Move>>; one_of "group",
        /// A timer that fires, when that is committed and before any client learns of it.
        timer: Option<Word<Timer>>; one_of "group",
        /// The fault starts when the milestone is reached for this time.
        count: Count<1, 1_000_000> = 1,
    }
}

group! {
    MilestoneKeys => Reached {
        sometimes: [name] = [Reached::Sometimes(name)],
        stick: [name] = [Reached::Stick(name)],
        timer: [name] = [Reached::Timer(name)],
    }
}

impl ByKeys for Milestone {
    type Keys = MilestoneKeys;

    fn from_keys(mut keys: MilestoneKeys, _: &Fields<'_>, _: &mut Context) -> Read<Self> {
        Ok(Self {
            reached: keys.take().unwrap_or(Reached::Sometimes("")),
            count: keys.count,
        })
    }

    fn to_keys(&self) -> MilestoneKeys {
        let (count, usual) = (self.count, MilestoneKeys::default());
        let mut keys = MilestoneKeys { count, ..usual };
        keys.set(self.reached);
        keys
    }
}

form! {
    /// The affected users, and for how long.
    #[derive(Default)]
    struct AffectedKeys("a fault of some users", "{ share: 1/4, for: 3s }", "Victims") {
        /// The probability with which the fault affects each present user.
        share: Option<Share>; one_of "victims",
        /// In the steps form: these users.
        users: Option<Distinct<User, 1>>; one_of "victims",
        duration as "for": SomeTime,
    }
}

group! {
    AffectedKeys => Victims {
        share: [share] = [Victims::Share(share)],
        users: [users] = [Victims::Users(users)],
    }
}

/// The users that a fault affects, and for how long.
type AffectedUsers = (Victims, Span);

impl ByKeys for AffectedUsers {
    type Keys = AffectedKeys;

    fn from_keys(mut keys: AffectedKeys, _: &Fields<'_>, _: &mut Context) -> Read<Self> {
        let victims = keys.take().unwrap_or(Victims::Users(Vec::new()));
        Ok((victims, keys.duration))
    }

    fn to_keys(&self) -> AffectedKeys {
        let (victims, duration) = self.clone();
        let usual = AffectedKeys::default();
        let mut keys = AffectedKeys { duration, ..usual };
        keys.set(victims);
        keys
    }
}

form! {
    /// Each commit takes longer.
    struct SlowDisk("`slow_disk`", "{ factor: 20, for: 5s }") {
        /// The factor.
        factor: Count<2, 1_000_000>,
        duration as "for": SomeTime,
    }
}

form! {
    /// Each append to the journal fails.
    struct FailDisk("`fail_disk`", "{ for: 2s }") {
        duration as "for": SomeTime,
        /// Whether the outcome of the appends is known only when the fault ends.
        unknown: bool = false,
    }
}

words! { HarmWord("damage to a file") => Harm }

words! { StoredWord("a stored file") => Stored }

form! {
    /// A stored file is damaged, which the server's next start reads: it must give the same state,
    /// or be refused.
    struct DamageDisk("`damage_disk`", "{ what: flip, of: journal }") {
        /// The damage: one bit changes, the end is missing, or all of it.
        what: Word<HarmWord>,
        /// The file: a record of the journal, a snapshot, or the marks, which say up to where
        /// answers have left.
        of: Word<StoredWord>,
        /// How long after a refused start an operator brings a sound copy of the files.
        restore_after: SomeTime = Span::secs(5),
    }
}

words! { MemberHarmWord("what happens to a server") => MemberHarm }

words! { WhichWord("one of the servers") => Which }

form! {
    /// Something happens to one of several servers.
    struct StrikeMember("`member`", "{ what: pause, for: 5s }") {
        /// It crashes or stops and starts again, is suspended, or is cut off from the log and the
        /// other servers: both ways, in what it sends (mute), or in what it receives (deaf). Its
        /// machine stands still with its clock (freeze), or its clock runs too fast or too slow.
        what: Word<MemberHarmWord>,
        /// The server that owns the chat when the fault strikes, or one of the others.
        which: Word<WhichWord> = Which::Owner,
        duration as "for": SomeTime,
        /// By how many percent its clock is too fast or too slow; more than 10 need `reads: strict`.
        percent: Count<1, 50> = LEASE_DRIFT,
    }
}

narrowed! {
    /// `member`: only a clock that drifts is wrong by some percent.
    StruckMember, StrikeMember, StrikeMember::WHAT, |value, node, _| {
        if value.what.is_drift() || value.percent == LEASE_DRIFT {
            return Ok(());
        }
        node.place.refuse(
            "`percent` is about a clock that runs too fast or too slow",
            "`what: fast`, `what: slow`, or no `percent`",
        )
    }
}

words! { LogHarmWord("what happens to the log") => LogHarm }

form! {
    /// Something happens to the log of several servers.
    struct StrikeLog("`log`", "{ what: no_leader, for: 6s }") {
        /// It has no leader, one of its three replicas is behind, one replica loses one of the next
        /// records or flips a bit of it, or reports of appends and records come a second time,
        /// late (double).
        what: Word<LogHarmWord>,
        /// How long; harm to a record stays.
        duration as "for": SomeTime = Span::secs(5),
    }
}

narrowed! {
    /// `faults`: ordered by time.
    Faults, List<Fault>, Fault::WHAT, |faults, node, context| {
        for (item, fault) in items::<Fault>(node)?.iter().zip(&*faults) {
            let place = item.place;
            let mut at = fault.at + fault.kind.length();
            if let Some(repeats) = &fault.repeats {
                let gap = Span(repeats.every.usual());
                context.repeated.push((place, gap));
                // At random, a fault may be so rare that most runs are without it.
                if let (false, Shape::Fixed(gap)) = (repeats.starts_at_once, repeats.every.shape()) {
                    at = at + Span(gap);
                }
            }
            context.ends.push((place, at));
            context.servers_needed.extend(fault.kind.row().servers.map(|needed| (place, needed)));
        }
        // A stable sort: faults at the same time keep the order of the file.
        faults.sort_by_key(|fault| fault.at);
        Ok(())
    }
}

words! { Act("an operator's act") => OperatorVerb }

form! {
    Lifted("an operator's act", "{ user: a }") => OperatorAct = OperatorAct {
        /// In the steps form: this user. Otherwise the latest one against whom there was such an act.
        user: Option<User>,
    } ..OperatorAct::drawn(OperatorVerb::Mute)
}

form! {
    Whom("an operator's act", "{ user: a }") => OperatorAct = OperatorAct {
        /// In the steps form: this user. Otherwise one of the present users is drawn.
        user: Option<User>,
        /// The operator's reason. Otherwise a usual one.
        reason: Option<Arc<str>>,
    } ..OperatorAct::drawn(OperatorVerb::Mute)
}

form! {
    WhomAndWhere("an operator's act", "{ user: a }") => OperatorAct = OperatorAct {
        /// In the steps form: this user. Otherwise one of the present users is drawn.
        user: Option<User>,
        /// The number of the room, by the order of rooms. Otherwise a room of the user.
        room: Option<Whole<1, 9_007_199_254_740_991>>,
        /// The operator's reason. Otherwise a usual one.
        reason: Option<Arc<str>>,
    } ..OperatorAct::drawn(OperatorVerb::Mute)
}

/// `operator: kick`, or `operator: { kick: { user: a } }`.
impl Form for OperatorAct {
    type Of = Self;
    const WHAT: &'static str = "`operator`";
    const EXAMPLE: &'static str = "mute";

    fn read(node: &Node, context: &mut Context) -> Read<Self> {
        if !matches!(node.value, Value::Map(_)) {
            let verb = Word::<Act>::read(node, context)?;
            return Ok(Self::drawn(verb));
        }
        let acts = OperatorVerb::NAMES;
        let (fields, problems) = Fields::named(node, Self::WHAT, acts.to_vec(), |_| false)?;
        problems.finish(Some(()))?;
        let (word, value) = fields.one_of(acts, "{}")?;
        let verb = OperatorVerb::named(word).unwrap_or(OperatorVerb::Mute);
        if matches!(value.value, Value::Empty) {
            return Ok(Self::drawn(verb));
        }
        let act = match (verb.names_room(), verb.has_reason()) {
            (true, _) => WhomAndWhere::read(value, context),
            (false, true) => Whom::read(value, context),
            (false, false) => Lifted::read(value, context),
        };
        act.map(|act| Self { verb, ..act })
    }

    fn write(act: &Self, context: &Context) -> Option<Text> {
        if *act == Self::drawn(act.verb) {
            return Word::<Act>::write(&act.verb, context);
        }
        // What an act does not take, it has not.
        let taken = WhomAndWhere::write(act, context);
        Some(Text::map([(act.verb.name(), taken)]))
    }

    fn schema(schemas: &mut Schemas) -> Json {
        let acts = OperatorVerb::ALL.iter().map(|verb| {
            let taken = match (verb.names_room(), verb.has_reason()) {
                (true, _) => schemas.of::<WhomAndWhere>(),
                (false, true) => schemas.of::<Whom>(),
                (false, false) => schemas.of::<Lifted>(),
            };
            let taken = json!({ "anyOf": [{ "type": "null" }, taken] });
            (verb.name().to_owned(), taken)
        });
        let acts = acts.collect();
        word_or_key(schemas.of::<Word<Act>>(), acts)
    }
}
