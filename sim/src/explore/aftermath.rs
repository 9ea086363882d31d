//! What is kept of a failure besides its words.

use serde::Serialize;

use crate::plan::Plan;

use super::Failure;

/// The files that show a failure again.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// The drawn configuration as a scenario: its text, for the caller to write.
    pub scenario: Option<String>,
    /// What became of it when it was made smaller.
    pub shrunk: Option<Shrunk>,
}

/// A smaller scenario with the same violation.
#[derive(Clone, Debug, Serialize)]
pub struct Shrunk {
    /// Users left.
    pub users: u64,
    /// Steps left.
    pub steps: u64,
    /// Faults left.
    pub faults: u64,
    /// Where it was written.
    pub file: String,
    /// How long that took, in milliseconds.
    pub wall_ms: f64,
}

/// What is kept of a failure whose configuration was drawn as `plan`. Every failure can be tried
/// again by its seed; a scenario file can be read and changed as well.
#[must_use]
pub fn after_failure(_failure: &Failure, plan: &Plan) -> Kept {
    Kept {
        scenario: as_scenario(plan),
        shrunk: None,
    }
}

/// The plan as a scenario file's text, where there is a writer for it.
fn as_scenario(_plan: &Plan) -> Option<String> {
    None
}
