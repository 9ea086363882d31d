//! The judge of live runs with a journal, on virtual runs: first it observes the clients of a run,
//! and then, in a repetition of the run, the entries of the server's journal.
//!
//! It must report nothing in a run in which the auditor, which sees everything, finds nothing. And
//! it must report what a client received otherwise than the server sent it.

use std::collections::BTreeMap;

use chat_types::{Seq, Time};
use sim_judge::{Judge, Judgement};
use sim_model::history::{ClientEvent, DeliveryPath, Observer, Record, RunEvent};
use sim_model::outcome::Progress;
use sim_model::plan::Plan;
use sim_model::protocol::{Answer, Body, Gap, InboxEvent, Outcome, Page, Reply, Response, User};
use sim_model::server::ServerRecord;
use sim_search::seed::run_seed;

use super::witness::{accuses_no_variation, shipped};
use crate::shipped_file;

/// The judge, as the receiver of records.
type Judging<'j> = &'j mut dyn FnMut(&Record<'_>);

/// Changes a record before the judge observes it.
type Change<'c> = &'c mut dyn FnMut(&Record<'_>, Judging<'_>);

/// Forwards clients' records.
struct Clients<'c>(Judge, Option<Change<'c>>);

impl Observer for Clients<'_> {
    fn observe(&mut self, event: RunEvent<'_>) {
        let (Self(judge, change), RunEvent::Client(record)) = (self, event) else {
            return;
        };
        match change {
            None => judge.observe(event),
            Some(change) => change(record, &mut |record| {
                judge.observe(RunEvent::Client(record))
            }),
        }
    }
}

/// Forwards the entries of the journal.
struct Journal(Judge);

impl Observer for Journal {
    fn observe(&mut self, event: RunEvent<'_>) {
        if let RunEvent::Server(_, ServerRecord::Committed { .. }) = event {
            self.0.observe(event);
        }
    }
}

/// The judgement of a run by its clients and its journal; none if the auditor does not pass it.
fn judged(plan: &Plan, seed: u64, change: Option<Change<'_>>) -> Option<Judgement> {
    let mut clients = Clients(Judge::live(plan, Some(Time(0))), change);
    let outcome = run_seed(plan, seed, &Progress::default(), Some(&mut clients));
    if !outcome.violations.is_empty() {
        return None;
    }
    let mut journal = Journal(clients.0);
    let _ = run_seed(plan, seed, &Progress::default(), Some(&mut journal));
    Some(journal.0.finish(outcome.ran.ended_at))
}

#[test]
fn it_accuses_no_shipped_scenario_and_judges_each_property() {
    let mut checks: BTreeMap<&str, u64> = BTreeMap::new();
    for plan in shipped() {
        let judged = judged(&plan, plan.seed, None).expect("shipped scenarios pass");
        assert_eq!(judged.violations, [], "{}", plan.name);
        for (property, result) in judged.properties {
            *checks.entry(property).or_default() += result.checks;
        }
    }
    let all = "breaks_rules delivery_progress durability fifo_matching idempotent_requests \
               moderation no_duplicates no_lost_messages no_phantoms outcomes presence \
               queue_progress room_lifecycle room_order single_match stick_exclusion stick_order \
               stick_progress";
    for property in all.split(' ') {
        assert!(checks[property] > 0, "{property}: {checks:?}");
    }
}

#[test]
fn it_accuses_no_scenario_whose_configuration_and_flows_are_drawn() {
    accuses_no_variation(10, |plan, seed| judged(plan, seed, None));
}

fn scenario(name: &str) -> Plan {
    sim_scenario::load(&shipped_file(name)).expect("it is shipped")
}

/// Changes the n-th record for which `change` has another, and checks the violated property of
/// each n below `times`.
fn finds(
    name: &str,
    times: usize,
    wanted: fn(&str) -> bool,
    change: &dyn Fn(&Record<'_>, Judging<'_>) -> bool,
) {
    let plan = scenario(name);
    for n in 0..times {
        let mut seen = 0;
        let mut of_one = |record: &Record<'_>, judge: Judging<'_>| {
            let would = change(record, &mut |_| {});
            match would && seen == n * 7 {
                true => _ = change(record, judge),
                false => judge(record),
            }
            seen += usize::from(would);
        };
        let judged = judged(&plan, plan.seed, Some(&mut of_one)).expect("it passes");
        assert!(seen > n * 7, "{n}: only {seen} records can be changed");
        let first = judged.violations.first();
        let property = first.map_or("nothing", |found| &*found.property);
        assert!(wanted(property), "{n}: {property}");
    }
}

fn anything(property: &str) -> bool {
    property != "nothing"
}

/// What a client received for the first time, and its place.
fn received<'r>(record: &Record<'r>) -> Option<(u64, InboxEvent<'r>)> {
    let ClientEvent::Received {
        seq, event, first, ..
    } = record.what
    else {
        return None;
    };
    first.then_some((seq, event))
}

/// The judge observes another event instead of the received one, or another place.
fn receives(record: &Record<'_>, judge: Judging<'_>, seq: u64, event: InboxEvent<'_>) {
    let ClientEvent::Received { sent_at, path, .. } = record.what else {
        return;
    };
    judge(&Record {
        what: ClientEvent::Received {
            seq,
            sent_at,
            event,
            path,
            first: true,
        },
        ..*record
    });
}

fn is_message(event: InboxEvent<'_>) -> bool {
    matches!(event.body(), Some(Body::Message { .. }))
}

#[test]
fn another_text_than_the_one_in_the_inbox_is_found() {
    let phantom = |name: &str| name == "no_phantoms";
    finds("brief", 5, phantom, &|record, judge| {
        let Some((seq, InboxEvent::Event(event))) = received(record) else {
            return false;
        };
        let mut other = event.clone();
        let Body::Message { text, .. } = &mut other.body else {
            return false;
        };
        *text = "something else".into();
        receives(record, judge, seq, InboxEvent::Event(&other));
        true
    });
}

#[test]
fn an_event_that_no_inbox_has_is_found() {
    finds("brief", 5, anything, &|record, judge| {
        let Some((seq, event)) = received(record).filter(|(_, event)| is_message(*event)) else {
            return false;
        };
        judge(record);
        receives(record, judge, seq + 1_000, event);
        true
    });
}

#[test]
fn an_event_that_a_client_did_not_receive_is_found() {
    let lost = |name: &str| name == "no_lost_messages";
    finds("brief", 5, lost, &|record, _| {
        matches!(
            record.what,
            ClientEvent::Received {
                event,
                path: DeliveryPath::Check,
                ..
            } if is_message(event)
        )
    });
}

/// Changes the answers to accepted commands.
fn answered<'a>(
    record: &Record<'a>,
    judge: Judging<'_>,
    change: impl Fn(&Response) -> Option<Response>,
) -> bool {
    let ClientEvent::Answered {
        call,
        op,
        called_at,
        intended,
        outcome: Ok(answer),
    } = record.what
    else {
        return false;
    };
    let Some(other) = change(answer) else {
        return false;
    };
    let outcome: Outcome = Ok(other);
    judge(&Record {
        what: ClientEvent::Answered {
            call,
            op,
            called_at,
            intended,
            outcome: &outcome,
        },
        ..*record
    });
    true
}

/// The entry is there, with another decision: that is no lack of durability.
#[test]
fn another_answer_than_the_one_of_the_journal_is_found() {
    let another = |name: &str| !["durability", "nothing"].contains(&name);
    let is_sent: fn(&Reply) -> bool = |reply| matches!(reply, Reply::Sent { .. });
    let is_draft: fn(&Reply) -> bool = |reply| matches!(reply, Reply::Draft { .. });
    for is_meant in [is_sent, is_draft] {
        finds("brief", 5, another, &|record, judge| {
            answered(record, judge, |answer| {
                let mut other = answer.clone();
                let Response::Done(reply) = &mut other else {
                    return None;
                };
                let is_changed = is_meant(reply);
                if let Reply::Sent { room_seq, .. } = reply {
                    room_seq.0 += 1_000;
                } else if let Reply::Draft { length, .. } = reply {
                    *length += 1;
                }
                is_changed.then_some(other)
            })
        });
    }
}

/// A server that shows a participant nothing behind the third place of its inbox.
#[test]
fn events_that_no_page_shows_to_a_client_are_found() {
    let plan = scenario("brief");
    let mut found = 0;
    for number in 0..20 {
        let mut hidden = 0;
        let mut hide = |record: &Record<'_>, judge: Judging<'_>| {
            if record.user != Some(User(number)) {
                return judge(record);
            }
            if let ClientEvent::Received { seq: 4.., .. } = record.what {
                hidden += 1;
            } else if let ClientEvent::Answered {
                outcome: Ok(Response::Read(Answer::Page { page, .. })),
                ..
            } = record.what
                && page.cursor > Seq(3)
            {
                let page = Page {
                    cursor: Seq(3),
                    ..Page::default()
                };
                let notices = Vec::new();
                let shown = Response::Read(Answer::Page { page, notices });
                answered(record, judge, |_| Some(shown.clone()));
            } else {
                judge(record);
            }
        };
        let judged = judged(&plan, plan.seed, Some(&mut hide)).expect("it passes");
        if hidden > 3 {
            let first = judged.violations.first();
            assert!(first.is_some(), "user_{number}: {hidden} hidden events");
            found += 1;
        }
    }
    assert!(found > 5, "{found} participants have that many events");
}

#[test]
fn a_gap_that_no_inbox_had_is_found() {
    finds("slow_readers", 3, anything, &|record, judge| {
        let Some((seq, InboxEvent::Gap(gap))) = received(record) else {
            return false;
        };
        let mut other = gap.clone();
        let Some(first) = other.rooms.first_mut() else {
            return false;
        };
        first.messages += 1;
        other.rooms.truncate(1);
        receives(record, judge, seq, InboxEvent::Gap(&other));
        true
    });
}

/// A server can write any numbers.
#[test]
fn a_gap_of_any_size_is_found() {
    for (from, to) in [(0, u64::MAX), (u64::MAX, 0)] {
        finds("brief", 1, anything, &|record, judge| {
            let ClientEvent::Received { seq, .. } = record.what else {
                return false;
            };
            judge(record);
            let gap = Gap {
                from: Seq(from),
                to: Seq(to),
                rooms: Vec::new(),
                rooms_omitted: false,
            };
            receives(record, judge, seq, InboxEvent::Gap(&gap));
            true
        });
    }
}

#[test]
fn an_answer_without_an_entry_breaks_durability() {
    let plan = scenario("brief");
    let mut clients = Clients(Judge::live(&plan, Some(Time(0))), None);
    let outcome = run_seed(&plan, plan.seed, &Progress::default(), Some(&mut clients));
    // The journal is empty: the first answer has no entry.
    let judged = clients.0.finish(outcome.ran.ended_at);
    let found = judged.violations.first().expect("one");
    assert_eq!(found.property, "durability");
    let why = "and no entry of the journal has this answer";
    assert!(found.detail.ends_with(why), "{}", found.detail);
}
