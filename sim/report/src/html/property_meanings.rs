//! The meaning of a property, in one sentence.

/// When the property holds; empty for other names.
pub(super) fn meaning(property: &str) -> &'static str {
    match property {
        "no_lost_messages" => {
            "each accepted message reaches all to whom it is owed, or a gap told them"
        }
        "no_duplicates" => "once each, whatever was retried or redelivered",
        "room_order" => "all members see one order per room, and time never goes back in it",
        "no_phantoms" => "nobody sees a message that was not sent, was refused, or is not theirs",
        "single_match" => {
            "nobody is matched with themselves, with someone blocked, or twice at once"
        }
        "fifo_matching" => "under FIFO nobody is overtaken",
        "stick_exclusion" => "accepted speech in a stick room carries the holder's epoch",
        "stick_order" => "no claimant of a stick is overtaken",
        "room_lifecycle" => "one ending per pair room and member, and nothing after it",
        "presence" => "participants go away, come back and are forgotten at their deadlines",
        "moderation" => "blocks, mutes, kicks, closings and bans do what they say",
        "idempotent_requests" => "a repeated key has one effect and one answer",
        "admission" => {
            "a call is refused before the journal when the protocol says so, and not else"
        }
        "durability" => "what was accepted before a crash is there after it",
        "bounded" => "no collection passes its limit, and every overflow was told",
        "breaks_rules" => "stress, bosses and delays are as the breaks and the clock make them",
        "stream_continuity" => "a stream carries every event behind the cursor it opened with",
        "outcomes" => "each call has the answer or the refusal that the protocol prescribes",
        "one_owner" => "only the owner of the log writes to it and takes calls",
        "nodes_agree" => "servers at the same place of the log have the same state",
        "log_progress" => "what a server appends is in the log in time, and batches come first",
        "queue_progress" => "two who can be matched are matched as soon as the line is looked at",
        "stick_progress" => "a lease ends in time, and the next claimant has its turn",
        "delivery_progress" => "every call is answered in time, and events leave as they come",
        "fairness" => "thresholds on shares, longest waits and overtaking are met",
        "latency" => "thresholds on quantiles are met",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::meaning;
    use sim_model::names::PROPERTIES;

    #[test]
    fn every_property_has_a_meaning() {
        for property in PROPERTIES {
            assert!(!meaning(property).is_empty(), "{property}");
        }
    }
}
