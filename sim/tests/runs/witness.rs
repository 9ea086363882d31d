//! The witness beside the auditor: it sees the clients' histories of virtual runs alone, and never
//! accuses where the auditor, who sees everything, finds nothing wrong.

use std::fs;
use std::path::Path;

use sim::history::{Observer, Record, WorldRecord};
use sim::plan::Plan;
use sim::protocol::{Answer, Op};
use sim::runner::Progress;
use sim::{scenario, world};
use sim_judge::{Judge, Judgement};

/// Hands the clients' histories on, and nothing of the server.
struct Histories(Judge);

impl Observer for Histories {
    fn observe(&mut self, record: &Record<'_>) {
        self.0.observe(record);
    }

    fn observe_world(&mut self, _record: &WorldRecord<'_>) {}
}

fn witnessed(plan: &Plan, seed: u64) -> Judgement {
    let mut histories = Histories(Judge::live(plan));
    let outcome = world::run(plan, seed, &Progress::default(), Some(&mut histories));
    assert!(
        outcome.violations.is_empty(),
        "{}: {:?}",
        plan.name,
        outcome.violations
    );
    let end = chat_core::Time(outcome.virtual_span.0);
    histories.0.finish(end)
}

#[test]
fn it_accuses_no_run_that_keeps_the_rules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let only = std::env::var("WITNESS_ONLY").unwrap_or_default();
    let seeds: u64 = std::env::var("WITNESS_SEEDS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".yaml")
            || !name.contains(&only)
            || name.starts_with("scale")
            || name.starts_with("soak")
        {
            continue;
        }
        let plan = scenario::parse(&name, &fs::read_to_string(&path).unwrap()).unwrap();
        for seed in plan.seed..plan.seed + seeds {
            let judged = witnessed(&plan, seed);
            for violation in judged.violations.iter().take(5) {
                println!("{name} {seed}: {violation:?}");
            }
            if seed == plan.seed {
                for (property, result) in &judged.properties {
                    println!("{name} {property} {} {}", result.checks, result.unjudged);
                }
            }
        }
    }
    let _ = (Answer::Done, Op::Mood);
}
