//! The caller: a known participant, or one that the call registers.

use chat_core::{Caller, Earlier, Reject};
use tokio::sync::MutexGuard;

use super::{RequestOrigin, Service, unasked};
use crate::identity::{Handle, MINTING_KEY_CHARS, Minting, minting};
use crate::refusal::Refusal;
use crate::tools::{Ask, Mint, ParsedCall};

/// What is known of a caller before the call to the node.
pub(super) struct IdentifiedCaller {
    pub(super) handle: Handle,
    pub(super) caller: Caller,
}

impl Service {
    /// Identifies the caller: by the passed handle, by its scope, or as a new one.
    pub(super) fn identify(
        &self,
        asked: &ParsedCall,
        origin: &RequestOrigin,
    ) -> Result<IdentifiedCaller, Refusal> {
        if let Some(handle) = origin.given(asked.handle.as_ref())? {
            return Ok(self.known(handle));
        }
        match &asked.ask {
            Ask::Minting(_, mint) => self.mint(mint, asked.key.as_deref(), origin),
            Ask::Command(_)
            | Ask::About { .. }
            | Ask::Read(_)
            | Ask::Members(..)
            | Ask::Search(_) => origin
                .only()
                .map(|handle| self.known(handle))
                .ok_or_else(|| Reject::HandleRequired.into()),
        }
    }

    pub(super) fn known(&self, handle: Handle) -> IdentifiedCaller {
        let caller = Caller::Handle(self.secrets.handle_hash(&handle));
        IdentifiedCaller { handle, caller }
    }

    /// The participant of this scope, or a new one.
    fn mint(
        &self,
        mint: &Mint,
        key: Option<&str>,
        origin: &RequestOrigin,
    ) -> Result<IdentifiedCaller, Refusal> {
        if let Some(handle) = origin
            .scope
            .as_ref()
            .and_then(|scope| scope.implicit_for(mint))
        {
            return Ok(self.known(handle));
        }
        self.room_to_mint(key)?;
        let random = || self.secrets.random_handle();
        let handle = match key {
            Some(key) if minting(key) == Minting::TooWeak => {
                return Err(Refusal::invalid(format!(
                    "`request_key` must have at least {MINTING_KEY_CHARS} random characters when \
                     it mints a handle, or another who guesses it gets the handle; or leave it out"
                )));
            }
            Some(key) => self.secrets.handle_for_key(key, &origin.mint_source()),
            None => match (mint, &origin.scope) {
                (Mint::Unnamed, Some(scope)) => scope.first(random),
                (Mint::Unnamed | Mint::Named(_), _) => random(),
            }
            .map_err(|error| {
                tracing::error!(%error, "no randomness for a handle");
                Refusal::from(Reject::Overloaded {
                    retry_after: chat_core::Span::secs(1),
                    earlier: Earlier::None,
                })
            })?,
        };
        let reader = self.secrets.reader_of(&handle);
        let caller = Caller::New {
            handle: self.secrets.handle_hash(&handle),
            reader: self.secrets.reader_hash(&reader),
            from: origin.address,
        };
        Ok(IdentifiedCaller { handle, caller })
    }

    /// Refuses a new participant while memory is short. A call with a key may repeat a
    /// registration, whose first attempt is not looked up here.
    fn room_to_mint(&self, key: Option<&str>) -> Result<(), Refusal> {
        let room = self.capacity.memory.check();
        room.map_err(|refusal| refusal.after(unasked(key)))
    }
}

/// The turn of a call that could register the first participant of its scope.
pub(super) async fn turn_to_mint<'a>(
    asked: &ParsedCall,
    origin: &'a RequestOrigin,
) -> Option<MutexGuard<'a, ()>> {
    let mints = matches!(asked.ask, Ask::Minting(..));
    let says_who = asked.handle.is_some() || origin.handle.is_some();
    match &origin.scope {
        Some(scope) if mints && !says_who => scope.turn_to_mint().await,
        Some(_) | None => None,
    }
}
