//! Claims: a standby that hears nothing wants to be the owner.

use chat_core::{Span, Time, mix};

use super::append::Purpose;
use super::{Member, State};
use crate::envelope::Body;
use crate::timing::{MARGIN, Now, SILENCE};

impl Member {
    /// When the silence is long enough for a claim. `None` if this member is no candidate: its
    /// claim would expect a sequence that is not the log's last one.
    pub(super) fn claim_due(&self) -> Option<Time> {
        let is_free = self.append.is_none() && self.missing.is_none();
        if !matches!(self.state, State::Standby(_)) || !is_free {
            return None;
        }
        let id = self.settings.id;
        let drawn = mix(mix(id.number, id.incarnation), self.place.sequence);
        let margin = Span(drawn % MARGIN.0);
        let silence = match &self.place.owner {
            // The owner that resigned leaves the log to others, if there are any.
            Some(owner) if owner.resigned && owner.member == id => SILENCE + SILENCE,
            // Nobody has a lease: it ended before the resignation was published.
            Some(owner) if owner.resigned => return Some(self.heard.max(self.claim_from)),
            Some(_) | None => SILENCE,
        };
        Some((self.heard + silence + margin).max(self.claim_from))
    }

    pub(super) fn handle_silence(&mut self, now: Now) {
        if self.claim_due().is_none_or(|due| now.boot < due) {
            return;
        }
        let address = self.settings.address.clone();
        let address = &*address;
        let claim = self.place.seal(self.settings.id, Body::Claim { address });
        self.begin_append(now, Purpose::Claim, claim);
    }
}
