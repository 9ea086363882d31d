//! The tools: one list, whoever calls them. MCP, plain HTTP and stdio read their names, their
//! arguments and their results from here.

mod arguments;
mod ask;
mod catalog;

pub use arguments::Arguments;
pub use ask::{Ask, Asked, Mint, parse, parse_check_event, parse_send};
pub use catalog::{Description, describe};

use std::fmt;
use std::str::FromStr;

use chat_core::BreakKind;

macro_rules! tools {
    ($($(#[$doc:meta])* $variant:ident $name:literal $sets:expr;)*) => {
        /// A tool.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Tool {
            $($(#[$doc])* $variant,)*
            /// Take a break of this kind.
            Break(BreakKind),
            /// Read how stressed one is, and how alert the boss.
            CheckStressStatus,
        }

        impl Tool {
            /// Every tool, in the order in which they are listed.
            pub const ALL: &'static [Self] = &[
                $(Self::$variant,)*
                Self::Break(BreakKind::TakeABreak),
                Self::Break(BreakKind::WatchNetflix),
                Self::Break(BreakKind::ShowMeme),
                Self::Break(BreakKind::BathroomBreak),
                Self::Break(BreakKind::CoffeeMission),
                Self::Break(BreakKind::UrgentCall),
                Self::Break(BreakKind::DeepThinking),
                Self::Break(BreakKind::EmailOrganizing),
                Self::Break(BreakKind::Chimaek),
                Self::Break(BreakKind::LeaveWork),
                Self::Break(BreakKind::CompanyDinner),
                Self::CheckStressStatus,
            ];

            /// The name by which it is called.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Break(kind) => kind.name(),
                    Self::CheckStressStatus => "check_stress_status",
                }
            }

            /// The toolsets that it is in.
            #[must_use]
            pub const fn toolsets(self) -> &'static [Toolset] {
                match self {
                    $(Self::$variant => $sets,)*
                    Self::Break(_) | Self::CheckStressStatus => &[Breaks],
                }
            }
        }
    };
}

use Toolset::{Breaks, Pairing, Room};

tools! {
    /// Stand in the line for a partner.
    EnterQueue "enter_queue" &[Pairing];
    /// Leave the line.
    LeaveQueue "leave_queue" &[Pairing];
    /// Say something at once.
    SendMessage "send_message" &[Pairing];
    /// Leave a room: whoever can enter one can leave it.
    LeaveChat "leave_chat" &[Pairing, Room];
    /// Register under a name and join a named room.
    Login "login" &[Room];
    /// Read the inbox.
    Check "check" &[Pairing, Room];
    /// Claim the stick.
    TalkingStick "talking_stick" &[Room];
    /// Add to the draft.
    Append "append" &[Room];
    /// Send the draft.
    Push "push" &[Room];
    /// Take the last append back.
    Undo "undo" &[Room];
    /// Clear the draft.
    Reset "reset" &[Room];
    /// Who is in a room.
    ListUsers "list_users" &[Room];
    /// What was said in a room.
    History "history" &[Room];
    /// Tell the room that one is typing.
    Typing "typing" &[Pairing, Room];
    /// Neither meet nor hear somebody again.
    BlockUser "block_user" &[Pairing, Room];
    /// Meet and hear a user again.
    UnblockUser "unblock_user" &[Pairing, Room];
    /// Report somebody to the operators.
    ReportUser "report_user" &[Pairing, Room];
}

impl Tool {
    /// Whether it only reads.
    #[must_use]
    pub const fn is_read_only(self) -> bool {
        matches!(
            self,
            Self::Check | Self::ListUsers | Self::History | Self::CheckStressStatus
        )
    }

    /// Whether a call without a handle registers somebody.
    #[must_use]
    pub const fn mints(self) -> bool {
        matches!(
            self,
            Self::EnterQueue | Self::Login | Self::Break(_) | Self::CheckStressStatus
        )
    }
}

impl FromStr for Tool {
    type Err = UnknownTool;

    fn from_str(name: &str) -> Result<Self, UnknownTool> {
        let named = |tool: &&Self| tool.name() == name;
        Self::ALL.iter().find(named).copied().ok_or(UnknownTool)
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no tool of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no such tool")]
pub struct UnknownTool;

/// A part of the tools, for clients that need no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Toolset {
    /// Meeting somebody by chance, and talking.
    Pairing,
    /// Named rooms with their talking stick.
    Room,
    /// Breaks, and the boss.
    Breaks,
}

impl Toolset {
    /// Every toolset.
    pub const ALL: &'static [Self] = &[Self::Pairing, Self::Room, Self::Breaks];

    /// The name by which it is chosen.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pairing => "pairing",
            Self::Room => "room",
            Self::Breaks => "breaks",
        }
    }
}

impl FromStr for Toolset {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let named = |set: &&Self| set.name() == name;
        Self::ALL.iter().find(named).copied().ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|set| set.name()).collect();
            format!("`{name}` is no toolset; there are {}", known.join(", "))
        })
    }
}

/// The tools of these toolsets, in their order.
#[must_use]
pub fn of_toolsets(sets: &[Toolset]) -> Vec<Tool> {
    let wanted = |tool: &&Tool| tool.toolsets().iter().any(|set| sets.contains(set));
    Tool::ALL.iter().filter(wanted).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_found_by_their_names_alone() {
        for tool in Tool::ALL {
            assert_eq!(tool.name().parse(), Ok(*tool));
        }
        assert_eq!("Login".parse::<Tool>(), Err(UnknownTool));
    }

    #[test]
    fn a_toolset_is_a_part_and_all_of_them_are_all() {
        assert_eq!(of_toolsets(Toolset::ALL), Tool::ALL);
        let pairing = of_toolsets(&[Pairing]);
        assert!(pairing.contains(&Tool::EnterQueue) && !pairing.contains(&Tool::Login));
        let breaks = of_toolsets(&[Breaks]);
        let kinds = BreakKind::ALL.iter().map(|kind| Tool::Break(*kind));
        let all: Vec<_> = kinds.chain([Tool::CheckStressStatus]).collect();
        assert_eq!(breaks, all);
        let in_both = [
            Tool::Check,
            Tool::Typing,
            Tool::BlockUser,
            Tool::UnblockUser,
            Tool::ReportUser,
        ];
        for both in in_both {
            assert_eq!(both.toolsets(), [Pairing, Room]);
        }
        assert!(
            "music"
                .parse::<Toolset>()
                .unwrap_err()
                .contains("pairing, room, breaks")
        );
    }
}
