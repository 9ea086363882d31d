//! The protocol by example: scripts with the Hub's results. One file for each area, one test for
//! each rule.

/// Rules by example: a test for each, with its name and a script with the results (see `check`).
macro_rules! scripts {
    ($($(#[$doc:meta])* $rule:ident: $text:literal,)*) => {
        $($(#[$doc])* #[test]
        fn $rule() {
            crate::check::check($text);
        })*
    };
}

mod check;
mod render;
mod script;
mod words;

mod addresses;
mod archive;
mod blocks;
mod breaks;
mod codes;
mod downtime;
mod drafts;
mod gaps;
mod has_read;
mod inbox;
mod keys;
mod limits;
mod lookups;
mod measures;
mod measures_lifted;
mod measures_limits;
mod measures_of_ids;
mod named_rooms;
mod notices;
mod operators;
mod pair_rooms;
mod participant_limits;
mod partners;
mod presence;
mod queue;
mod registration;
mod speaking;
mod speaking_in_turn;
mod stick;
mod waiters;
