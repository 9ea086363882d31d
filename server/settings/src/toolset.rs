//! Subsets of the tools, by name.

use std::str::FromStr;

chat_types::listed! {
    /// A subset of the tools.
    Toolset {
        /// Matching and pair rooms.
        Pairing "pairing",
        /// Named rooms with the talking stick.
        Room "room",
        /// Breaks, and the boss.
        Breaks "breaks",
    }
}

impl FromStr for Toolset {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = || Self::NAMES.join(", ");
        Self::named(name).ok_or_else(|| format!("`{name}` is no toolset; there are {}", known()))
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
