//! The origin of a call, and the participant that a call without a handle means.

use std::sync::Arc;

use chat_core::Address;

use crate::capacity::Source;
use crate::identity::{Handle, MintSource};
use crate::refusal::Refusal;
use crate::scope::CallerScope;
use crate::service::HandleUse;

/// The origin of a call.
#[derive(Clone, Debug)]
pub struct RequestOrigin {
    /// The address, as the realm's state knows it: for bans, and for the limits of the core.
    pub address: Address,
    /// The source whose shares it uses.
    pub source: Source,
    /// The scope of participants that may omit their handles.
    pub scope: Option<Arc<CallerScope>>,
    /// A handle beside the arguments, such as in a header.
    pub handle: Option<Handle>,
}

impl RequestOrigin {
    /// The passed handle, as an argument or beside the arguments.
    ///
    /// # Errors
    /// There are two different handles.
    pub fn given(&self, argument: Option<&Handle>) -> Result<Option<Handle>, Refusal> {
        match (argument, &self.handle) {
            (Some(a), Some(b)) if a != b => Err(Refusal::invalid(
                "the argument `handle` and the header Chat-Handle differ; pass one of them".into(),
            )),
            (given, beside) => Ok(given.or(beside.as_ref()).cloned()),
        }
    }

    /// The source of a registration: the scope's id, if it has one, otherwise the address.
    #[must_use]
    pub fn mint_source(&self) -> MintSource {
        let id = self.scope.as_ref().and_then(|scope| scope.id());
        id.map_or(MintSource::Address(self.address), MintSource::Scope)
    }

    /// Whether a caller must pass this handle in its next call.
    pub(super) fn use_of(&self, handle: &Handle) -> HandleUse {
        match &self.scope {
            Some(scope) if scope.only().as_ref() == Some(handle) => match scope.id() {
                Some(_) => HandleUse::KnownForNow,
                None => HandleUse::MayBeLeftOut,
            },
            Some(_) | None => HandleUse::MustBePassed,
        }
    }

    /// The only participant registered in the scope, for a call without a handle.
    #[must_use]
    pub fn only(&self) -> Option<Handle> {
        self.scope.as_ref()?.only()
    }
}
