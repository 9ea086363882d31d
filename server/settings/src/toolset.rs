//! Subsets of the tools, by name.

use std::str::FromStr;

/// A subset of the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Toolset {
    /// Matching and pair rooms.
    Pairing,
    /// Named rooms with the talking stick.
    Room,
    /// Breaks, and the boss.
    Breaks,
}

impl Toolset {
    /// Every toolset.
    pub const ALL: &'static [Self] = &[Self::Pairing, Self::Room, Self::Breaks];

    /// The name in settings.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_toolset_is_refused_with_the_known_ones() {
        let why = "music".parse::<Toolset>().unwrap_err();
        assert!(why.contains("pairing, room, breaks"), "{why}");
    }
}
