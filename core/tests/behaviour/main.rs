//! The protocol by example: scripts with the Hub's results. One file for each area, one test for
//! each rule.

mod check;
mod render;
mod script;
mod words;

mod archive;
mod blocks;
mod breaks;
mod codes;
mod downtime;
mod drafts;
mod gaps;
mod inbox;
mod kept;
mod kept_ids;
mod kept_space;
mod keys;
mod limits;
mod lookups;
mod named;
mod notices;
mod operators;
mod pairs;
mod partners;
mod places;
mod presence;
mod queue;
mod registration;
mod speaking;
mod stick;
