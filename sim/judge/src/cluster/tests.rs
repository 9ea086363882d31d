//! The rules on histories made by hand.

use chat_types::Time;

use super::{ClusterFact, ClusterJudge, ClusterRule, LogOwner, text_of};

fn record(epoch: u8, author: u8, kind: u8, text: &str) -> Vec<u8> {
    let mut bytes = b"TSCLUSTR\x01\x00".to_vec();
    bytes.extend([7, 1, epoch, author, author, kind]);
    bytes.extend(text.as_bytes());
    bytes
}

fn owner(epoch: u64, member: u64) -> Option<LogOwner> {
    Some(LogOwner {
        epoch,
        author: (member, member),
    })
}

fn rules(facts: &[ClusterFact]) -> Vec<ClusterRule> {
    let mut judge = ClusterJudge::default();
    for (second, fact) in (0..).zip(facts) {
        judge.observe_at(Time(second * 1_000_000), fact);
    }
    judge.violations.iter().map(|found| found.rule).collect()
}

fn log(records: &[Vec<u8>]) -> Vec<ClusterFact> {
    let numbered = records.iter().zip(1..);
    numbered
        .map(|(bytes, sequence)| ClusterFact::Appended {
            sequence,
            bytes: bytes.clone(),
        })
        .collect()
}

#[test]
fn epochs_follow_one_another_and_each_has_one_author() {
    let (claim, batch, resigned) = (0, 1, 3);
    let good = [
        record(1, 1, claim, ""),
        record(1, 1, batch, ""),
        record(2, 2, claim, ""),
        record(2, 2, resigned, ""),
        record(3, 1, claim, ""),
    ];
    assert_eq!(rules(&log(&good)), []);
    for (number, wrong) in [
        (2, record(1, 2, batch, "")),
        (4, record(1, 1, batch, "")),
        (4, record(2, 2, batch, "")),
        (4, record(4, 1, claim, "")),
    ] {
        let mut bad = good[..number.min(good.len() - 1)].to_vec();
        bad.push(wrong);
        assert_eq!(rules(&log(&bad)), [ClusterRule::OneOwner], "{number}");
    }
}

#[test]
fn a_member_that_resigned_takes_no_calls_and_leaves_the_log_to_others() {
    let mut facts = log(&[record(1, 1, 0, ""), record(1, 1, 3, "")]);
    let then = |more: &[ClusterFact]| rules(&[&facts[..], more].concat());
    let claim = |epoch, member| ClusterFact::Appended {
        sequence: 3,
        bytes: record(epoch, member, 0, ""),
    };
    let leases = |member| ClusterFact::Leases(vec![member]);
    assert_eq!(then(&[claim(2, 2), leases(2)]), []);
    assert_eq!(then(&[leases(1)]), [ClusterRule::OneLease]);
    assert_eq!(then(&[claim(2, 1)]), [ClusterRule::OneOwner]);
    facts.extend(vec![ClusterFact::Healed; 5]);
    let then = |more: &[ClusterFact]| rules(&[&facts[..], more].concat());
    assert_eq!(then(&[claim(2, 1), leases(1)]), []);
}

#[test]
fn members_name_the_owner_of_the_last_record_that_they_have_applied() {
    let names = |sequence, owner| ClusterFact::Applied {
        member: 3,
        sequence,
        state: (0, 0),
        owner,
    };
    let facts = log(&[
        record(1, 1, 0, ""),
        record(1, 1, 3, ""),
        record(2, 2, 0, ""),
    ]);
    let with = |named| rules(&[&facts[..], &[named]].concat());
    for good in [
        names(0, None),
        names(1, owner(1, 1)),
        names(2, None),
        names(3, owner(2, 2)),
    ] {
        assert_eq!(with(good), []);
    }
    for bad in [names(1, None), names(2, owner(1, 1)), names(3, owner(2, 1))] {
        assert_eq!(with(bad), [ClusterRule::OneOwner]);
    }
}

#[test]
fn what_was_accepted_is_in_the_log_and_in_later_reads_once() {
    let mut facts = log(&[record(1, 1, 0, ""), record(1, 1, 1, &text_of(5))]);
    let read = |shown: &[u64]| ClusterFact::Read {
        read: 1,
        member: 1,
        shown: shown.to_vec(),
        more: false,
    };
    facts.push(ClusterFact::Accepted(5));
    facts.push(ClusterFact::ReadBegan(1));
    let with = |more: &[ClusterFact]| rules(&[&facts[..], more].concat());
    assert_eq!(with(&[read(&[5])]), []);
    assert_eq!(with(&[read(&[])]), [ClusterRule::FreshReads]);
    assert_eq!(with(&[read(&[5, 5])]), [ClusterRule::Acknowledged]);
    assert_eq!(
        with(&[ClusterFact::Accepted(6)]),
        [ClusterRule::Acknowledged]
    );
    assert_eq!(with(&[ClusterFact::NotYet(5)]), [ClusterRule::Refused]);
}

#[test]
fn what_was_refused_as_not_done_is_never_in_the_log() {
    let mut facts = vec![ClusterFact::NotDone(5)];
    facts.extend(log(&[record(1, 1, 0, ""), record(1, 1, 1, &text_of(5))]));
    assert_eq!(rules(&facts), [ClusterRule::Refused]);
}

#[test]
fn members_agree_and_one_at_a_time_takes_calls() {
    let applied = |member, state| ClusterFact::Applied {
        member,
        sequence: 1,
        state,
        owner: owner(1, 1),
    };
    let mut facts = log(&[record(1, 1, 0, "")]);
    facts.extend([applied(1, (3, 4)), applied(2, (3, 4))]);
    let says = |member, digest| ClusterFact::State {
        member,
        position: 3,
        digest,
    };
    facts.extend([says(1, 4), says(2, 4)]);
    assert_eq!(rules(&facts), []);
    let other = [&facts[..], &[says(3, 5)]].concat();
    assert_eq!(rules(&other), [ClusterRule::Agreement]);
    facts.push(applied(3, (3, 5)));
    facts.push(ClusterFact::Leases(vec![1]));
    facts.push(ClusterFact::Leases(vec![1, 2]));
    assert_eq!(
        rules(&facts),
        [ClusterRule::Agreement, ClusterRule::OneLease]
    );
}

#[test]
fn a_healed_cluster_serves_and_follows() {
    let ended_at = |(due, is_calm), members: &[(u64, u64)], starved: &[u64]| {
        let mut facts = log(&vec![record(1, 1, 0, ""); 1]);
        facts.extend((2..40).map(|sequence| ClusterFact::Appended {
            sequence,
            bytes: record(1, 1, 2, ""),
        }));
        facts.push(ClusterFact::Ended {
            members: members.to_vec(),
            due,
            is_calm,
            starved: starved.to_vec(),
            unanswered: Vec::new(),
        });
        rules(&facts)
    };
    let ended = |members, starved| ended_at((20, true), members, starved);
    assert_eq!(ended(&[(1, 39), (2, 30)], &[]), []);
    assert_eq!(ended(&[(1, 39), (2, 3)], &[]), [ClusterRule::Progress]);
    assert_eq!(ended(&[(1, 39)], &[4]), [ClusterRule::Progress]);
    let silent = |is_calm| ended_at((39, is_calm), &[(1, 39)], &[]);
    assert_eq!(silent(false), []);
    assert_eq!(silent(true), [ClusterRule::Progress]);
}

#[test]
fn who_departs_answers_or_gives_back_every_call() {
    let owned = log(&[record(1, 1, 0, "")]);
    let asked = |call| ClusterFact::Asked { member: 1, call };
    let facts = |more: &[ClusterFact]| [&owned[..], &[asked(7), asked(8)], more].concat();
    let (departed, back) = (ClusterFact::Departed(1), ClusterFact::GivenBack(8));
    let answered = ClusterFact::Answered { member: 1, call: 7 };
    let good = [
        vec![answered.clone(), back.clone(), departed.clone()],
        vec![
            answered.clone(),
            ClusterFact::CallerGone(8),
            departed.clone(),
        ],
        vec![ClusterFact::ProcessEnded(1), departed.clone()],
        vec![ClusterFact::Departed(2)],
    ];
    for good in good {
        assert_eq!(rules(&facts(&good)), []);
    }
    for bad in [vec![departed.clone()], vec![answered, departed]] {
        assert_eq!(rules(&facts(&bad)), [ClusterRule::Progress]);
    }
}
