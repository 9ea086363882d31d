use std::sync::Arc;

use sim_model::cluster::ClusterFact::{AppendBegan, AppendEnded, Harmed, Hindered, Unhindered};

use sim_model::draw::{Quantiles, Shape};

use super::*;
use crate::witness::tests::history_builder::plan;

const fn ms(at: u64) -> Time {
    Time(at * 1_000)
}

/// Feeds the facts, and looks for what is late at the end. Attempts take up to 8 ms.
fn late(facts: &[(u64, ClusterFact)], end: u64) -> Option<String> {
    let mut plan = plan();
    plan.capacity.commit = Arc::new(Quantiles::new(Shape::Fixed(8_000)));
    let mut times = AppendTimes::of(&plan);
    assert_eq!(times.attempt, Span::millis(18));
    for (at, fact) in facts {
        assert_eq!(times.take_late(ms(*at)), None);
        times.observe(ms(*at), fact);
    }
    times.take_late(ms(end))
}

#[test]
fn an_append_is_over_within_the_longest_commit() {
    let began = [(1, AppendBegan(0))];
    assert_eq!(late(&began, 19), None);
    let says = late(&began, 20).expect("it is late");
    assert_eq!(
        says,
        "an append of member 0 should be over after 18ms, and is not"
    );
}

#[test]
fn an_append_that_is_over_is_not_late() {
    assert_eq!(
        late(&[(1, AppendBegan(0)), (9, AppendEnded(0))], 60_000),
        None
    );
}

#[test]
fn what_is_wrong_delays_an_append_for_as_long_and_for_a_recovery() {
    let facts = [(1, AppendBegan(0)), (5, Hindered(0))];
    assert_eq!(late(&facts, 60_000), None);
    let healed = [&facts[..], &[(7_000, Unhindered(0))]].concat();
    assert_eq!(late(&healed, 17_000), None);
    assert!(late(&healed, 17_100).is_some());
}

#[test]
fn what_is_wrong_with_one_member_excuses_no_other() {
    let facts = [(1, AppendBegan(0)), (1, AppendBegan(1)), (5, Hindered(0))];
    let says = late(&facts, 100).expect("the other is late");
    assert!(says.contains("member 1"), "{says}");
}

#[test]
fn a_lost_record_of_a_replica_may_have_to_be_read_elsewhere() {
    let facts = [(0, Harmed), (1, AppendBegan(0))];
    assert_eq!(late(&facts, 10_000), None);
    assert!(late(&facts, 10_100).is_some());
}
