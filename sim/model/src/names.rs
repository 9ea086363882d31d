//! The closed lists of names that scenarios and results use: properties, and the core's timers and
//! transitions of sticks. A test in `sim-world`, which depends on the core, compares the last two with
//! the core's own lists.

use serde::Serialize;

/// Whether a property is judged in the safety or in the liveness phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Nothing bad happens.
    Safety,
    /// Something good happens in time, once the faults are healed.
    Liveness,
    /// A metric meets its threshold.
    Threshold,
}

/// Declares the properties: the comment of each is its sentence.
macro_rules! properties {
    ($($(#[doc = $sentence:literal])* $variant:ident $word:literal,)*) => {
        chat_types::listed! {
            /// A property, in the order of the tables in docs/running.md and ARCHITECTURE.md.
            Property { $($(#[doc = $sentence])* $variant $word,)* }
        }

        impl Property {
            /// When the property holds. The file that checks it has the rule in full.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($sentence),*).trim_start(),)* }
            }
        }
    };
}

properties! {
    /// each accepted message reaches every participant it is owed to, or a gap reports the loss
    NoLostMessages "no_lost_messages",
    /// each message arrives once, whatever was retried or redelivered
    NoDuplicates "no_duplicates",
    /// all members see one order per room, each sender's messages keep their order, and
    /// timestamps never go back
    RoomOrder "room_order",
    /// no participant sees a message that was never sent, was refused, or is for others
    NoPhantoms "no_phantoms",
    /// no participant is matched with itself, with a blocked one, twice at once, or after
    /// leaving the queue
    SingleMatch "single_match",
    /// under FIFO no participant is overtaken
    FifoMatching "fifo_matching",
    /// accepted speech in a room with a stick carries the holder's epoch; epochs have one
    /// holder each
    StickExclusion "stick_exclusion",
    /// no claimant of a stick is overtaken
    StickOrder "stick_order",
    /// each pair room ends once for each member, with the right reason, and nothing comes after
    /// it
    RoomLifecycle "room_lifecycle",
    /// participants go away, come back and are forgotten at their deadlines, neither before nor
    /// after
    Presence "presence",
    /// blocks, reports, mutes, kicks, closings and bans have the effect that the protocol
    /// prescribes
    Moderation "moderation",
    /// a repeated key has one effect and one answer
    IdempotentRequests "idempotent_requests",
    /// a call is refused before the journal when the protocol says so, and no other call is
    Admission "admission",
    /// no accepted command is lost in a crash; a start from a damaged journal is refused, or
    /// gives the same state; an accepted loss costs only what the damage took
    Durability "durability",
    /// no collection exceeds its limit, and every overflow is reported
    Bounded "bounded",
    /// stress, the boss's alertness and delayed answers follow from the breaks and the clock
    BreaksRules "breaks_rules",
    /// a stream carries every event behind the cursor it opened with, in order
    StreamContinuity "stream_continuity",
    /// each call has the answer or the refusal that the protocol prescribes
    Outcomes "outcomes",
    /// with several servers: only the owner of their log writes to it, and no two servers take
    /// calls at one instant
    OneOwner "one_owner",
    /// with several servers: all have the same state at the same place of the log
    NodesAgree "nodes_agree",
    /// with several servers: what a server appends is in the log in time, and a batch that is
    /// due comes first
    LogProgress "log_progress",
    /// two participants who can be matched are matched the next time the queue is examined
    QueueProgress "queue_progress",
    /// a lease ends in time, and the next claimant then has its turn
    StickProgress "stick_progress",
    /// every call is answered in time, and an open stream delivers new events at once; with
    /// several servers: after half a minute without faults one of them owns the log, and the
    /// others follow it
    DeliveryProgress "delivery_progress",
    /// the scenario's thresholds on shares, longest waits and overtaking are met
    Fairness "fairness",
    /// the scenario's thresholds on quantiles are met
    Latency "latency",
}

impl Class {
    /// The class of the property of this name. A panic, which is no property, is as grave as a safety
    /// violation.
    #[must_use]
    pub fn of(property: &str) -> Self {
        Property::named(property).map_or(Self::Safety, Property::class)
    }
}

impl Property {
    /// The property of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.name() == name)
    }

    /// The class of the property.
    #[must_use]
    pub const fn class(self) -> Class {
        if matches!(
            self,
            Self::LogProgress | Self::QueueProgress | Self::StickProgress | Self::DeliveryProgress
        ) {
            Class::Liveness
        } else if matches!(self, Self::Fairness | Self::Latency) {
            Class::Threshold
        } else {
            Class::Safety
        }
    }
}

/// The names of the properties that a scenario with so many servers is judged by: on one server,
/// three are about nothing.
#[must_use]
pub fn properties_of(servers: u32) -> Vec<&'static str> {
    let is_judged = |property: &&Property| {
        let is_of_several = matches!(
            property,
            Property::OneOwner | Property::NodesAgree | Property::LogProgress
        );
        servers > 1 || !is_of_several
    };
    let judged = Property::ALL.iter().filter(is_judged);
    judged.map(|property| property.name()).collect()
}

/// The names of all properties.
pub const PROPERTIES: [&str; Property::ALL.len()] = {
    let mut names = [""; Property::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Property::ALL[index].name();
        index += 1;
    }
    names
};

/// Every kind of timer of the server.
pub const TIMERS: [&str; 3] = ["presence", "lease", "patience"];

/// Every transition of a stick or of a claim on it.
pub const STICK_MOVES: [&str; 15] = [
    "granted_at_once",
    "queued",
    "granted_from_line",
    "expired",
    "released_by_push",
    "released_by_reset",
    "released_by_leave",
    "released_by_away",
    "released_by_mute",
    "released_by_kick",
    "withdrawn_by_reset",
    "withdrawn_by_leave",
    "withdrawn_by_away",
    "withdrawn_by_mute",
    "withdrawn_by_kick",
];

#[cfg(test)]
mod tests {
    use super::Property;

    #[test]
    fn the_chapter_about_the_judge_has_the_meaning_of_each_property() {
        let row = |one: &Property| format!("| `{}` | {} |\n", one.name(), one.meaning());
        let rows: String = Property::ALL.iter().map(row).collect();
        let chapter = include_str!("../../../docs/running.md");
        assert!(
            chapter.contains(&rows),
            "docs/running.md needs these rows:\n{rows}"
        );
    }
}
