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
    Line(Line, &'static str),
    /// Mostly breaks.
    Rest,
    /// Rooms with these names, which look alike, and operators who mute and ban.
    Barred(&'static str),
    /// One room with few places, where users come, speak, fall silent and return.
    Crowd,
    /// Rooms in which users mostly wait.
    Quiet,
}

/// How all users wait in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// As usual.
    Plain,
    /// Without a stream.
    Absent,
    /// Where half of the partners are blocked: the queue holds many incompatible users.
    Grudges,
}

impl Theme {
    fn draw(dice: &mut Dice) -> Self {
        let kind = dice.between(0, 13);
        let mut line = |line| Self::Line(line, dice.pick(&texts::CIRCLES));
        let (theme, words) = match kind {
            0 => (line(Line::Plain), "all at the line"),
            1 => (line(Line::Absent), "all at the line, without a stream"),
            2 | 12 => (Self::Rest, "all on breaks"),
            3 => (line(Line::Grudges), "all at the line, with grudges"),
            4 | 5 => {
                let names = dice.pick(&texts::LOOK_ALIKES);
                (Self::Barred(names), "all alike, and barred")
            }
            6 | 7 => (Self::Crowd, "all in one room"),
            13 => (Self::Quiet, "all wait in rooms"),
            _ => return Self::Anything,
        };
        dice.say(words);
        theme
    }

    /// How all users wait in the queue, if all are there.
    pub(super) const fn line(self) -> Option<Line> {
        match self {
            Self::Line(line, _) => Some(line),
            Self::Anything | Self::Rest | Self::Barred(_) | Self::Crowd | Self::Quiet => None,
        }
    }

    pub(super) const fn is_barred(self) -> bool {
        matches!(self, Self::Barred(_))
    }
}
