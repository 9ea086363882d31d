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

/// Facts, an instant after them, and the member whose append is late at it.
type Case<'a> = (&'a [(u64, ClusterFact)], u64, Option<u64>);

#[test]
fn an_append_is_late_after_the_longest_commit_or_after_what_is_wrong_and_a_recovery() {
    let hindered = [(1, AppendBegan(0)), (5, Hindered(0))];
    let began = &hindered[..1];
    let healed = [&hindered[..], &[(7_000, Unhindered(0))]].concat();
    // A lost record of a replica may have to be read elsewhere.
    let harmed = [&[(0, Harmed)][..], began].concat();
    // What is wrong with one member excuses no other.
    let other = [began, &[(1, AppendBegan(1))], &hindered[1..]].concat();
    let ended = [began, &[(9, AppendEnded(0))]].concat();
    let cases: [Case<'_>; 10] = [
        (began, 19, None),
        (began, 20, Some(0)),
        (&ended, 60_000, None),
        (&hindered, 60_000, None),
        (&healed, 17_000, None),
        (&healed, 17_100, Some(0)),
        (&harmed, 10_000, None),
        (&harmed, 10_100, Some(0)),
        (&other, 19, None),
        (&other, 100, Some(1)),
    ];
    for (facts, end, member) in cases {
        let says = late(facts, end);
        let of = member.map(|member| format!("an append of member {member} should be over after "));
        match of {
            Some(of) => assert!(
                says.expect("it is late").starts_with(&of),
                "{facts:?} {end}"
            ),
            None => assert_eq!(says, None, "{facts:?}"),
        }
    }
    let says = late(began, 20).expect("it is late");
    assert!(says.ends_with("over after 18ms, and is not"), "{says}");
}
