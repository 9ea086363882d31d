//! Crashes of the server, and its recoveries from whole and from damaged journals.

use chat_types::{Config, Continuity, Time};
use sim_model::protocol::{Refusal, Reply};
use sim_model::server::ServerRecord;

use super::Auditor;
use super::admission::Admission;
use super::in_flight::InFlight;
use super::long_polls::LongPolls;
use super::pipeline::Pipeline;
use crate::comparison::Comparison;
use crate::difference::Difference;
use crate::model::Model;

impl Auditor {
    /// The server went down, and every call and stream with it.
    pub(super) fn handle_crash(&mut self, at: Time) {
        if let Some(due) = self.in_flight.unfinished() {
            self.differ(at, Difference::Late { due, since: at });
        }
        self.in_flight = InFlight::default();
        self.long_polls = LongPolls::default();
        self.pipeline.handle_crash();
        self.log_waits.clear();
    }

    /// The server has restarted. The journaled entries of a batch in flight are committed by now.
    pub(super) fn handle_restart(&mut self, at: Time, config: &Config, continuity: Continuity) {
        // The journaled entries of the batch in flight are committed by now.
        self.recovered = true;
        if self.position == 0 {
            // The journal is empty, so there was no earlier configuration.
            let seed = self.model.seed;
            self.model = Model::new(config);
            self.model.seed = seed;
        }
        self.admission = Admission::new(config);
        self.pipeline = Pipeline::started(config, at, self.position == 0, continuity);
        self.has_lease = true;
    }

    pub(super) fn handle_redecision(
        &mut self,
        at: Time,
        position: u64,
        [before, after]: [Result<&Reply, Refusal>; 2],
    ) {
        let [before, after] = [before, after].map(|said| said.cloned());
        self.differ(
            at,
            Difference::Redecided {
                position,
                before,
                after,
            },
        );
    }

    /// A recovery read a damaged journal, or refused it.
    pub(super) fn handle_damage(&mut self, record: &ServerRecord<'_>) {
        self.tally.add(Comparison::Damaged);
        // A damaged journal gives the state of the whole one, or is refused. Of the last entries it
        // may have lost those to which no answer has left.
        if let ServerRecord::RecoveredDamaged {
            at,
            damage,
            owed,
            state: Some(seen),
        } = *record
            && !owed.contains(&seen)
        {
            let (damage, [_, owed]) = (damage.into(), owed);
            self.differ(at, Difference::Damaged { damage, owed, seen });
        }
        // After an accepted loss, all before the first lost entry is there.
        if let ServerRecord::StartRefused {
            at,
            damage,
            whole: owed,
            accepted: seen,
            next,
        } = *record
        {
            if seen != Some(owed) {
                let damage = damage.into();
                self.differ(at, Difference::AcceptedLoss { damage, owed, seen });
            }
            // And no number is given again. // 2.7
            let next = next.and_then(|next| self.model.given_beyond(owed.position, next));
            if let Some(given) = next {
                self.differ(at, Difference::GivenAgain(given));
            }
        }
    }
}
