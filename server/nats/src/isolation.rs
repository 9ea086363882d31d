//! Notices a server that takes the connection and does not reach the log: it is cut off from the other
//! servers, or has no leader of the log.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the log answers nothing before another server is tried. An election of a leader, during which
/// another server is no better, takes longer at times: trying one costs some milliseconds.
const PATIENCE: Duration = Duration::from_secs(3);

/// When the answers began to lack, or another server was tried last; none after an answer.
#[derive(Debug, Default)]
pub(crate) struct Isolation(Mutex<Option<Instant>>);

impl Isolation {
    /// Takes note of the end of a request to the log, and returns whether to try another server now.
    pub(crate) fn is_likely(&self, has_answered: bool, now: Instant) -> bool {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if has_answered {
            *since = None;
            return false;
        }
        let began = *since.get_or_insert(now);
        let is_likely = now.duration_since(began) >= PATIENCE;
        if is_likely {
            *since = Some(now);
        }
        is_likely
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_server_is_tried_after_three_seconds_without_an_answer_and_again_after_three_more() {
        let (isolation, began) = (Isolation::default(), Instant::now());
        let at = |tenths: u64| began + Duration::from_millis(100 * tenths);
        for (tenths, has_answered, wanted) in [
            (0, false, false),
            (29, false, false),
            (30, false, true),
            (31, false, false),
            (59, false, false),
            (60, false, true),
            (80, true, false),
            (95, false, false),
            (120, true, false),
            (130, false, false),
            (159, false, false),
            (160, false, true),
        ] {
            let tried = isolation.is_likely(has_answered, at(tenths));
            assert_eq!(tried, wanted, "{tenths}");
        }
    }
}
