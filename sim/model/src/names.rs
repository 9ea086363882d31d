//! The properties, which scenarios and results name.

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
    ($($(#[doc = $sentence:literal])* $variant:ident $word:literal $class:ident,)*) => {
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

            /// The class of the property.
            #[must_use]
            pub const fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)* }
            }
        }
    };
}

properties! {
    /// each accepted message reaches every participant it is owed to, or a gap reports the loss
    NoLostMessages "no_lost_messages" Safety,
    /// each message arrives once, whatever was retried or redelivered
    NoDuplicates "no_duplicates" Safety,
    /// all members see one order per room, each sender's messages keep their order, and
    /// timestamps never go back
    RoomOrder "room_order" Safety,
    /// no participant sees a message that was never sent, was refused, or is for others
    NoPhantoms "no_phantoms" Safety,
    /// no participant is matched with itself, with a blocked one, twice at once, or after
    /// leaving the queue
    SingleMatch "single_match" Safety,
    /// under FIFO no participant is overtaken
    FifoMatching "fifo_matching" Safety,
    /// accepted speech in a room with a stick carries the holder's epoch; epochs have one
    /// holder each
    StickExclusion "stick_exclusion" Safety,
    /// no claimant of a stick is overtaken
    StickOrder "stick_order" Safety,
    /// each pair room ends once for each member, with the right reason, and nothing comes after
    /// it
    RoomLifecycle "room_lifecycle" Safety,
    /// participants go away, come back and are forgotten at their deadlines, neither before nor
    /// after
    Presence "presence" Safety,
    /// blocks, reports, mutes, kicks, closings and bans have the effect that the protocol
    /// prescribes
    Moderation "moderation" Safety,
    /// a repeated key has one effect and one answer
    IdempotentRequests "idempotent_requests" Safety,
    /// a call is refused before the journal when the protocol says so, and no other call is
    Admission "admission" Safety,
    /// no accepted command is lost in a crash; a start from a damaged journal is refused, or
    /// gives the same state; an accepted loss costs only what the damage took
    Durability "durability" Safety,
    /// no collection exceeds its limit, and every overflow is reported
    Bounded "bounded" Safety,
    /// stress, the boss's alertness and delayed answers follow from the breaks and the clock
    BreaksRules "breaks_rules" Safety,
    /// a stream carries every event behind the cursor it opened with, in order
    StreamContinuity "stream_continuity" Safety,
    /// each call has the answer or the refusal that the protocol prescribes
    Outcomes "outcomes" Safety,
    /// with users that sleep: the waker of each looks into its inbox without a pause, knocks at the
    /// first look that shows something for it, once more a minute later, and not otherwise
    Woken "woken" Safety,
    /// with several servers: only the owner of their log writes to it, and no two servers take
    /// calls at one instant
    OneOwner "one_owner" Safety,
    /// with several servers: all have the same state at the same place of the log
    NodesAgree "nodes_agree" Safety,
    /// with several servers: what a server appends is in the log in time, and a batch that is
    /// due comes first
    LogProgress "log_progress" Liveness,
    /// two participants who can be matched are matched the next time the queue is examined
    QueueProgress "queue_progress" Liveness,
    /// a lease ends in time, and the next claimant then has its turn
    StickProgress "stick_progress" Liveness,
    /// every call is answered in time, and an open stream delivers new events at once; with
    /// several servers: after half a minute without faults one of them owns the log, and the
    /// others follow it
    DeliveryProgress "delivery_progress" Liveness,
    /// the scenario's thresholds on shares, longest waits and overtaking are met
    Fairness "fairness" Threshold,
    /// the scenario's thresholds on quantiles are met
    Latency "latency" Threshold,
}

impl Class {
    /// The class of the property of this name. A panic, which is no property, is as grave as a safety
    /// violation.
    #[must_use]
    pub fn of(property: &str) -> Self {
        Property::named(property).map_or(Self::Safety, Property::class)
    }
}

/// The names of the properties that a scenario is judged by, with so many servers, and with users that
/// sleep or without: on one server, three are about nothing, and another one without sleepers.
#[must_use]
pub fn properties_of(servers: u32, sleeps: bool) -> Vec<&'static str> {
    let is_judged = |property: &&Property| {
        let is_of_several = matches!(
            property,
            Property::OneOwner | Property::NodesAgree | Property::LogProgress
        );
        let is_of_sleepers = matches!(property, Property::Woken);
        (servers > 1 || !is_of_several) && (sleeps || !is_of_sleepers)
    };
    let judged = Property::ALL.iter().filter(is_judged);
    judged.map(|property| property.name()).collect()
}

/// The names of all properties.
pub const PROPERTIES: [&str; Property::ALL.len()] = *Property::NAMES
    .first_chunk()
    .expect("each variant has a name");

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
