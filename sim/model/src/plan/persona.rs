//! Kinds of users: what they do, how, and what a perfect client would not do.

use std::sync::Arc;

use super::Step;
use crate::draw::Ratio;
use crate::protocol::ReadBy;

/// A kind of user.
#[derive(Clone, Debug)]
pub struct Persona {
    /// Its name.
    pub name: String,
    /// How often it is drawn, against the others.
    pub weight: u32,
    /// What it does that a perfect client would not.
    pub habits: Habits,
    /// Whether it holds an event stream.
    pub stream: bool,
    /// How it goes about its flow.
    pub manner: Manner,
    /// What it does.
    pub flow: Arc<[Step]>,
}

/// How a user goes about its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// By which secret it opens its stream.
    pub stream_by: ReadBy,
    /// How it reads its inbox.
    pub reads: Reads,
    /// What it calls itself.
    pub names: Naming,
}

/// How a user reads its inbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// By its stream, and by checks where the stream leaves a hole or is down.
    #[default]
    Exactly,
    /// By its stream alone, which it trusts to skip nothing: each opening begins behind the last
    /// event it has, and what is missing before that it never asks for.
    ByStream,
}

/// What a user calls itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// The name of its persona and its number.
    #[default]
    Given,
    /// The same behind a word of some script.
    Scripts,
    /// One of few names in some spelling: most look like another user's.
    Alike,
    /// A name at the limits of what a server allows, or beyond them; and such cursors.
    Odd,
    /// None in the queue, unless the flow gives one; the given one in a room.
    Unnamed,
}

/// What real clients do. Drawn per call, but `bare_check` and `no_key` once per user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Habits {
    /// Never passes `after` to `check`.
    pub bare_check: Ratio,
    /// Forgets its handle and registers again (drawn before each step of the flow).
    pub forget_handle: Ratio,
    /// Gives a call up after 60 s, or at the first timeout if that is earlier.
    pub abandon: Ratio,
    /// Sends the next step's call without waiting for this one's answer.
    pub parallel: Ratio,
    /// Retries without a request key.
    pub no_key: Ratio,
    /// Opens a second stream beside one that just opened, and closes the first after a while.
    pub second_stream: Ratio,
    /// Makes a call that its flow does not have, in any room it knows of (drawn before each step).
    pub stray: Ratio,
}
