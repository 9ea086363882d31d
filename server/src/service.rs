//! The entry of every transport: a tool with its arguments in, a result or a refusal out.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use chat_core::{
    Address, Call, Caller, Command, Earlier, Read, Reader, Reject, RequestKey, Response,
    SecretHash, Seq, UserId,
};
use serde_json::{Map, Value};
use tokio::sync::MutexGuard;

use crate::barred::Barred;
use crate::capacity::{Capacity, Held, MAX_WAIT, TEXT};
use crate::driver::{Answered, EventStream, Facts, NodeClient, Request};
use crate::identity::{Handle, MINTING_KEY_CHARS, MintSource, Minting, ReaderId, Secrets, minting};
use crate::seat::Seat;
use crate::tools::{Arguments, Ask, Asked, Mint, Tool, parse};
use crate::turned_away::{Kind, Source, TurnedAway, Verdict};
use crate::wire::{self, Asker, Done, Newcomer, Refusal};

/// The origin of a call.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Its address, for rate limits and bans.
    pub address: Address,
    /// Its implicit identity.
    pub seat: Option<Arc<Seat>>,
    /// The handle passed beside the arguments, such as in a header.
    pub handle: Option<Handle>,
}

impl Origin {
    /// The handle that was passed, as an argument or beside the arguments.
    ///
    /// # Errors
    /// There are two different ones.
    pub fn given(&self, argument: Option<&Handle>) -> Result<Option<Handle>, Refusal> {
        match (argument, &self.handle) {
            (Some(a), Some(b)) if a != b => Err(Refusal::invalid(
                "the argument `handle` and the header Chat-Handle differ; pass one of them".into(),
            )),
            (given, beside) => Ok(given.or(beside.as_ref()).cloned()),
        }
    }

    /// The source of a registration: the implicit identity, if it has an id, otherwise the address.
    #[must_use]
    pub fn mint_source(&self) -> MintSource {
        let id = self.seat.as_ref().and_then(|seat| seat.id());
        id.map_or(MintSource::Address(self.address), MintSource::Seat)
    }

    /// The participant of the implicit identity, if there is exactly one.
    #[must_use]
    pub fn only(&self) -> Option<Handle> {
        self.seat.as_ref()?.only()
    }
}

/// A finished call.
#[derive(Clone, Debug)]
pub struct Performed {
    /// The tool.
    pub tool: Tool,
    /// The outcome.
    pub outcome: Result<Done, Refusal>,
    /// The caller's context; none if the node was not called.
    pub facts: Option<Facts>,
    /// Whether the caller may leave its handle out from here on.
    pub implicit: HandleUse,
}

/// Whether a caller must pass its handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleUse {
    /// It may leave it out: it is the only participant of its implicit identity.
    MayBeLeftOut,
    /// It must pass it.
    MustBePassed,
}

impl Performed {
    /// A call that was refused without the node.
    #[must_use]
    pub const fn refused(tool: Tool, refusal: Refusal) -> Self {
        Self {
            tool,
            outcome: Err(refusal),
            facts: None,
            implicit: HandleUse::MustBePassed,
        }
    }

    /// The result, or `{"error": …}`.
    ///
    /// # Panics
    /// Never: all of it is strings, numbers, lists and maps with names as keys.
    #[must_use]
    pub fn json(&self) -> Value {
        match &self.outcome {
            Ok(done) => serde_json::to_value(done).expect("results are plain JSON"),
            Err(refusal) => serde_json::json!({ "error": refusal }),
        }
    }
}

/// The service behind all transports. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Service {
    node: NodeClient,
    secrets: Arc<Secrets>,
    turned_away: Arc<TurnedAway>,
    barred: Arc<Barred>,
    capacity: Arc<Capacity>,
}

/// What is known of a caller before the call to the node.
struct Known {
    handle: Handle,
    caller: Caller,
}

impl Service {
    /// A service over this node.
    #[must_use]
    pub fn new(node: NodeClient, secrets: Secrets) -> Self {
        Self {
            node,
            secrets: Arc::new(secrets),
            turned_away: Arc::default(),
            barred: Arc::default(),
            capacity: Arc::default(),
        }
    }

    /// Sets the limits on clients' resources.
    #[must_use]
    pub fn within(self, capacity: Arc<Capacity>) -> Self {
        Self { capacity, ..self }
    }

    /// The limits on clients' resources.
    #[must_use]
    pub const fn capacity(&self) -> &Arc<Capacity> {
        &self.capacity
    }

    /// The node's client, for views and for stopping.
    #[must_use]
    pub fn node(&self) -> &NodeClient {
        &self.node
    }

    /// The server's secrets.
    #[must_use]
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Counts and logs a refused request.
    pub fn turn_away(&self, source: Source, kind: Kind) -> Verdict {
        self.node.metrics().turned_away(kind);
        self.turned_away.note(source, kind)
    }

    /// The recently refused sources.
    #[must_use]
    pub fn turned_away(&self) -> &TurnedAway {
        &self.turned_away
    }

    /// The banned addresses, whose streams and waiting calls end.
    #[must_use]
    pub fn barred(&self) -> &Barred {
        &self.barred
    }

    /// Takes a place for another stream of this source.
    ///
    /// # Errors
    /// The refusal: the pool is used up, or memory is short.
    pub fn place_for_stream(&self, source: Address) -> Result<Held, Refusal> {
        self.capacity.memory.check()?;
        Ok(self.capacity.streams.take(source, 1)?)
    }

    /// Calls the node, and counts calls of banned addresses.
    async fn call(&self, address: Address, request: Request) -> Answered {
        let answered = self.node.call(address, request).await;
        self.tell_banned(address, answered.outcome.as_ref().err());
        answered
    }

    fn tell_banned(&self, address: Address, reject: Option<&Reject>) {
        if reject == Some(&Reject::Blocked) {
            let source = Source { address, ip: None };
            self.turn_away(source, Kind::Banned);
        }
    }

    /// The core's hash of an address.
    #[must_use]
    pub fn address(&self, ip: IpAddr) -> Address {
        self.secrets.address(ip)
    }

    /// Calls a tool. Every failure is a refusal with a code and a sentence.
    pub async fn perform(
        &self,
        tool: Tool,
        arguments: Map<String, Value>,
        origin: &Origin,
    ) -> Performed {
        let asked = parse(tool, Arguments::new(tool, arguments));
        self.perform_read(tool, asked, origin).await
    }

    /// Calls a tool whose arguments were parsed, or refused.
    pub async fn perform_read(
        &self,
        tool: Tool,
        asked: Result<Asked, Refusal>,
        origin: &Origin,
    ) -> Performed {
        match asked {
            Ok(asked) => self.ask(tool, asked, origin).await,
            Err(refusal) => self.counted(Instant::now(), Performed::refused(tool, refusal)),
        }
    }

    fn counted(&self, began: Instant, performed: Performed) -> Performed {
        let metrics = self.node.metrics();
        metrics.called(performed.tool, began.elapsed());
        if let Err(refusal) = &performed.outcome {
            metrics.refused(refusal.code);
        }
        performed
    }

    /// Makes a parsed call.
    pub async fn ask(&self, tool: Tool, asked: Asked, origin: &Origin) -> Performed {
        let began = Instant::now();
        let room = self.room_for(&asked, origin.address).await;
        let _turn = turn_to_mint(&asked, origin).await;
        let known = room.and_then(|()| self.identify(&asked, origin));
        let performed = match known {
            Ok(known) => {
                let excuse = asked.ask.excuse();
                let answered = self.answer(&known, asked, origin).await;
                self.performed(tool, &known, answered, (origin, excuse.as_deref()))
            }
            Err(refusal) => Performed::refused(tool, refusal),
        };
        self.counted(began, performed)
    }

    /// Calls the node. A read without a handle registers its caller first.
    async fn answer(&self, known: &Known, asked: Asked, origin: &Origin) -> Answered {
        let address = origin.address;
        let reads_mood = matches!(asked.ask, Ask::Mood);
        if reads_mood && matches!(known.caller, Caller::New { .. }) {
            let key = asked.key.as_deref();
            let key = key.map(|key| self.secrets.request_key(key));
            let arrive = command_call(known.caller.clone(), key, Command::Arrive);
            let arrived = self.call(address, Request::Call(arrive)).await;
            if arrived.outcome.is_err() {
                return arrived;
            }
            // The read uses the handle. If the call were cancelled, the next one could not mint it
            // again.
            if let (Some(seat), Some(me)) = (&origin.seat, &arrived.facts.me) {
                seat.minted(&known.handle, &me.who.name);
            }
        }
        let request = self.request(known, asked);
        self.call(address, request).await
    }

    fn performed(
        &self,
        tool: Tool,
        known: &Known,
        answered: Answered,
        (origin, excuse): (&Origin, Option<&str>),
    ) -> Performed {
        let handle = &known.handle;
        let Answered { outcome, facts } = answered;
        if let Some(seat) = &origin.seat {
            match (&outcome, &facts.me) {
                (Err(Reject::UnknownHandle), _) => seat.forget(handle),
                (Ok(_), Some(me)) if tool.mints() => seat.minted(handle, &me.who.name),
                (Ok(_) | Err(_), _) => {}
            }
        }
        let left_out = origin.only().as_ref() == Some(handle);
        let asker = Asker {
            handle,
            secrets: &self.secrets,
            newcomer: match known.caller {
                Caller::New { .. } => Newcomer::Yes,
                Caller::Handle(_) => Newcomer::No,
            },
            excuse,
        };
        Performed {
            tool,
            outcome: outcome
                .map(|response| wire::result(&response, &facts, asker))
                .map_err(Refusal::from),
            facts: Some(facts),
            implicit: if left_out {
                HandleUse::MayBeLeftOut
            } else {
                HandleUse::MustBePassed
            },
        }
    }

    /// Identifies the caller: by its handle, by its implicit identity, or as a newcomer.
    fn identify(&self, asked: &Asked, origin: &Origin) -> Result<Known, Refusal> {
        if let Some(handle) = origin.given(asked.handle.as_ref())? {
            return Ok(self.known(handle));
        }
        match &asked.ask {
            Ask::Minting(_, mint) => self.mint(mint, asked.key.as_deref(), origin),
            Ask::Mood => self.mint(&Mint::Unnamed, asked.key.as_deref(), origin),
            Ask::Command(_) | Ask::About { .. } | Ask::Read(_) => origin
                .only()
                .map(|handle| self.known(handle))
                .ok_or_else(|| Reject::HandleRequired.into()),
        }
    }

    fn known(&self, handle: Handle) -> Known {
        let caller = Caller::Handle(self.secrets.handle_hash(&handle));
        Known { handle, caller }
    }

    /// The participant of the implicit identity, or a newcomer.
    fn mint(&self, mint: &Mint, key: Option<&str>, origin: &Origin) -> Result<Known, Refusal> {
        if let Some(handle) = origin
            .seat
            .as_ref()
            .and_then(|seat| seat.implicit_for(mint))
        {
            return Ok(self.known(handle));
        }
        self.room_to_mint(key)?;
        let random = || self.secrets.random_handle();
        let handle = match key {
            Some(key) if minting(key) == Minting::TooWeak => {
                return Err(Refusal::invalid(format!(
                    "`request_key` must have at least {MINTING_KEY_CHARS} random characters when \
                     it mints a handle, or whoever guesses it gets the handle; or leave it out"
                )));
            }
            Some(key) => self.secrets.handle_for_key(key, &origin.mint_source()),
            None => match (mint, &origin.seat) {
                (Mint::Unnamed, Some(seat)) => seat.first(random),
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
        Ok(Known { handle, caller })
    }

    /// Refuses a newcomer while memory is short. A call with a key may be a repetition, whose first
    /// attempt is not looked up here.
    fn room_to_mint(&self, key: Option<&str>) -> Result<(), Refusal> {
        let room = self.capacity.memory.check();
        room.map_err(|refusal| refusal.after(unasked(key)))
    }

    /// Refuses reads of lists and of several past messages while memory is short. A check is
    /// answered, because it frees memory. So is a read of one message, by which `/reconnect` finds
    /// its caller. A text waits for its source's turn, and is refused if memory is far too short.
    async fn room_for(&self, asked: &Asked, source: Address) -> Result<(), Refusal> {
        let capacity = &self.capacity;
        if matches!(
            asked.ask,
            Ask::Read(Read::History { limit: 2.., .. } | Read::Members { .. })
        ) {
            return capacity.memory.check();
        }
        let Some(text) = asked.ask.text() else {
            return Ok(());
        };
        let earlier = |refusal: Refusal| refusal.after(unasked(asked.key.as_deref()));
        capacity.memory.check_texts().map_err(earlier)?;
        let bytes = text.len() as u64 + TEXT;
        let mut patience = MAX_WAIT;
        let turn = capacity.texts.spend(source, bytes, &mut patience).await;
        turn.map_err(|too_fast| earlier(too_fast.into()))
    }

    fn request(&self, known: &Known, asked: Asked) -> Request {
        let key = asked
            .key
            .as_deref()
            .map(|key| self.secrets.request_key(key));
        let caller = known.caller.clone();
        match asked.ask {
            Ask::Command(command) | Ask::Minting(command, _) => {
                Request::Call(command_call(caller, key, command))
            }
            Ask::About {
                user,
                said,
                command,
            } => Request::About(
                user,
                Box::new(move |user| command_call(caller, key, command(user, said))),
            ),
            Ask::Read(read) => read_call(&caller, read),
            Ask::Mood => read_call(&caller, Read::Mood),
        }
    }

    /// Ends a participant's registration; never creates one.
    pub async fn unregister(&self, handle: &Handle, origin: &Origin) -> Answered {
        let known = self.known(handle.clone());
        let call = command_call(known.caller, None, Command::Unregister);
        let answered = self.call(origin.address, Request::Call(call)).await;
        if let (Some(seat), Ok(_)) = (&origin.seat, &answered.outcome) {
            seat.forget(handle);
        }
        answered
    }

    /// Opens the event stream of the participant with this handle.
    ///
    /// # Errors
    /// The refusal.
    pub async fn stream_of(
        &self,
        handle: &Handle,
        address: Address,
        after: Option<Seq>,
    ) -> Result<(EventStream, Facts), Refusal> {
        let reader = Reader::Handle(self.secrets.handle_hash(handle));
        self.stream(reader, address, after).await
    }

    /// Opens an event stream of the inbox with this reader id. It only reads: it neither makes the
    /// participant present nor acknowledges events.
    ///
    /// # Errors
    /// The refusal.
    pub async fn stream_for(
        &self,
        reader: &ReaderId,
        address: Address,
        after: Option<Seq>,
    ) -> Result<(EventStream, Facts), Refusal> {
        let reader = Reader::ReaderId(self.secrets.reader_hash(reader));
        self.stream(reader, address, after).await
    }

    async fn stream(
        &self,
        reader: Reader,
        address: Address,
        after: Option<Seq>,
    ) -> Result<(EventStream, Facts), Refusal> {
        match self.node.open_stream(address, reader, after).await {
            Ok(open) => Ok(open),
            Err(answered) => {
                let shut = Reject::ShuttingDown {
                    earlier: Earlier::Unasked,
                };
                let reject = answered.outcome.err().unwrap_or(shut);
                self.tell_banned(address, Some(&reject));
                Err(reject.into())
            }
        }
    }

    /// The owner of an inbox, and the place after which a bare `check` would continue.
    ///
    /// # Errors
    /// The refusal.
    pub async fn bookmark(&self, reader: &ReaderId) -> Result<(UserId, Seq), Refusal> {
        let hash = self.secrets.reader_hash(reader);
        let look = self.node.look(move |node| {
            let user = node.hub().user_by_reader(&hash)?;
            node.unread(user).map(|(cursor, _)| (user, cursor))
        });
        match look.await {
            Some(Some(found)) => Ok(found),
            Some(None) => Err(Reject::UnknownHandle.into()),
            None => Err(Reject::Overloaded {
                retry_after: chat_core::Span::secs(1),
                earlier: Earlier::Unasked,
            }
            .into()),
        }
    }

    /// Reads an inbox by its reader id: at once, and without acknowledging events.
    ///
    /// # Errors
    /// The refusal.
    pub async fn read_inbox(
        &self,
        reader: &ReaderId,
        address: Address,
        after: Option<Seq>,
    ) -> Result<(Response, Facts), Refusal> {
        self.capacity.memory.check()?;
        let call = Call::Read {
            reader: Reader::ReaderId(self.secrets.reader_hash(reader)),
            read: Read::Check {
                after,
                wait: chat_core::Span::ZERO,
                max: usize::MAX,
            },
        };
        let Answered { outcome, facts } = self.call(address, Request::Call(call)).await;
        Ok((outcome?, facts))
    }
}

/// The turn of a call that could mint the first participant of its implicit identity.
async fn turn_to_mint<'a>(asked: &Asked, origin: &'a Origin) -> Option<MutexGuard<'a, ()>> {
    let mints = matches!(asked.ask, Ask::Minting(..) | Ask::Mood);
    let says_who = asked.handle.is_some() || origin.handle.is_some();
    match &origin.seat {
        Some(seat) if mints && !says_who => seat.turn_to_mint().await,
        Some(_) | None => None,
    }
}

/// What a refusal says of earlier attempts with this key, which were not looked up.
const fn unasked(key: Option<&str>) -> Earlier {
    match key {
        Some(_) => Earlier::Unknown,
        None => Earlier::Unasked,
    }
}

fn command_call(caller: Caller, key: Option<RequestKey>, command: Command) -> Call {
    Call::Command {
        caller,
        key,
        command,
    }
}

fn read_call(caller: &Caller, read: Read) -> Request {
    Request::Call(Call::Read {
        reader: Reader::Handle(hash_of(caller)),
        read,
    })
}

fn hash_of(caller: &Caller) -> SecretHash {
    match caller {
        Caller::Handle(handle) | Caller::New { handle, .. } => *handle,
    }
}
