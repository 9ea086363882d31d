//! The outline of a run: the main activity of its users, and its length.

use super::dice::Dice;
use super::texts;

/// Factors of the number of visits and of the duration. Short runs are quick; most bugs need state
/// that many visits leave behind.
const LENGTHS: [u32; 4] = [1, 8, 8, 16];

/// The outline of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outline {
    pub(super) theme: Theme,
    /// The factor of the number of visits and of the duration.
    pub(super) length: u32,
}

impl Outline {
    pub(super) fn draw(dice: &mut Dice) -> Self {
        let theme = Theme::draw(dice);
        let length = dice.pick(&LENGTHS);
        dice.say(format!("length ×{length}"));
        Self { theme, length }
    }
}

/// The main activity of a run. Some races need all users to do the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Theme {
    /// Visits of every kind.
    Anything,
    /// Matches one after another, with shared interests from this list.
    Line(&'static [&'static str]),
    /// Matches where all users wait without a stream.
    Absent(&'static [&'static str]),
    /// Matches where half of the partners are blocked: the queue holds many incompatible users.
    Grudges(&'static [&'static str]),
    /// Mostly breaks.
    Rest,
    /// Rooms with these names, which look alike, and operators who mute and ban.
    Barred(&'static [&'static str]),
    /// One room with few places, where users come, speak, fall silent and return.
    Crowd,
    /// Rooms in which users mostly wait.
    Quiet,
}

impl Theme {
    fn draw(dice: &mut Dice) -> Self {
        match dice.between(0, 13) {
            0 => {
                dice.say("all at the line");
                Self::Line(dice.pick(&texts::CIRCLES))
            }
            1 => {
                dice.say("all at the line, without a stream");
                Self::Absent(dice.pick(&texts::CIRCLES))
            }
            2 | 12 => {
                dice.say("all on breaks");
                Self::Rest
            }
            3 => {
                dice.say("all at the line, with grudges");
                Self::Grudges(dice.pick(&texts::CIRCLES))
            }
            4 | 5 => {
                dice.say("all alike, and barred");
                Self::Barred(dice.pick(&texts::LOOK_ALIKES))
            }
            6 | 7 => {
                dice.say("all in one room");
                Self::Crowd
            }
            13 => {
                dice.say("all wait in rooms");
                Self::Quiet
            }
            _ => Self::Anything,
        }
    }
}
