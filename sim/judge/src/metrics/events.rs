//! What users learn from their inboxes: messages, matches, grants, and the ends of claims.

use chat_types::Time;

use super::{EVENT_LINE, MESSAGE_FRAME, Metrics};
use sim_model::history::Record;
use sim_model::plan::Metric;
use sim_model::protocol::{Body, Event, InboxEvent, LostRange, Membership, Room, StickLoss, Who};

impl Metrics {
    /// Processes the part of a gap about one room. A wait ends when its user learns of its end.
    fn record_gap(&mut self, record: &Record<'_>, lost: &LostRange) {
        let agent = record.agent;
        if lost.you == Some(Membership::Matched)
            && let Some(since) = self.waits(agent).record_match(lost.room)
        {
            self.waited_in_line(record, since);
        }
        let Some(stick) = lost.stick else { return };
        let (StickLoss::Granted(epoch) | StickLoss::Released(epoch) | StickLoss::Expired(epoch)) =
            stick;
        if let Some(since) = self.waits(agent).record_grant(lost.room, epoch.0) {
            self.waited_for_stick(record, lost.room, since);
        }
        self.waits(agent).holds = matches!(stick, StickLoss::Granted(_));
    }

    pub(super) fn record_event(
        &mut self,
        record: &Record<'_>,
        event: InboxEvent<'_>,
        sent_at: Time,
    ) {
        let (at, agent) = (record.at, record.agent);
        match event {
            InboxEvent::Gap(gap) => {
                for lost in &gap.rooms {
                    self.record_gap(record, lost);
                }
            }
            InboxEvent::Event(event) => {
                if let Body::Message { text, .. } = &event.body {
                    let framed = MESSAGE_FRAME + text.len() as u64;
                    let bytes = std::mem::take(&mut self.waits(agent).bytes) + framed;
                    self.measured.of(Metric::BytesPerMessage).record(bytes);
                    self.seen(event.room, event.room_seq.0, (agent, at));
                    return;
                }
                self.record_change(record, event, sent_at);
            }
        }
        self.waits(agent).bytes += EVENT_LINE;
    }

    /// Processes an event that is no message.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other event ends a wait")]
    fn record_change(&mut self, record: &Record<'_>, event: &Event, sent_at: Time) {
        let (at, room, waits) = (record.at, event.room, self.waits(record.agent));
        let mine = |user: &Who| record.user == Some(user.id);
        match &event.body {
            Body::Found(_) => {
                if let Some(since) = waits.record_match(room) {
                    waits.last_in_line = Some((since, sent_at.min(at)));
                    self.waited_in_line(record, since);
                }
            }
            Body::StickGranted { user, epoch, .. } if mine(user) => {
                if let Some(since) = waits.record_grant(room, epoch.0) {
                    self.waited_for_stick(record, room, since);
                }
            }
            Body::StickReleased { user, epoch } | Body::StickExpired { user, epoch }
                if mine(user) =>
            {
                waits.holds &= waits.granted != Some((room, epoch.0));
            }
            Body::Away(user) | Body::Back(user) if mine(user) => waits.lost_claim(room),
            Body::Muted { user, .. } | Body::Kicked { user, .. } if mine(user) => {
                self.claim_ended(record, room);
            }
            Body::Closed { .. } => self.claim_ended(record, room),
            _ => {}
        }
    }

    /// An operator ended the claim of the user in this room, if there is one.
    fn claim_ended(&mut self, record: &Record<'_>, room: Room) {
        let ended = self.waits(record.agent).end_claim(room);
        self.count_unserved(Metric::StickWait, ended, record.at);
    }
}
