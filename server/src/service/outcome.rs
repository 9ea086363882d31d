//! What a call came to, for every transport to show in its own form.

use serde_json::Value;

use crate::driver::CallerContext;
use crate::refusal::Refusal;
use crate::tools::Tool;
use crate::wire::Done;

/// A call that was dealt with.
#[derive(Clone, Debug)]
pub struct CallOutcome {
    /// Which tool.
    pub tool: Tool,
    /// What came of it.
    pub result: Result<Done, Refusal>,
    /// Who and where the caller is; none when the node was never asked.
    pub context: Option<CallerContext>,
    /// Whether the caller need not pass its handle from here on.
    pub implicit: HandleUse,
}

/// Whether a caller has to pass its handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleUse {
    /// It is the only participant of its place.
    MayBeLeftOut,
    /// It has to.
    MustBePassed,
}

impl CallOutcome {
    /// A call that the node was never asked about.
    #[must_use]
    pub const fn refused(tool: Tool, refusal: Refusal) -> Self {
        Self {
            tool,
            result: Err(refusal),
            context: None,
            implicit: HandleUse::MustBePassed,
        }
    }

    /// The result, or `{"error": …}`.
    ///
    /// # Panics
    /// Never: all of it is strings, numbers, lists and maps with names as keys.
    #[must_use]
    pub fn json(&self) -> Value {
        match &self.result {
            Ok(done) => serde_json::to_value(done).expect("results are plain JSON"),
            Err(refusal) => serde_json::json!({ "error": refusal }),
        }
    }
}
