//! Where a call comes from, and who is meant by one that names nobody.

use std::sync::Arc;

use chat_core::Address;

use crate::identity::{Handle, MintSource};
use crate::refusal::Refusal;
use crate::scope::CallerScope;

/// Where a call comes from.
#[derive(Clone, Debug)]
pub struct RequestOrigin {
    /// From which place, for rate limits and bans.
    pub address: Address,
    /// Where participants are minted that may leave their handles out.
    pub scope: Option<Arc<CallerScope>>,
    /// The handle that came beside the arguments, as by a header.
    pub handle: Option<Handle>,
}

impl RequestOrigin {
    /// The handle that was passed, as an argument or beside the arguments.
    ///
    /// # Errors
    /// When there are two that differ.
    pub fn given(&self, argument: Option<&Handle>) -> Result<Option<Handle>, Refusal> {
        match (argument, &self.handle) {
            (Some(a), Some(b)) if a != b => Err(Refusal::invalid(
                "the argument `handle` and the header Chat-Handle differ; pass one of them".into(),
            )),
            (given, beside) => Ok(given.or(beside.as_ref()).cloned()),
        }
    }

    /// Where a registration comes from: the scope, if it has an id, or else the address.
    #[must_use]
    pub fn mint_source(&self) -> MintSource {
        let id = self.scope.as_ref().and_then(|scope| scope.id());
        id.map_or(MintSource::Address(self.address), MintSource::Scope)
    }

    /// Who is meant where none was passed: the one who was minted in this place.
    #[must_use]
    pub fn only(&self) -> Option<Handle> {
        self.scope.as_ref()?.only()
    }
}
