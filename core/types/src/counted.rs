//! The kinds of timers, and the moves of a stick: what a server counts of itself, and what a
//! scenario can wait for.

use crate::listed;

listed! {
    /// The kinds of timers, without the owner.
    TimerKind {
        /// A participant goes away, or its registration ends.
        Presence "presence",
        /// A stick's lease ends.
        Lease "lease",
        /// A waiter's patience ends.
        Patience "patience",
    }
}

listed! {
    /// Transitions of a stick or of a claim on it.
    StickMove {
        /// A claim was granted at once, because the stick was free.
        GrantedAtOnce "granted_at_once",
        /// A claim was queued, because another member held the stick.
        Queued "queued",
        /// The stick became free and was granted to the first in line.
        GrantedFromLine "granted_from_line",
        /// The lease ended.
        Expired "expired",
        /// The holder pushed.
        ReleasedByPush "released_by_push",
        /// The holder reset.
        ReleasedByReset "released_by_reset",
        /// The holder left the room, or its registration ended.
        ReleasedByLeave "released_by_leave",
        /// The holder went away.
        ReleasedByAway "released_by_away",
        /// An operator muted the holder.
        ReleasedByMute "released_by_mute",
        /// An operator removed the holder.
        ReleasedByKick "released_by_kick",
        /// A claimant reset.
        WithdrawnByReset "withdrawn_by_reset",
        /// A claimant left the room, or its registration ended.
        WithdrawnByLeave "withdrawn_by_leave",
        /// A claimant went away.
        WithdrawnByAway "withdrawn_by_away",
        /// An operator muted a claimant.
        WithdrawnByMute "withdrawn_by_mute",
        /// An operator removed a claimant.
        WithdrawnByKick "withdrawn_by_kick",
    }
}
