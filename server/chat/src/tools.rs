//! The tools: one list for all transports. MCP, plain HTTP and stdio take names, arguments and
//! results from here.

mod arguments;
mod ask;
mod catalog;
mod describe;

pub use arguments::{Arguments, NOTHING};
pub use ask::{Ask, MemberPart, ParsedCall, Search, parse, parse_check_event};
pub use catalog::Tool;

use std::fmt;

use server_settings::Toolset;

impl Tool {
    /// The tool of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|tool| tool.name() == name)
    }

    /// Whether a call without a handle registers its caller.
    #[must_use]
    pub const fn mints(self) -> bool {
        matches!(self, Self::EnterQueue | Self::Login | Self::Break(_))
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The tools of these toolsets, in their order.
#[must_use]
pub fn of_toolsets(sets: &[Toolset]) -> Vec<Tool> {
    let wanted = |tool: &Tool| tool.toolsets().iter().any(|set| sets.contains(set));
    Tool::all().filter(wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Toolset::Pairing;
    use chat_core::BreakKind;

    #[test]
    fn tools_are_found_by_their_names_alone() {
        for tool in Tool::all() {
            assert_eq!(Tool::named(tool.name()), Some(tool));
        }
        assert_eq!(Tool::named("Login"), None);
    }

    #[test]
    fn a_toolset_is_a_part_and_all_of_them_are_all() {
        assert!(of_toolsets(Toolset::ALL).into_iter().eq(Tool::all()));
        let pairing = of_toolsets(&[Pairing]);
        assert!(pairing.contains(&Tool::EnterQueue) && !pairing.contains(&Tool::Login));
        let breaks = of_toolsets(&[Toolset::Breaks]);
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
            assert_eq!(both.toolsets(), [Pairing, Toolset::Room]);
        }
    }
}
