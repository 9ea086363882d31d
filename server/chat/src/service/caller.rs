//! The origin of a call, and its caller: a known participant, or one that the call registers.

use std::sync::Arc;

use chat_core::{Address, Caller, Earlier, Reject, SecretHash, Span, UserId};
use tokio::sync::MutexGuard;

use super::{HandleUse, Service, unasked};
use crate::capacity::Source;
use crate::identity::{Handle, MINTING_KEY_CHARS, Secrets, may_mint};
use crate::refusal::Refusal;
use crate::scope::{CallerScope, Elsewhere};
use crate::tools::{Ask, ParsedCall};

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

    /// The handle of a registration from here with this key.
    #[must_use]
    pub fn handle_for_key(&self, secrets: &Secrets, key: &str) -> Handle {
        let scope = self.minting_scope().and_then(CallerScope::id);
        secrets.handle_for_key(key, scope.as_deref(), self.address)
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

/// What is known of a caller before the call to the node.
pub(super) struct IdentifiedCaller {
    pub(super) handle: Handle,
    pub(super) caller: Caller,
}

impl Service {
    /// Identifies the caller: by the passed handle, by its scopes, or as a new one.
    pub(super) async fn identify(
        &self,
        asked: &ParsedCall,
        origin: &RequestOrigin,
    ) -> Result<IdentifiedCaller, Refusal> {
        let argument = asked.handle.as_ref();
        if let Ask::Minting(_, name) = &asked.ask
            && origin.given(argument)?.is_none()
        {
            return self
                .mint(name.as_deref(), asked.key.as_deref(), origin)
                .await;
        }
        Ok(self.known(self.handle_of(origin, argument).await?))
    }

    /// The handle that was passed, or that of the only participant whom a call without one can mean.
    ///
    /// # Errors
    /// There is none, two differ, or the node does not answer.
    pub async fn handle_of(
        &self,
        origin: &RequestOrigin,
        argument: Option<&Handle>,
    ) -> Result<Handle, Refusal> {
        match origin.given(argument)? {
            Some(handle) => Ok(handle),
            None => Ok(self.only(origin).await?.ok_or(Reject::HandleRequired)?),
        }
    }

    /// The participant of a call without a handle that registers none: the only one of its session or
    /// process, else the only one of its token.
    ///
    /// # Errors
    /// The state cannot be read now.
    pub async fn only(&self, origin: &RequestOrigin) -> Result<Option<Handle>, Refusal> {
        let own = origin.scope.as_ref().and_then(|scope| scope.only());
        let Some(token) = origin.token.as_ref().filter(|_| own.is_none()) else {
            return Ok(own);
        };
        let renewed = self.renew(token, Elsewhere::OfAddress, origin.address);
        renewed.await?;
        Ok(token.only())
    }

    /// The participants of a request's session or process; if it has none, those of its token.
    pub async fn participants(&self, origin: &RequestOrigin) -> Vec<Handle> {
        let own = origin.scope.as_ref().map(|scope| scope.handles());
        let own = own.unwrap_or_default();
        let Some(token) = origin.token.as_ref().filter(|_| own.is_empty()) else {
            return own;
        };
        // If the state cannot be read now, those that are known are enough.
        let renewed = self.renew(token, Elsewhere::OfAddress, origin.address);
        let _ = renewed.await;
        token.handles()
    }

    /// Finds the participants of a session again that an earlier process knew.
    pub async fn take_up(&self, scope: &CallerScope, address: Address) {
        // If the state cannot be read now, the client passes its handle.
        let _ = self.renew(scope, Elsewhere::Derived, address).await;
    }

    /// Brings a scope up to the committed state. Returns who registered last.
    async fn renew(
        &self,
        scope: &CallerScope,
        elsewhere: Elsewhere,
        address: Address,
    ) -> Result<UserId, Reject> {
        let handles = scope.handles().into_iter();
        let hashed: Vec<_> = handles
            .map(|handle| (self.secrets.handle_hash(&handle), handle))
            .collect();
        let looked = self.node.look(move |view| {
            let hub = view.hub;
            let who = |hash: &SecretHash| hub.who_is(hub.user_by_handle(hash)?).cloned();
            let by_handle = hashed
                .into_iter()
                .map(|(hash, handle)| (handle, who(&hash)));
            let by_handle: Vec<_> = by_handle.collect();
            let of_address = hub.registered_from(address);
            let of_address = of_address.filter(|_| elsewhere != Elsewhere::Nobody);
            let of_address = of_address.map(|(who, hash)| (Arc::clone(who), hash));
            (hub.newest_user(), by_handle, of_address.collect::<Vec<_>>())
        });
        let (newest, by_handle, of_address) = looked.await?;
        scope.renew(&by_handle, &of_address, elsewhere, &self.secrets);
        Ok(newest)
    }

    pub(super) fn known(&self, handle: Handle) -> IdentifiedCaller {
        let caller = Caller::Handle(self.secrets.handle_hash(&handle));
        IdentifiedCaller { handle, caller }
    }

    /// The participant of these scopes, or a new one.
    async fn mint(
        &self,
        name: Option<&str>,
        key: Option<&str>,
        origin: &RequestOrigin,
    ) -> Result<IdentifiedCaller, Refusal> {
        let own = (&origin.scope, Elsewhere::Nobody);
        let mut newest = UserId(0);
        for (scope, elsewhere) in [own, (&origin.token, Elsewhere::OfAddress)] {
            let Some(scope) = scope else { continue };
            let renewed = self.renew(scope, elsewhere, origin.address).await;
            newest = renewed.map_err(|reject| Refusal::from(reject.with_earlier(unasked(key))))?;
            if let Some(handle) = scope.implicit_for(name) {
                return Ok(self.known(handle));
            }
        }
        // A call with a key may repeat a registration, whose first attempt is not looked up here.
        let room = self.capacity.memory.check();
        room.map_err(|refusal| refusal.after(unasked(key)))?;
        let handle = self.new_handle((name, key), origin, newest)?;
        let reader = self.secrets.reader_of(&handle);
        let caller = Caller::New {
            handle: self.secrets.handle_hash(&handle),
            reader: self.secrets.reader_hash(&reader),
            from: origin.address,
        };
        Ok(IdentifiedCaller { handle, caller })
    }

    /// A new handle: derived from the scope, so that it is found again, or from the key, or random.
    fn new_handle(
        &self,
        (name, key): (Option<&str>, Option<&str>),
        origin: &RequestOrigin,
        newest: UserId,
    ) -> Result<Handle, Refusal> {
        let scope = origin.minting_scope();
        if let Some(key) = key
            && !scope.is_some_and(|scope| scope.derives(name))
        {
            if !may_mint(key) {
                return Err(Refusal::invalid(format!(
                    "`request_key` must have at least {MINTING_KEY_CHARS} random characters when \
                     it mints a handle, or another who guesses it gets the handle; or leave it out"
                )));
            }
            return Ok(origin.handle_for_key(&self.secrets, key));
        }
        let made = match scope {
            Some(scope) => scope.handle_to_mint(name, newest, &self.secrets),
            None => Secrets::random_handle(),
        };
        made.map_err(|error| {
            tracing::error!(%error, "no randomness for a handle");
            Refusal::from(Reject::overloaded(Span::secs(1)).with_earlier(Earlier::None))
        })
    }
}

/// The turn of a call that could register the first participant of its scope.
pub(super) async fn turn_to_mint<'a>(
    asked: &ParsedCall,
    origin: &'a RequestOrigin,
) -> Option<MutexGuard<'a, ()>> {
    let mints = matches!(asked.ask, Ask::Minting(..));
    let says_who = asked.handle.is_some() || origin.handle.is_some();
    let scope = origin.minting_scope();
    scope.filter(|_| mints && !says_who)?.turn_to_mint().await
}
