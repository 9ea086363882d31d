//! The properties that the auditor judges, each with the comparisons that check it and the differences
//! that break its rule. A difference belongs to the first property, in the order of [`RULES`], whose
//! rule it breaks.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a rule names the differences that break it; all others do not"
)]

use chat_types::config::Matching;
use sim_model::history::DeliveryPath;
use sim_model::listing::{Kept, Listed};
use sim_model::protocol::{Code, Decided, OpKind, Refusal, Reply};
use sim_model::server::{Call, Entry, Implied};

use crate::comparison::{Comparison, ComparisonCounts};
use crate::difference::{
    BatchItem, Decision, Difference, Due, EventPosition, Unsolicited, is_alike,
};
use crate::findings::{Findings, Property};
use crate::model::{Body, Deadline, Model};

/// The rule of one property.
struct Rule {
    property: Property,
    /// The comparisons that count as its checks.
    counts: &'static [Comparison],
    /// A difference breaks it if one of the two outcomes is a refusal with one of these codes,
    codes: &'static [Code],
    /// if it is about a call of one of these kinds,
    calls: &'static [OpKind],
    /// if one of the two events is of one of these kinds,
    events: &'static [Comparison],
    /// or if this says so.
    breaks: fn(&Difference, &Model) -> bool,
}

impl Rule {
    /// A rule that nothing checks and nothing breaks.
    const fn of(property: Property) -> Self {
        Self {
            property,
            counts: &[],
            codes: &[],
            calls: &[],
            events: &[],
            breaks: |_, _| false,
        }
    }

    const fn counts(self, counts: &'static [Comparison]) -> Self {
        Self { counts, ..self }
    }

    const fn codes(self, codes: &'static [Code]) -> Self {
        Self { codes, ..self }
    }

    const fn calls(self, calls: &'static [OpKind]) -> Self {
        Self { calls, ..self }
    }

    const fn events(self, events: &'static [Comparison]) -> Self {
        Self { events, ..self }
    }

    const fn breaks(self, breaks: fn(&Difference, &Model) -> bool) -> Self {
        Self { breaks, ..self }
    }

    fn is_broken(&self, difference: &Difference, model: &Model) -> bool {
        let of_kind = |body: &Body| self.events.contains(&Comparison::of_event(body));
        refuses(difference, self.codes)
            || kind(difference).is_some_and(|kind| self.calls.contains(&kind))
            || events(difference).into_iter().flatten().any(of_kind)
            || (self.breaks)(difference, model)
    }
}

/// Rules in the order in which they are tried: more specific rules first.
const RULES: [Rule; 25] = [
    // The stored blocks, reports, bans and mutes, the lists of them, and all lists after an
    // operator's act, but for what an archive takes.
    Rule::of(Property::Moderation)
        .counts(&[Comparison::Listed])
        .breaks(|difference, _| kept(difference) == [None, None] && tells_of_measures(difference)),
    // With several servers, what a server appends to their log is in it in time, and a batch that
    // is due precedes every other record.
    Rule::of(Property::LogProgress)
        .counts(&[Comparison::LogRecord])
        .breaks(|difference, _| matches!(difference, Difference::Overtaken { .. })),
    // No collection exceeds its limit or has another size than the protocol prescribes, and a gap
    // or a refusal reports every overflow.
    Rule::of(Property::Bounded)
        .counts(&[Comparison::Size, Comparison::Gap, Comparison::Page])
        .codes(&[
            Code::QueueFull,
            Code::RoomFull,
            Code::ServerFull,
            Code::AddressFull,
            Code::DraftFull,
            Code::MessageTooLong,
        ])
        .breaks(|difference, _| {
            let cut = |answer: &Reply| match answer {
                Reply::Draft { cut, .. } => Some(*cut),
                _ => None,
            };
            matches!(
                difference,
                Difference::Size { .. } | Difference::Kept { .. } | Difference::Gap { .. }
            ) || decided_otherwise(difference, cut)
        }),
    // An answer leaves after its entry is committed, and committed entries survive a crash. A
    // damaged journal costs the start, and no committed entry. An accepted loss costs only what the
    // damage took.
    Rule::of(Property::Durability)
        .counts(&[
            Comparison::Recovered,
            Comparison::Damaged,
            Comparison::Journaled,
        ])
        .breaks(|difference, _| match difference {
            Difference::Answer {
                owed: Err(owed),
                said: Ok(_),
                ..
            } => owed.is(Code::StorageUnavailable),
            Difference::Uncommitted { said: Ok(_), .. }
            | Difference::Position { .. }
            | Difference::Redecided { .. }
            | Difference::Damaged { .. }
            | Difference::AcceptedLoss { .. }
            | Difference::GivenAgain(_)
            | Difference::Unjournaled { .. } => true,
            _ => false,
        }),
    // A repeated request key has one effect and one answer, and a refusal tells what is known of
    // earlier attempts.
    Rule::of(Property::IdempotentRequests)
        .counts(&[Comparison::Repeat])
        .codes(&[Code::RequestKeyReused])
        .breaks(|difference, _| match difference {
            Difference::Decision(decision) => decision.repeated,
            // A decided call is refused as retryable.
            Difference::Answer {
                owed: Ok(_),
                said: Err(said),
                call,
            } => said.is_retryable() && matches!(*call.ask, Call::Command { .. }),
            // The same refusal, except for what it tells about earlier attempts.
            Difference::Answer {
                owed: Err(owed),
                said: Err(said),
                ..
            } => owed.code == said.code && owed.earlier != said.earlier,
            _ => false,
        }),
    // Calls are refused before the journal as the protocol prescribes: for rate limits, overload, a
    // journal that cannot be written, a server that stops, and texts that are far too long. No
    // other call is refused there, and the refusal has the time until a retry.
    Rule::of(Property::Admission)
        .counts(&[Comparison::Admitted])
        .breaks(|difference, _| {
            let mut refusals = refusals(difference).into_iter().flatten();
            matches!(difference, Difference::Taken { .. }) || refusals.any(Refusal::is_retryable)
        }),
    // A participant goes away, comes back and is forgotten at its deadline, neither before nor
    // after, and streams count from their opening to their end.
    Rule::of(Property::Presence)
        .counts(&[
            Comparison::There,
            Comparison::Presence,
            Comparison::PresenceDeadline,
        ])
        .codes(&[Code::UnknownHandle])
        .events(&[Comparison::There])
        .breaks(|difference, _| match difference {
            Difference::Late { due, .. } => matches!(
                due,
                Due::Deadline(Deadline::Presence(_))
                    | Due::StreamEnd(_)
                    | Due::Entry(BatchItem::Own(Entry::Implied {
                        implied: Implied::CloseStream | Implied::Seen { .. },
                        ..
                    }))
            ),
            Difference::Unsolicited(unasked) => matches!(unasked, Unsolicited::End(_)),
            Difference::Decision(Decision { entry, .. }) => {
                let implied = entry.implied();
                implied.is_some_and(|(_, implied)| !matches!(implied, Implied::Read { .. }))
            }
            _ => matches!(
                batched(difference),
                Some(Implied::CloseStream | Implied::Seen { .. })
            ),
        }),
    // Decisions that do not depend on a room, the queue or a stick: names and other arguments.
    Rule::of(Property::Outcomes)
        .codes(&[
            Code::InvalidArguments,
            Code::InvalidCursor,
            Code::NameTaken,
            Code::NameNotAllowed,
            Code::UserIdTaken,
            Code::UserNotFound,
            Code::HandleRequired,
        ])
        .breaks(|difference, _| {
            // The same match, with a partner who is shown differently.
            let pair = |outcome: &Decided| match outcome {
                Ok(Reply::Matched { room, partner, .. }) => Some((*room, partner.id)),
                Ok(_) | Err(_) => None,
            };
            decision(difference)
                .is_some_and(|of| pair(&of.owed).is_some() && pair(&of.owed) == pair(&of.said))
        }),
    // Blocks, reports, mutes, kicks, closings and bans have the prescribed effects, and members
    // receive their events.
    Rule::of(Property::Moderation)
        .counts(&[Comparison::Moderation, Comparison::Moderated])
        .codes(&[Code::Muted, Code::Blocked])
        .calls(&[OpKind::Block, OpKind::Unblock, OpKind::Report])
        .events(&[Comparison::Moderated])
        .breaks(|difference, _| {
            decision(difference).is_some_and(|of| matches!(of.entry, Entry::Operate { .. }))
        }),
    // The room of a call, and whether it has ended.
    Rule::of(Property::RoomLifecycle).codes(&[
        Code::ChatEnded,
        Code::RoomNotFound,
        Code::RoomAmbiguous,
    ]),
    // Stress rises by one a minute and falls with a break; the boss notices and calms down; a break
    // under a fully alert boss is answered 20 s later, every other at once.
    Rule::of(Property::BreaksRules)
        .counts(&[Comparison::Break, Comparison::Mood])
        .calls(&[OpKind::Break, OpKind::Mood])
        .breaks(|difference, _| match difference {
            Difference::Late {
                due: Due::Answer(call),
                ..
            } => call.kind() == Some(OpKind::Break),
            _ => false,
        }),
    // A stream carries every event behind the cursor it opened with, in order, and each notice of
    // its participant's rooms at once.
    Rule::of(Property::StreamContinuity)
        .counts(&[Comparison::Push, Comparison::Noticed])
        .breaks(|difference, _| match difference {
            Difference::Reach { path, .. } => *path == DeliveryPath::Stream,
            Difference::Notice { .. } => true,
            Difference::Late { due, .. } => matches!(due, Due::Notice(_)),
            _ => false,
        }),
    // A message is in an inbox once, however often it was sent or delivered.
    Rule::of(Property::NoDuplicates)
        .counts(&[Comparison::Message])
        .breaks(|difference, _| match difference {
            // The inbox already has the message, and the expected one comes later.
            Difference::Event(place) => {
                let mut both = events(difference).into_iter().flatten();
                let concerns_a_message = both.any(|what| what.message().is_some());
                place.repeated && !place.skipped && concerns_a_message
            }
            // A check without a cursor that begins before the end of the last answer.
            Difference::Reach {
                path: DeliveryPath::Check,
                owed,
                seen,
                ..
            } => seen.0 < owed.0,
            _ => false,
        }),
    // An accepted message is in the inbox of each member to whom it is owed; a check without a
    // cursor continues after the last answer; only a cursor acknowledges.
    Rule::of(Property::NoLostMessages)
        .counts(&[Comparison::Message, Comparison::Page])
        .breaks(|difference, _| match difference {
            Difference::Event(place) => {
                let [owed, _] = events(difference);
                matches!(owed, Some(Body::Message { .. }))
                    && (place.skipped || place.seen.is_none())
            }
            // An archive would take the message from the state.
            Difference::Listed { .. } => match kept(difference) {
                [Some(Kept::Message(owed)), seen] => {
                    !matches!(seen, Some(Kept::Message(seen)) if seen.room_seq == owed.room_seq)
                }
                _ => false,
            },
            Difference::Reach { path, .. } => *path == DeliveryPath::Check,
            // A draft of the caller is gone.
            Difference::Decision(Decision {
                owed: Ok(Reply::Sent { .. }),
                ..
            }) => refuses(difference, &[Code::DraftEmpty]),
            _ => matches!(batched(difference), Some(Implied::Read { .. })),
        }),
    // At most one member holds the stick; speech in a stick room carries the epoch of the holder's
    // grant, and a stale one is refused; epochs count up by one; a push releases the stick; a lease
    // ends when it must, neither before nor after.
    Rule::of(Property::StickExclusion)
        .counts(&[
            Comparison::Granted,
            Comparison::StickEnded,
            Comparison::Speech,
        ])
        .codes(&[Code::StickRequired])
        .events(&[Comparison::StickEnded])
        .breaks(|difference, _| {
            holds_wrongly(difference) || grants_differ(difference) || epochs_differ(difference)
        }),
    // Claims are granted in their order. Two different grants are to different members.
    Rule::of(Property::StickOrder)
        .counts(&[Comparison::Claim, Comparison::Claimed])
        .calls(&[OpKind::TalkingStick, OpKind::Speak, OpKind::Reset])
        .events(&[Comparison::Claimed])
        .breaks(|difference, _| events(difference).into_iter().all(grants)),
    // Under `fifo` the possible participant that has waited longest is matched first, and the answer
    // has its true place.
    Rule::of(Property::FifoMatching)
        .counts(&[Comparison::Queue, Comparison::Found])
        .breaks(|difference, model| {
            let place = |answer: &Reply| match answer {
                Reply::Waiting { position, .. } => Some(*position),
                _ => None,
            };
            model.config.matching == Matching::Fifo
                && (partners_differ(difference) || decided_otherwise(difference, place))
        }),
    // A match joins two who wait, neither with itself, nor with one it blocks, nor twice at once,
    // nor after it left the line, nor without a shared interest on which one insists.
    Rule::of(Property::SingleMatch)
        .counts(&[Comparison::Queue, Comparison::Found])
        .codes(&[Code::AlreadyWaiting])
        .breaks(|difference, _| match difference {
            Difference::Event(_) => match events(difference) {
                [owed, Some(seen @ Body::Found(_))] => !owed.is_some_and(|it| is_alike(it, seen)),
                _ => false,
            },
            Difference::Decision(Decision { owed, said, .. }) => match (owed, said) {
                (_, Ok(Reply::Matched { .. }))
                | (Ok(Reply::LeftQueue { .. }), Ok(Reply::LeftQueue { .. })) => true,
                (Ok(Reply::Matched { .. }), _) => false,
                _ => refuses(difference, &[Code::AlreadyChatting]),
            },
            _ => false,
        }),
    // An inbox holds no message that was never sent, was refused, was sent to a room of which the
    // reader is no member, has another sender's name, or is from a blocked participant.
    Rule::of(Property::NoPhantoms)
        .counts(&[Comparison::Message, Comparison::Speech])
        .codes(&[Code::MessageEmpty, Code::DraftEmpty])
        .calls(&[OpKind::Append, OpKind::Undo])
        .breaks(|difference, _| {
            // An archive may also take a message that no room keeps, or another one in its place.
            let [owed, seen] = events(difference).map(|what| what.and_then(Body::message));
            let [kept_owed, kept_seen] = kept(difference).map(|kept| match kept? {
                Kept::Message(event) => Some(&event.body),
                Kept::Room { .. } | Kept::Member { .. } => None,
            });
            let speaks = matches!(
                kind(difference),
                Some(OpKind::Send | OpKind::Speak | OpKind::Push)
            );
            seen.is_some() && seen != owed
                || kept_seen.is_some() && kept_seen != kept_owed
                || speaks && refuses(difference, &[Code::NotInRoom])
        }),
    // All members see one order of a room's events, without gaps, and its instants never go back.
    Rule::of(Property::RoomOrder)
        .counts(&[Comparison::Message, Comparison::Member, Comparison::Speech])
        .events(&[Comparison::Message])
        .breaks(|difference, _| {
            let place = |answer: &Reply| match answer {
                Reply::Sent {
                    room, room_seq, at, ..
                } => Some((*room, *room_seq, *at)),
                _ => None,
            };
            numbers_differ(difference) || decided_otherwise(difference, place)
        }),
    // Rooms open, fill and end as the protocol prescribes: one ending per pair room and member, with
    // the right reason, and nothing after it; a join and a leave for each membership.
    Rule::of(Property::RoomLifecycle)
        .counts(&[
            Comparison::Ended,
            Comparison::Member,
            Comparison::Login,
            Comparison::Leave,
        ])
        .codes(&[Code::NoStick])
        .calls(&[OpKind::Login, OpKind::LeaveChat])
        .events(&[Comparison::Ended, Comparison::Member])
        .breaks(|difference, _| {
            let left = |answer: &Reply| match answer {
                Reply::Sent { turns_left, .. } => Some(*turns_left),
                _ => None,
            };
            kept(difference) != [None, None] || decided_otherwise(difference, left)
        }),
    // Two participants that can be matched are matched the next time the protocol examines the
    // queue, and a patience ends in time.
    Rule::of(Property::QueueProgress)
        .counts(&[Comparison::Queue, Comparison::Patience])
        .calls(&[OpKind::EnterQueue, OpKind::LeaveQueue])
        .breaks(|difference, _| match difference {
            Difference::Late { due, .. } => matches!(due, Due::Deadline(Deadline::Patience(_))),
            _ => matches!(events(difference), [Some(Body::Found(_)), _]),
        }),
    // A lease ends in time, and the next claimant then has its turn.
    Rule::of(Property::StickProgress)
        .counts(&[Comparison::Lease, Comparison::Granted])
        .breaks(|difference, _| match difference {
            Difference::Late { due, .. } => matches!(due, Due::Deadline(Deadline::Lease(_))),
            _ => events(difference).map(grants) == [true, false],
        }),
    // Every call is answered, a waiting check as soon as its inbox grows or its wait is over, an
    // open stream carries new events at once, and the entries implied by reads are committed in
    // time.
    Rule::of(Property::DeliveryProgress)
        .counts(&[Comparison::InTime, Comparison::Answer])
        .breaks(|difference, _| {
            matches!(
                difference,
                Difference::Late { .. }
                    | Difference::Early { .. }
                    | Difference::Unsolicited(_)
                    | Difference::Batch { .. }
            )
        }),
    // Each call has the prescribed answer or refusal, unless another property has the rule.
    Rule::of(Property::Outcomes)
        .counts(&[
            Comparison::Refusal,
            Comparison::Answer,
            Comparison::Login,
            Comparison::Typing,
            Comparison::Leave,
        ])
        .breaks(|_, _| true),
];

/// The property whose rule the difference breaks.
pub(crate) fn owner(difference: &Difference, model: &Model) -> Property {
    let mut rules = RULES.iter();
    let broken = rules.find(|rule| rule.is_broken(difference, model));
    broken.map_or(Property::Outcomes, |rule| rule.property)
}

/// Adds the comparisons to the checks of their properties.
pub(crate) fn count(tally: &ComparisonCounts, findings: &mut Findings) {
    for rule in &RULES {
        findings.exercise(rule.property, tally.of(rule.counts));
    }
}

/// The expected and the observed event of a difference between events.
fn events(difference: &Difference) -> [Option<&Body>; 2] {
    let Difference::Event(EventPosition { owed, seen, .. }) = difference else {
        return [None, None];
    };
    [owed.as_deref(), seen.as_ref()].map(|event| event.map(|event| &event.body))
}

/// Whether the event grants the stick.
const fn grants(what: Option<&Body>) -> bool {
    matches!(what, Some(Body::StickGranted { .. }))
}

/// The expected and the observed part of a room as an archive takes it.
fn kept(difference: &Difference) -> [Option<&Kept>; 2] {
    let Difference::Listed { owed, seen, .. } = difference else {
        return [None, None];
    };
    [owed, seen].map(|listed| match listed {
        Some(Listed::Kept(kept)) => Some(kept),
        _ => None,
    })
}

/// Whether stored measures differ, or anything that is listed after an operator's act.
fn tells_of_measures(difference: &Difference) -> bool {
    let is_of_measures =
        |listed: &Listed| matches!(listed, Listed::Measure(..) | Listed::Report(_));
    match difference {
        Difference::Listed {
            owed,
            seen,
            after_act,
        } => *after_act || owed.iter().chain(seen).any(is_of_measures),
        Difference::Kept { what, .. } => {
            matches!(*what, "blocks" | "bans" | "reports" | "reports_per_address")
        }
        _ => false,
    }
}

/// The entry with a different decision.
const fn decision(difference: &Difference) -> Option<&Decision> {
    match difference {
        Difference::Decision(decision) => Some(decision),
        _ => None,
    }
}

/// Whether two answers to one entry both have this part, with different values.
fn decided_otherwise<T: PartialEq>(
    difference: &Difference,
    part: impl Fn(&Reply) -> Option<T>,
) -> bool {
    decision(difference).is_some_and(|Decision { owed, said, .. }| {
        let [owed, said] = [owed, said].map(|decided| part(decided.as_ref().ok()?));
        owed.zip(said).is_some_and(|(owed, said)| owed != said)
    })
}

/// What the server's own entry of a batch that differs implies: the expected one's, or else the
/// unexpected one's.
fn batched(difference: &Difference) -> Option<Implied> {
    let Difference::Batch { owed, seen } = difference else {
        return None;
    };
    match owed.as_ref().or(seen.as_ref())? {
        BatchItem::Own(entry) => entry.implied().map(|(_, implied)| implied),
        BatchItem::Call(_) => None,
    }
}

/// The kind of the affected call.
fn kind(difference: &Difference) -> Option<OpKind> {
    match difference {
        Difference::Decision(Decision {
            entry: Entry::Call { command, .. },
            ..
        }) => Some(OpKind::of(command)),
        Difference::Answer { call, .. }
        | Difference::Uncommitted { call, .. }
        | Difference::Early { call, .. } => call.kind(),
        _ => None,
    }
}

/// Those of the two differing outcomes that are refusals.
fn refusals(difference: &Difference) -> [Option<&Refusal>; 2] {
    match difference {
        Difference::Decision(Decision { owed, said, .. }) => {
            [owed, said].map(|it| it.as_ref().err())
        }
        Difference::Answer { owed, said, .. } => [owed, said].map(|it| it.as_ref().err()),
        Difference::Uncommitted { said, .. }
        | Difference::Early { said, .. }
        | Difference::Unsolicited(Unsolicited::Answer(said)) => [None, said.as_ref().err()],
        Difference::Taken { owed, .. } => [Some(owed), None],
        _ => [None; 2],
    }
}

/// Whether one of the two differing outcomes is a refusal with one of these codes.
fn refuses(difference: &Difference, codes: &[Code]) -> bool {
    let is = |refusal: &Refusal| codes.iter().any(|code| refusal.is(*code));
    refusals(difference).into_iter().flatten().any(is)
}

/// Whether both outcomes are a match, with different partners.
fn partners_differ(difference: &Difference) -> bool {
    let partner = |answer: &Reply| match answer {
        Reply::Matched { partner, .. } => Some(partner.id),
        _ => None,
    };
    decided_otherwise(difference, partner)
        || matches!(
            events(difference),
            [Some(owed @ Body::Found(_)), Some(seen @ Body::Found(_))] if !is_alike(owed, seen)
        )
}

/// Whether only one of the two decisions grants the stick, or both with different epochs or leases.
fn holds_wrongly(difference: &Difference) -> bool {
    let grant = |outcome: &Decided| match outcome {
        Ok(Reply::Stick {
            place,
            epoch,
            lease_until,
            ..
        }) => Some((*place == 0, *epoch, *lease_until)),
        _ => None,
    };
    decision(difference).is_some_and(|decision| grant(&decision.owed) != grant(&decision.said))
}

/// Whether an unexpected grant was observed: with another epoch or lease, or at another time. The
/// right grant to another member is a violation of the order.
fn grants_differ(difference: &Difference) -> bool {
    let grant = |what: Option<&Body>| match what {
        Some(Body::StickGranted { epoch, lease, .. }) => Some((*epoch, *lease)),
        _ => None,
    };
    let [owed, seen] = events(difference).map(grant);
    seen.is_some() && owed != seen
}

/// Whether a message has another epoch.
fn epochs_differ(difference: &Difference) -> bool {
    match events(difference) {
        [
            Some(Body::Message { epoch: owed, .. }),
            Some(Body::Message { epoch: seen, .. }),
        ] => owed != seen,
        _ => false,
    }
}

/// Whether an event was received with another number, or another instant; or an archive takes the
/// same room with another last event, or the same message with another instant.
fn numbers_differ(difference: &Difference) -> bool {
    if let Difference::Event(EventPosition {
        owed: Some(owed),
        seen: Some(seen),
        ..
    }) = difference
    {
        return is_alike(&owed.body, &seen.body)
            && (owed.room, owed.room_seq, owed.at) != (seen.room, seen.room_seq, seen.at);
    }
    match kept(difference) {
        [
            Some(Kept::Room { room, last, .. }),
            Some(Kept::Room {
                room: of,
                last: seen,
                ..
            }),
        ] => room == of && last != seen,
        [Some(Kept::Message(owed)), Some(Kept::Message(seen))] => {
            (owed.room, owed.room_seq) == (seen.room, seen.room_seq) && owed.at != seen.at
        }
        _ => false,
    }
}
