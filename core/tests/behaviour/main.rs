//! The protocol by example: scripts, and what the Hub makes of them. One file for each area, one
//! test for each rule.

mod check;
mod render;
mod script;
mod words;

mod drafts;
mod named;
mod notices;
mod pairs;
mod presence;
mod queue;
mod registration;
mod stick;
