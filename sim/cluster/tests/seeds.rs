//! Histories of many seeds.

use sim_cluster::{exhaust, run_seed};
use sim_judge::cluster::ClusterRule;

#[test]
fn the_rules_hold_and_every_rule_is_exercised() {
    let mut checks = [0_u64; ClusterRule::ALL.len()];
    for seed in 1..=12 {
        let ended = run_seed(seed);
        assert_eq!(ended.judge.violations(), [], "seed {seed}");
        for (sum, rule) in checks.iter_mut().zip(ClusterRule::ALL) {
            *sum += ended.judge.checks(rule);
        }
    }
    assert!(checks.iter().all(|checks| *checks > 10), "{checks:?}");
}

#[test]
fn one_seed_gives_one_history() {
    let (first, second) = (run_seed(7), run_seed(7));
    assert_eq!(first.hash, second.hash);
    assert_ne!(first.hash, run_seed(8).hash);
}

#[test]
fn every_order_of_a_few_steps_holds() {
    let found = exhaust(4);
    assert_eq!(found.broken, None);
    assert!(found.states > 500, "{} states", found.states);
}
