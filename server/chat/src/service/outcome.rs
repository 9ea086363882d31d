//! The outcome of a call, which each transport shows in its own format.

use serde_json::Value;

use crate::driver::CallerContext;
use crate::identity::Handle;
use crate::refusal::Refusal;
use crate::tools::Tool;
use crate::wire::Done;

/// The outcome of a call.
#[derive(Clone, Debug)]
pub struct CallOutcome {
    /// The tool.
    pub tool: Tool,
    /// The result.
    pub result: Result<Done, Refusal>,
    /// The caller's identity and rooms; `None` if the node was not called.
    pub context: Option<CallerContext>,
    /// Whether the caller may omit its handle from now on.
    pub implicit: HandleUse,
    /// The caller's handle; `None` if the caller was not identified.
    pub caller: Option<Handle>,
}

/// Whether a caller must pass its handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleUse {
    /// It is the only participant of this process.
    MayBeLeftOut,
    /// It is the only participant of its session or token: until that ends, or the server restarts.
    KnownForNow,
    /// It must.
    MustBePassed,
}

impl CallOutcome {
    /// A call that was refused before the node.
    #[must_use]
    pub const fn refused(tool: Tool, refusal: Refusal) -> Self {
        Self {
            tool,
            result: Err(refusal),
            context: None,
            implicit: HandleUse::MustBePassed,
            caller: None,
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
