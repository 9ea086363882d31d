//! Tests of damaged files: a start gives the whole state, or is refused.

use super::super::*;
use super::judged::watched;
use super::storm;
use sim_model::outcome::Point;
use sim_model::plan::{FaultKind, Harm, Outage, Stored};
use sim_model::server::ServerRecord;

/// The starts of a run.
#[derive(Default)]
struct Starts {
    damaged: Vec<String>,
    /// When starts were refused, and why.
    refused: Vec<(Time, String)>,
    started: Vec<Time>,
    /// The positions that an accepted loss keeps.
    kept: Vec<Option<u64>>,
}

impl Starts {
    fn see(&mut self, event: RunEvent<'_>) {
        if let RunEvent::World(_, WorldRecord::DiskDamaged { damage }) = event {
            self.damaged.push((*damage).to_owned());
        } else if let RunEvent::World(at, WorldRecord::StartRefused { why }) = event {
            self.refused.push((at, (*why).to_owned()));
        } else if let RunEvent::World(at, WorldRecord::Restarted) = event {
            self.started.push(at);
        } else if let RunEvent::Server(_, ServerRecord::StartRefused { accepted, .. }) = event {
            self.kept.push(accepted.map(|state| state.position));
        }
    }
}

const RESTORE_AFTER: Span = Span::millis(700);

/// A storm in which a file is damaged while the server is down, from 2 s to 2.3 s.
fn damaged(what: Harm, of: Stored, snapshot_every: u32) -> Plan {
    let mut plan = storm();
    plan.capacity.snapshot_every = snapshot_every;
    plan.faults.insert(1, damage(what, of));
    plan
}

fn damage(what: Harm, of: Stored) -> Fault {
    let kind = FaultKind::DamageDisk {
        what,
        of,
        restore_after: RESTORE_AFTER,
    };
    Fault::once(Span::millis(2_100), kind)
}

/// The starts of runs with these seeds, in which nothing is violated.
fn starts(plan: &Plan, seeds: u64) -> Vec<(Starts, Vec<Point>)> {
    let one = |seed| {
        let mut starts = Starts::default();
        let outcome = watched(plan, seed, |event| starts.see(event));
        assert_eq!(outcome.violations, [], "seed {seed}");
        assert!(outcome.properties["durability"].checks > 0);
        let points = [Point::DamageSurvived, Point::StartRefused];
        let reached = points.map(|point| (point, outcome.ran.tally.count(point)));
        let reached = reached.iter().filter(|(_, count)| *count > 0);
        (starts, reached.map(|(point, _)| *point).collect())
    };
    (1..=seeds).map(one).collect()
}

#[test]
fn lost_marks_are_refused_and_a_sound_copy_starts() {
    let plan = damaged(Harm::Lose, Stored::Mark, u32::MAX);
    for (starts, points) in starts(&plan, 4) {
        assert_eq!(points, [Point::StartRefused]);
        let [(at, why)] = &starts.refused[..] else {
            panic!("{:?}", starts.refused);
        };
        assert!(
            why.starts_with("the file of marks is absent: the journal ends at position "),
            "{why}"
        );
        assert_eq!(*at, START + Span::millis(2_300));
        assert_eq!(starts.started, [*at + RESTORE_AFTER]);
    }
}

#[test]
fn a_damaged_record_is_refused_and_an_accepted_loss_keeps_those_before_it() {
    for what in [Harm::Flip, Harm::Tear] {
        let plan = damaged(what, Stored::Journal, u32::MAX);
        for (starts, points) in starts(&plan, 4) {
            assert_eq!(points, [Point::StartRefused]);
            let [damage] = &starts.damaged[..] else {
                panic!("{:?}", starts.damaged);
            };
            let first: String = damage.chars().filter(char::is_ascii_digit).collect();
            let kept = first.parse::<u64>().unwrap() - 1;
            assert_eq!(starts.kept, [Some(kept)], "{damage}");
            let (_, why) = &starts.refused[0];
            assert!(
                why.contains(&format!("whole up to position {kept};")),
                "{why}"
            );
        }
    }
}

#[test]
fn a_damaged_snapshot_costs_nothing_while_the_one_before_it_is_sound() {
    for what in [Harm::Flip, Harm::Tear, Harm::Lose] {
        let plan = damaged(what, Stored::Snapshot, 40);
        for (starts, points) in starts(&plan, 4) {
            assert_eq!(points, [Point::DamageSurvived], "{:?}", starts.refused);
            assert_eq!(starts.started, [START + Span::millis(2_300)]);
        }
    }
}

#[test]
fn damage_in_any_combination_loses_nothing() {
    let mut refused = 0;
    for of in Stored::ALL {
        for what in Harm::ALL {
            let mut plan = damaged(*what, *of, 60);
            let flip = damage(Harm::Flip, Stored::Snapshot);
            plan.faults.insert(2, flip);
            plan.faults.insert(3, damage(Harm::Lose, Stored::Journal));
            let how = Outage::CrashUnsynced;
            let down_for = Span::millis(100);
            let crash = FaultKind::Down { down_for, how };
            plan.faults.push(Fault::once(Span::secs(6), crash));
            for (starts, _) in starts(&plan, 6) {
                assert_eq!(starts.damaged.len(), 3);
                assert_eq!(starts.started.len(), 2);
                refused += starts.refused.len();
            }
        }
    }
    assert!(refused > 20, "{refused}");
}
