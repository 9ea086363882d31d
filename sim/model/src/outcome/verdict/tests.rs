use super::super::{LeftOutResult, RestResult, Violation};
use super::*;

fn property(held: Option<bool>) -> PropertyResult {
    PropertyResult {
        held,
        checks: 1,
        unjudged: 0,
    }
}

fn threshold(met: Option<bool>) -> ThresholdResult {
    ThresholdResult {
        seed: None,
        metric: "message_latency".to_owned(),
        persona: None,
        expression: "p(90)<1s".to_owned(),
        measured: met.map(|_| 1.0),
        met,
    }
}

fn left_out(held: bool) -> LeftOutResult {
    LeftOutResult {
        held,
        ..LeftOutResult::default()
    }
}

fn rest(held: bool) -> RestResult {
    RestResult {
        held,
        ..RestResult::default()
    }
}

#[test]
fn exit_codes_have_their_precedence() {
    let order = [2, 1, 3, 4, 99, 0];
    for (i, graver) in order.into_iter().enumerate() {
        for lighter in &order[i..] {
            assert_eq!(worst(graver, *lighter), graver);
            assert_eq!(worst(*lighter, graver), graver);
        }
    }
}

/// Tries every combination of facts with its exit code.
#[test]
fn the_gravest_verdict_decides_the_exit_code() {
    for bits in 0..256u32 {
        let is = |bit: u32| bits >> bit & 1 == 1;
        let held = |broken: bool| Some(!broken);
        let properties = BTreeMap::from([
            ("room_order".to_owned(), property(held(is(0)))),
            ("queue_progress".to_owned(), property(held(is(1)))),
            ("breaks_rules".to_owned(), property(None)),
        ]);
        // The server's own acts are no check of users' actions.
        let idle = BTreeMap::from([("bounded".to_owned(), property(Some(true)))]);
        let properties = if is(6) { idle } else { properties };
        let thresholds = vec![
            threshold(Some(!is(2))),
            threshold(if is(3) { None } else { Some(true) }),
        ];
        let result = RunResult {
            properties,
            thresholds,
            rest: rest(!is(5)),
            left_out: left_out(!is(7)),
            ..RunResult::default()
        };
        let verdict = gravest(&result, !is(4));
        let expected = if is(0) && !is(6) {
            1
        } else if is(1) && !is(6) || is(5) {
            3
        } else if is(3) || is(4) || is(6) || is(7) {
            4
        } else if is(2) {
            99
        } else {
            0
        };
        assert_eq!(verdict.exit_code(), expected, "{bits:08b}");
    }
}

#[test]
fn a_violation_counts_though_its_property_is_unknown() {
    let violation = Violation::of_panic("out of bounds", 1);
    let result = RunResult {
        violations: vec![violation],
        rest: rest(true),
        left_out: left_out(true),
        ..RunResult::default()
    };
    assert_eq!(gravest(&result, true), Verdict::Safety);
}
