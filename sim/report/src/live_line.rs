//! The progress line on a terminal.

use std::time::Duration;

use super::line::{PAGE, fit, visible};
use super::numbers::{count, instant, milliseconds, plural, short};
use sim_model::outcome::{ProgressNow, SearchProgress};

/// One line: the scenario, its progress, and its speed. `wall` is the elapsed real time.
#[must_use]
pub fn live_line(name: &str, seeds: u64, now: &ProgressNow, wall: Duration) -> String {
    let far = match seeds {
        1 => instant(now.virtual_time),
        _ => format!("{} of {} seeds", count(now.seeds_done), count(seeds)),
    };
    let mut words = format!(" · {far} · {}", plural(now.users, "user"));
    let seconds = wall.as_secs_f64();
    if let Some(live) = &now.live {
        words.push_str(&format!(
            " · {}/s of {} · p99 {} · {} failed",
            short(live.answered as f64),
            short(live.offered as f64),
            milliseconds(live.p99_us / 1_000.0),
            count(live.failed)
        ));
    } else if seconds > 0.0 && now.steps > 0 {
        words.push_str(&format!(" · {} steps/s", short(now.steps as f64 / seconds)));
    }
    fit(&visible(&format!("{}{words}", fit(name, 30))), PAGE)
}

/// One line: the world that is searched, the depth, and the number of known states.
#[must_use]
pub fn exhausting(now: &SearchProgress) -> String {
    let states = plural(now.states, "state");
    format!("exhaust · {} · depth {} · {states}", now.world, now.depth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chat_types::Span;

    #[test]
    fn a_progress_line_shows_the_position_and_the_speed() {
        let now = ProgressNow {
            virtual_time: Span::millis(12_300),
            users: 208,
            steps: 61_204,
            seeds_done: 7,
            live: None,
        };
        let second = Duration::from_secs(1);
        assert_eq!(
            live_line("burst", 1, &now, second),
            "burst · 12.3s · 208 users · 61.2k steps/s"
        );
        assert_eq!(
            live_line("burst", 200, &now, second),
            "burst · 7 of 200 seeds · 208 users · 61.2k steps/s"
        );
        let long = live_line(&"n".repeat(300), 200, &now, Duration::ZERO);
        assert!(long.chars().count() < 80, "{long}");
    }
}
