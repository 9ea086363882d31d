//! Tests a hundred thousand breaks in virtual worlds: values are in range, and the boss notices at
//! the configured rate.

use chat_types::Span;
use sim_model::history::{ClientEvent, Observer, RunEvent};
use sim_model::outcome::Progress;
use sim_model::protocol::{Reply, Response};
use sim_search::seed::run_seed;

/// Agents that take breaks again and again, with a boss that has calmed down each time.
const SCENARIO: &str = "
name: hundred_thousand
about: As many breaks as it takes to see chance at work.
duration: 12d
server: { boss_alertness: 50, boss_alertness_cooldown: 1s, rate_limit: none }
phases: [{ name: all, duration: 1s, arrival_count: 10 }]
scenarios:
  - name: idler
    flow:
      - break
      - loop: { count: 10000, steps: [think: { min: 2s, max: 180s }, break] }
properties: [breaks_rules]
";

/// The content of all answers to breaks.
#[derive(Debug, Default)]
struct BreakAnswers {
    breaks: u64,
    noticed: u64,
    most_stress: u8,
}

impl Observer for BreakAnswers {
    fn observe(&mut self, event: RunEvent<'_>) {
        let RunEvent::Client(record) = event else {
            return;
        };
        let ClientEvent::Answered { outcome, .. } = record.what else {
            return;
        };
        let Ok(Response::Done(Reply::OnBreak {
            stress, boss_alert, ..
        })) = outcome
        else {
            return;
        };
        assert!(*stress <= 100 && *boss_alert <= 5, "{event:?}");
        self.breaks += 1;
        self.noticed += u64::from(*boss_alert > 0);
        self.most_stress = self.most_stress.max(*stress);
    }
}

#[test]
fn the_boss_notices_as_many_of_a_hundred_thousand_breaks_as_told() {
    for alertness in [0, 25, 50, 80, 100] {
        let mut plan = sim_scenario::parse("hundred_thousand.yaml", SCENARIO).expect("it is right");
        plan.server.boss_alertness = alertness;
        let mut told = BreakAnswers::default();
        let outcome = run_seed(&plan, 7, &Progress::default(), Some(&mut told));
        assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
        let judged = outcome.properties["breaks_rules"].checks;
        assert!(told.breaks >= 100_000 && judged >= told.breaks, "{told:?}");
        // Five standard deviations: of 100,000 throws at one half they are 791.
        let p = f64::from(alertness) / 100.0;
        let n = told.breaks as f64;
        let off = (told.noticed as f64 - n * p).abs();
        let far = 5.0 * (n * p * (1.0 - p)).sqrt();
        assert!(off <= far, "{alertness}: {told:?}");
        assert!(plan.server.boss_alertness_cooldown == Span::secs(1));
    }
}
