//! What a user waits for, since when, and at which step: for reports on users that did not finish.

use chat_types::Time;

use sim_model::outcome::Waiting;

use super::{Activity, VirtualUser};

impl VirtualUser {
    /// The `await` that timed out, if any.
    #[must_use]
    pub fn stuck(&self) -> Option<Waiting> {
        let (kind, since) = self.ran_out?;
        Some(self.waiting("await", kind.name().to_owned(), since))
    }

    /// What the user still waits for; `None` if it is done or disconnected permanently.
    #[must_use]
    pub fn pending(&self) -> Option<Waiting> {
        if self.is_done() {
            return None;
        }
        Some(if let Activity::Awaiting(awaiting) = self.activity {
            self.waiting("await", awaiting.kind.name().to_owned(), awaiting.began)
        } else if let Activity::Draining(draining) = self.activity {
            self.at_end("its inbox to be read out", draining.began)
        } else if let Activity::Thinking { since, .. } | Activity::Away { since, .. } =
            self.activity
        {
            self.waiting("pause", "the end of a pause".to_owned(), since)
        } else if let Some(call) = self.calls.first() {
            let verb = call.op.verb();
            self.waiting(verb, format!("the answer to {verb}"), call.called_at)
        } else {
            self.at_end("its next step", self.suspended_until)
        })
    }

    fn waiting(&self, step: &str, waiting_for: String, since: Time) -> Waiting {
        let place = self.cursor.place();
        let at = match (place.is_empty(), step) {
            (true, step) => step.to_owned(),
            (false, step) => format!("{place} {step}"),
        };
        Waiting {
            at,
            waiting_for,
            since,
        }
    }

    fn at_end(&self, waiting_for: &str, since: Time) -> Waiting {
        Waiting {
            at: "the end".to_owned(),
            waiting_for: waiting_for.to_owned(),
            since,
        }
    }
}
