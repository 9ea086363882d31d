//! The origin of a call, and the participant that a call without a handle means.

use std::sync::Arc;

use chat_core::Address;

use crate::capacity::Source;
use crate::identity::{Handle, MintSource};
use crate::refusal::Refusal;
use crate::scope::CallerScope;
use crate::service::HandleUse;

/// The origin of a call.
#[derive(Clone, Debug, Default)]
pub struct RequestOrigin {
    /// The address, as the realm's state knows it: for bans, and for the limits of the core.
    pub address: Address,
    /// The source whose shares it uses.
    pub source: Source,
    /// The scope of its session, or of its process on stdio, whose participants may omit their
    /// handles.
    pub scope: Option<Arc<CallerScope>>,
    /// The scope of its bearer token, whose participants may, where the session has none.
    pub token: Option<Arc<CallerScope>>,
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

    /// The scope from which the handle of a registration is derived: the token's, because it outlives
    /// sessions.
    pub(super) fn minting_scope(&self) -> Option<&CallerScope> {
        self.token.as_deref().or(self.scope.as_deref())
    }

    /// The scopes that learn of the caller.
    pub(super) fn scopes(&self) -> impl Iterator<Item = &CallerScope> {
        let scopes = [self.scope.as_deref(), self.token.as_deref()];
        scopes.into_iter().flatten()
    }

    /// Removes a participant whose registration ended.
    pub(super) fn forget(&self, handle: &Handle) {
        self.scopes().for_each(|scope| scope.forget(handle));
    }

    /// The source of a registration: the scope's id, if it has one, otherwise the address.
    #[must_use]
    pub fn mint_source(&self) -> MintSource {
        let id = self.minting_scope().and_then(CallerScope::id);
        id.map_or(MintSource::Address(self.address), MintSource::Scope)
    }

    /// Whether a caller must pass this handle in its next call.
    pub(super) fn use_of(&self, handle: &Handle) -> HandleUse {
        let mut scopes = self.scopes();
        match scopes.find(|scope| scope.only().as_ref() == Some(handle)) {
            Some(scope) => match scope.id() {
                Some(_) => HandleUse::KnownForNow,
                None => HandleUse::MayBeLeftOut,
            },
            None => HandleUse::MustBePassed,
        }
    }
}
