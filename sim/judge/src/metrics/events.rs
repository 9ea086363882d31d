//! What users learn from their inboxes: messages, matches, grants, and the ends of claims.

use chat_types::Time;

use super::groups::Measured;
use super::{EVENT_LINE, MESSAGE_FRAME, Metrics, Times};
use sim_model::history::Record;
use sim_model::protocol::{InboxEvent, LostRange, Membership, Room, StickChange, StickLoss};

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
        event: &InboxEvent<'_>,
        sent_at: Time,
    ) {
        let (at, agent) = (record.at, record.agent);
        let waits = self.waits(agent);
        match *event {
            InboxEvent::Message {
                room,
                room_seq,
                text,
                ..
            } => {
                let bytes = std::mem::take(&mut waits.bytes) + MESSAGE_FRAME + text.len() as u64;
                self.bytes_per_message.record(bytes);
                self.learn(room, room_seq, Times::Seen(agent, at));
                return;
            }
            InboxEvent::Found { room, .. } => {
                if let Some(since) = waits.record_match(room) {
                    waits.last_in_line = Some((since, sent_at.min(at)));
                    self.waited_in_line(record, since);
                }
            }
            InboxEvent::Stick {
                room, user, change, ..
            } if record.user == Some(user) => self.stick_changed(record, room, change),
            InboxEvent::Member {
                room, user, change, ..
            } if record.user == Some(user) => waits.came_or_went(room, change),
            InboxEvent::Moderation {
                room, user, act, ..
            } => {
                let on_me = user.is_some() && user == record.user;
                let ended = waits.record_moderation(room, act, on_me);
                self.count_unserved(Measured::StickWait, ended, at);
            }
            InboxEvent::Gap { rooms, .. } => {
                for lost in rooms {
                    self.record_gap(record, lost);
                }
            }
            InboxEvent::Stick { .. }
            | InboxEvent::Ended { .. }
            | InboxEvent::PartnerAway { .. }
            | InboxEvent::PartnerBack { .. }
            | InboxEvent::Member { .. } => {}
        }
        self.waits(agent).bytes += EVENT_LINE;
    }

    fn stick_changed(&mut self, record: &Record<'_>, room: Room, change: StickChange) {
        let waits = self.waits(record.agent);
        match change {
            StickChange::Granted { epoch, .. } => {
                if let Some(since) = waits.record_grant(room, epoch) {
                    self.waited_for_stick(record, room, since);
                }
            }
            StickChange::Released { epoch } | StickChange::Expired { epoch } => {
                if waits.granted == Some((room, epoch)) {
                    waits.holds = false;
                }
            }
            StickChange::Claimed { .. } => {}
        }
    }
}
