//! Drafts as their writers know them: what a push should say.

use std::sync::Arc;

use super::event::text_print;
use crate::protocol::Room;

/// What a message should say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// The text of this fingerprint.
    Exactly(u64),
    /// The draft of this fingerprint, unless another call changes it before.
    Drafted(u64),
    /// Nobody can tell, since the fate of an earlier call is unknown.
    Anything,
}

impl Said {
    /// Whether a message of this text can be meant.
    pub(crate) fn allows(self, text: u64) -> bool {
        match self {
            Self::Exactly(print) | Self::Drafted(print) => print == text,
            Self::Anything => true,
        }
    }
}

/// How surely a draft is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Certainty {
    /// Each call's effect is known.
    Sure,
    /// Calls overlapped: unknown until the draft is cleared.
    UntilCleared,
    /// A call of unknown fate may still take effect at any time.
    Never,
}

/// One draft.
#[derive(Clone, Debug)]
struct Draft {
    room: Option<Room>,
    /// Each append, and how many of its bytes were taken.
    pieces: Vec<(Arc<str>, usize)>,
    length: u32,
    certainty: Certainty,
    in_flight: u32,
    /// Whether the call that left last did so while no other was under way.
    alone: bool,
    era: u32,
}

/// How a draft's length, as the server gives it, compares with what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// As it should be; `true` if a crash came between.
    AsExpected { since_crash: bool },
    /// Shorter, and a crash came between.
    LostInCrash { expected: u32 },
    /// Longer.
    Longer { expected: u32 },
    /// Nobody can tell.
    Unsure,
}

/// What a call did to a draft.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    Append { text: Arc<str>, truncated: u32 },
    Undo,
    Clear,
}

/// All drafts of one participant, by room as the calls named it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drafts(Vec<Draft>);

impl Drafts {
    fn of(&mut self, room: Option<Room>) -> &mut Draft {
        let index = self.0.iter().position(|draft| draft.room == room);
        let index = index.unwrap_or_else(|| {
            // With and without the room's name it may be one draft: then nothing is sure.
            let mixed = self
                .0
                .iter()
                .any(|draft| draft.room.is_some() != room.is_some());
            let certainty = if mixed {
                Certainty::Never
            } else {
                Certainty::Sure
            };
            if mixed {
                for draft in &mut self.0 {
                    draft.certainty = Certainty::Never;
                }
            }
            self.0.push(Draft {
                room,
                pieces: Vec::new(),
                length: 0,
                certainty,
                in_flight: 0,
                alone: true,
                era: 0,
            });
            self.0.len() - 1
        });
        &mut self.0[index]
    }

    /// A call on the draft left.
    pub(crate) fn called(&mut self, room: Option<Room>) {
        let draft = self.of(room);
        draft.in_flight += 1;
        draft.alone = draft.in_flight == 1;
        if !draft.alone {
            draft.certainty = draft.certainty.max(Certainty::UntilCleared);
        }
    }

    /// What a push that leaves now should say.
    pub(crate) fn said(&mut self, room: Option<Room>) -> Said {
        let draft = self.of(room);
        if draft.certainty > Certainty::Sure || draft.in_flight > 0 {
            return Said::Anything;
        }
        let text: String = draft
            .pieces
            .iter()
            .map(|(text, bytes)| &text[..*bytes])
            .collect();
        Said::Drafted(text_print(&text))
    }

    /// A call's effect may come more than once, or at any time.
    pub(crate) fn doubt(&mut self, room: Option<Room>) {
        self.of(room).certainty = Certainty::Never;
    }

    /// The member left the room, and what becomes of its draft is not said.
    pub(crate) fn left(&mut self, room: Option<Room>) {
        let draft = self.of(room);
        draft.certainty = draft.certainty.max(Certainty::UntilCleared);
    }

    /// The member may be in another chat now, which calls that name none are about.
    pub(crate) fn moved(&mut self) {
        for draft in self.0.iter_mut().filter(|draft| draft.room.is_none()) {
            draft.certainty = draft.certainty.max(Certainty::UntilCleared);
        }
    }

    /// A call on the draft was refused, or given up.
    pub(crate) fn settled(&mut self, room: Option<Room>) {
        let draft = self.of(room);
        draft.in_flight = draft.in_flight.saturating_sub(1);
        self.0.retain(|draft| {
            draft.in_flight > 0 || draft.length > 0 || draft.certainty > Certainty::Sure
        });
    }

    /// A call on the draft was accepted. `length` is what the server says of it.
    pub(crate) fn edited(
        &mut self,
        room: Option<Room>,
        edit: &Edit,
        length: Option<u32>,
        era: u32,
    ) -> Length {
        let draft = self.of(room);
        draft.in_flight = draft.in_flight.saturating_sub(1);
        let had = draft.length;
        match edit {
            Edit::Append { text, truncated } => {
                let chars = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
                let kept = chars.saturating_sub(*truncated);
                let bytes = text
                    .char_indices()
                    .nth(kept as usize)
                    .map_or(text.len(), |(at, _)| at);
                draft.pieces.push((Arc::clone(text), bytes));
                draft.length += kept;
            }
            Edit::Undo => {
                if let Some((text, bytes)) = draft.pieces.pop() {
                    let chars = u32::try_from(text[..bytes].chars().count()).unwrap_or(u32::MAX);
                    draft.length = draft.length.saturating_sub(chars);
                }
            }
            Edit::Clear => {
                draft.pieces.clear();
                draft.length = 0;
                // Of calls that overlapped nobody can tell which came after the clearing.
                if draft.alone && draft.certainty == Certainty::UntilCleared {
                    draft.certainty = Certainty::Sure;
                }
            }
        }
        draft.compare(length, had, era)
    }
}

impl Draft {
    /// `had` is the draft's length before the edit: an empty draft survives any crash.
    fn compare(&mut self, length: Option<u32>, had: u32, era: u32) -> Length {
        let since_crash = had > 0 && era > self.era;
        self.era = era;
        let Some(length) = length else {
            return Length::Unsure;
        };
        let expected = self.length;
        if self.certainty > Certainty::Sure {
            return Length::Unsure;
        }
        if length == expected {
            return Length::AsExpected { since_crash };
        }
        self.certainty = Certainty::UntilCleared;
        if length > expected {
            Length::Longer { expected }
        } else if since_crash {
            Length::LostInCrash { expected }
        } else {
            Length::Unsure
        }
    }
}
