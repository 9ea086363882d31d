//! Outcomes of calls, in words.

use std::fmt;

use sim_model::protocol::{Answer, Earlier, Outcome, Refusal};

/// An outcome as differences and facts show it.
pub(crate) struct OutcomeText<'a>(pub(crate) &'a Outcome);

impl fmt::Display for OutcomeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(Answer::Done) => f.write_str("success"),
            Ok(answer) => write!(f, "{answer:?}"),
            Err(refusal) => RefusalText(refusal).fmt(f),
        }
    }
}

/// A refusal, with what it says of another attempt.
pub(crate) struct RefusalText<'a>(pub(crate) &'a Refusal);

impl fmt::Display for RefusalText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.code)?;
        if let Some(span) = self.0.retry_after {
            write!(f, " (retry after {span})")?;
        }
        if let Some(rooms) = self.0.rooms {
            write!(f, " (in {rooms} rooms)")?;
        }
        match self.0.earlier {
            Earlier::Unsaid => Ok(()),
            Earlier::None => f.write_str(" (no earlier attempt)"),
            Earlier::Unknown => f.write_str(" (an earlier attempt may have taken effect)"),
        }
    }
}
