//! The name of a user, the same wherever one is shown.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::protocol::User;

/// The first number of participants with other ids than the server's numbers: a live driver numbers
/// them itself.
pub const FIRST_OTHER: u64 = 1 << 53;

/// Whether the number is the server's.
#[must_use]
pub const fn is_numbered(user: User) -> bool {
    user.0 < FIRST_OTHER
}

/// A virtual user: its id on the server, and its name in the scenario. It is shown as
/// `user_7 (penpal#12)`, because the server's journal and its answers have the id, and only the
/// scenario's name says what kind of user it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserName {
    /// Its last id; none before it registered, and on a server whose ids have another form.
    #[schemars(with = "Option<String>")]
    pub user: Option<User>,
    /// Its name in the scenario: `penpal#12`, or `ann` in the steps form.
    pub name: String,
}

impl UserName {
    /// The user with this last id and this name in the scenario.
    #[must_use]
    pub fn new(user: Option<User>, name: &str) -> Self {
        Self {
            user: user.filter(|user| is_numbered(*user)),
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.user {
            Some(user) if self.name.is_empty() => user.fmt(f),
            Some(user) => write!(f, "{user} ({})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_comes_first_once_there_is_one() {
        let shown = |user: Option<u64>| UserName::new(user.map(User), "penpal#12").to_string();
        assert_eq!(shown(Some(7)), "user_7 (penpal#12)");
        assert_eq!(shown(None), "penpal#12");
        assert_eq!(shown(Some(FIRST_OTHER)), "penpal#12");
    }
}
