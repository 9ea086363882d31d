//! Notices that the target has gone away.
//!
//! Silence alone is no sign of that: users think, and checks wait. So after a silence the watch asks
//! the target itself, by the cheapest request of the protocol. A target that does not answer for
//! five seconds is gone; one that restarts meanwhile is not. A cluster may need half a minute, after
//! all of its members ended at once, and each of them is asked in turn.

use std::time::Duration;

use chat_types::{Span, Time};
use hyper::StatusCode;
use tokio::time::{sleep, timeout};

use super::caller::CallerContext;
use super::wire::Wire;

/// The silence after which the target is asked.
const SILENCE: Span = Span::secs(2);

/// The time within which a server must answer, the time for a cluster, and for one of its members.
const PATIENCE: Duration = Duration::from_secs(5);
const PATIENCE_FOR_ALL: Duration = Duration::from_secs(30);
const PATIENCE_FOR_ONE: Duration = Duration::from_secs(2);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// The target at the time of its last answer or event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    heard_at: Time,
    is_asking: bool,
}

impl Watch {
    /// The target is there at this time.
    pub(super) const fn new(now: Time) -> Self {
        Self {
            heard_at: now,
            is_asking: false,
        }
    }

    /// Records an answer or an event of the target.
    pub(super) fn hear(&mut self, at: Time) {
        self.heard_at = self.heard_at.max(at);
    }

    /// Whether the target is to be asked now.
    pub(super) fn begins_to_ask(&mut self, now: Time) -> bool {
        let begins = !self.is_asking && now.since(self.heard_at) >= SILENCE;
        self.is_asking |= begins;
        begins
    }

    /// Records what the question led to, which was asked after a silence. Returns the time of the
    /// last answer or event if the target is gone.
    pub(super) fn end_asking(&mut self, found: &Result<(), String>, now: Time) -> Option<Time> {
        self.is_asking = false;
        let was_heard = now.since(self.heard_at) < SILENCE;
        if found.is_ok() {
            self.hear(now);
        }
        (found.is_err() && !was_heard).then_some(self.heard_at)
    }
}

/// Asks the target whether it is there, until it answers or the time is over.
///
/// # Errors
/// It did not answer. The reason is that of the last attempt.
pub(super) async fn ask(net: &CallerContext) -> Result<(), String> {
    let doors = net.connector.doors();
    let (patience, for_one) = match doors {
        1 => (PATIENCE, PATIENCE),
        _ => (PATIENCE_FOR_ALL, PATIENCE_FOR_ONE),
    };
    let mut last = None;
    let asking = async {
        for door in (0..doors).cycle() {
            match timeout(for_one, attempt(net, door)).await {
                Ok(Ok(())) => return,
                Ok(Err(why)) => last = Some(why),
                Err(_) => {}
            }
            sleep(PAUSE).await;
        }
    };
    let asked = timeout(patience, asking).await;
    let silent = || format!("no answer within {}s", patience.as_secs());
    asked.map_err(|_| last.unwrap_or_else(silent))
}

async fn attempt(net: &CallerContext, door: usize) -> Result<(), String> {
    let request = net.writer.least(0, None);
    let answer = Wire::default()
        .exchange(&net.connector, door, request)
        .await?;
    match answer.status() {
        // A proxy answers so for a server that is not there.
        status @ (StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT) => Err(status.to_string()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_asked_after_a_silence_and_one_question_at_a_time() {
        let at = |ms: u64| Time(ms * 1_000);
        let gone = Err("refused".to_owned());
        let mut watch = Watch::new(at(0));
        assert!(!watch.begins_to_ask(at(1_999)));
        assert!(watch.begins_to_ask(at(2_000)));
        assert!(!watch.begins_to_ask(at(9_000)), "it is being asked");
        assert_eq!(watch.end_asking(&Ok(()), at(2_100)), None);
        assert!(!watch.begins_to_ask(at(4_099)));
        assert!(watch.begins_to_ask(at(4_100)));
        watch.hear(at(9_000));
        assert_eq!(
            watch.end_asking(&gone, at(9_100)),
            None,
            "it answered a user"
        );
        assert!(watch.begins_to_ask(at(11_000)));
        assert_eq!(watch.end_asking(&gone, at(16_000)), Some(at(9_000)));
    }
}
