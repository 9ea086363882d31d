//! The entry of every transport: a tool with its arguments in, a result or a refusal out.

mod caller;
mod inboxes;
mod listening;
mod past;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chat_core::{
    Address, Call, Caller, Command, Earlier, Read, Reader, Reject, RequestKey, Span, UserId,
};
use serde_json::{Map, Value};
use server_settings::Toolset;
use server_storage::history::History;

use crate::capacity::{Capacity, ENTRY, MAX_WAIT, Source, TEXT};
use crate::driver::{Answered, NodeClient};
use crate::identity::{Handle, Secrets};
use crate::metrics::Row;
use crate::refusal::Refusal;
use crate::refused_requests::{Kind, Peer, RefusedRequests};
use crate::tools::{Arguments, Ask, ParsedCall, Search, Tool, of_toolsets, parse};
use crate::wire;

pub use crate::wire::{CallOutcome, Done, HandleUse};
pub use caller::RequestOrigin;

use caller::{IdentifiedCaller, turn_to_mint};

/// No participant: ids are assigned from 1 on.
const NOBODY: UserId = UserId(0);

/// The tools, for all transports. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Service {
    node: NodeClient,
    secrets: Arc<Secrets>,
    /// The secrets by which sources are known: those of the first realm.
    sources: Arc<Secrets>,
    /// The recently refused sources.
    pub refused_requests: Arc<RefusedRequests>,
    capacity: Arc<Capacity>,
    /// The history, if the journal is durable.
    pub history: Option<History>,
}

impl Service {
    /// A service over this node.
    #[must_use]
    pub fn new(node: NodeClient, secrets: Secrets) -> Self {
        let secrets = Arc::new(secrets);
        Self {
            node,
            sources: Arc::clone(&secrets),
            secrets,
            refused_requests: Arc::default(),
            capacity: Arc::default(),
            history: None,
        }
    }

    /// Gives it the history of a durable journal.
    #[must_use]
    pub fn remembering(self, history: Option<History>) -> Self {
        Self { history, ..self }
    }

    /// The tools of these toolsets that this server can serve: a search needs a history.
    #[must_use]
    pub fn tools(&self, sets: &[Toolset]) -> Vec<Tool> {
        let mut tools = of_toolsets(sets);
        tools.retain(|tool| *tool != Tool::Search || self.history.is_some());
        tools
    }

    /// Sets the limits on clients' resources.
    #[must_use]
    pub fn within(self, capacity: Arc<Capacity>) -> Self {
        Self { capacity, ..self }
    }

    /// Makes it the service of another realm of the same process as `first`: what limits sources is
    /// shared, so that the realms together give a source what one of them would.
    #[must_use]
    pub fn beside(self, first: &Self) -> Self {
        Self {
            sources: Arc::clone(&first.sources),
            refused_requests: Arc::clone(&first.refused_requests),
            capacity: Arc::clone(&first.capacity),
            ..self
        }
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

    /// Counts and logs a refused request. Returns how long the sender of too many wrong tokens has to wait.
    pub fn refuse_request(&self, peer: Peer, kind: Kind) -> Option<Duration> {
        self.node.metrics().count(Row::TurnedAway, kind.name());
        self.refused_requests.note(peer, kind)
    }

    /// The owner of this handle as a reader.
    #[must_use]
    pub fn reader(&self, handle: &Handle) -> Reader {
        Reader::Handle(self.secrets.handle_hash(handle))
    }

    /// Calls the node, and reports a ban of the address.
    async fn call(&self, address: Address, call: Call) -> Answered {
        let answered = self.node.call(address, call).await;
        self.tell_banned(address, answered.outcome.as_ref().err());
        answered
    }

    fn tell_banned(&self, address: Address, reject: Option<&Reject>) {
        if reject == Some(&Reject::Blocked) {
            // By the realm's own hash: the operators of a realm ban addresses in it alone.
            let source = Source(address.0);
            self.refuse_request(Peer { source, ip: None }, Kind::Banned);
        }
    }

    /// The core's hash of an address.
    #[must_use]
    pub fn address(&self, ip: IpAddr) -> Address {
        self.secrets.address(ip)
    }

    /// The source at an address, the same in all realms of this process.
    #[must_use]
    pub fn source(&self, ip: IpAddr) -> Source {
        Source(self.sources.address(ip).0)
    }

    /// The source that is a bearer token's owner.
    #[must_use]
    pub fn source_of_scope(&self, id: &str) -> Source {
        Source(self.sources.address_of_scope(id).0)
    }

    /// Calls a tool. Every failure is a refusal with a code and a sentence.
    pub async fn perform(
        &self,
        tool: Tool,
        arguments: Map<String, Value>,
        origin: &RequestOrigin,
    ) -> CallOutcome {
        let asked = parse(tool, Arguments::new(tool, arguments));
        self.ask(tool, asked, origin).await
    }

    /// Calls a tool whose arguments were parsed, or refused.
    pub async fn ask(
        &self,
        tool: Tool,
        asked: Result<ParsedCall, Refusal>,
        origin: &RequestOrigin,
    ) -> CallOutcome {
        let began = Instant::now();
        let outcome = match asked {
            Ok(asked) => self.serve(tool, asked, origin).await,
            Err(refusal) => Err(refusal),
        };
        let outcome = outcome.unwrap_or_else(|refusal| CallOutcome::refused(tool, refusal));
        let metrics = self.node.metrics();
        metrics.called(tool, began.elapsed());
        if let Err(refusal) = &outcome.result {
            metrics.count(Row::Refusals, refusal.code);
        }
        outcome
    }

    async fn serve(
        &self,
        tool: Tool,
        asked: ParsedCall,
        origin: &RequestOrigin,
    ) -> Result<CallOutcome, Refusal> {
        self.room_for(&asked, origin.source).await?;
        let _turn = turn_to_mint(&asked, origin).await;
        let known = self.identify(&asked, origin).await?;
        if let Ask::Search(search) = &asked.ask {
            return Ok(self.searched(&known, search, origin).await);
        }
        Ok(self.asked(tool, &known, asked, origin).await)
    }

    async fn asked(
        &self,
        tool: Tool,
        known: &IdentifiedCaller,
        asked: ParsedCall,
        origin: &RequestOrigin,
    ) -> CallOutcome {
        let own_words = asked.ask.own_words();
        let part = asked.ask.part();
        let read = if let Ask::Read(read) | Ask::Say(.., Some(read)) = asked.ask {
            Some(read)
        } else {
            None
        };
        let listens = matches!(asked.ask, Ask::Say(..));
        let mut answered = match self.call_of(known, asked).await {
            Ok(call) => self.call(origin.address, call).await,
            Err(reject) => self.node.refusal(reject),
        };
        let mut heard = None;
        if let (true, Some(check), Ok(_)) = (listens, read, &answered.outcome) {
            heard = self
                .listen(origin.address, &known.caller, check, &mut answered)
                .await;
        }
        if let Some(Read::Check {
            wait: Span(1..), ..
        }) = read
            && let Some(turn) = self.capacity.woken.book(origin.source, 1)
        {
            // One event answers the checks of a whole room; the answers of one source leave in
            // turn.
            tokio::time::sleep(turn).await;
        }
        if let Some(Read::History {
            room,
            before,
            limit,
        }) = read
            && let Err(refusal) = self
                .add_past((room, before, limit), &mut answered, origin.source)
                .await
        {
            return CallOutcome {
                context: answered.context,
                ..CallOutcome::refused(tool, refusal)
            };
        }
        CallOutcome {
            own_words,
            part,
            heard,
            ..self.call_outcome(tool, known, answered, origin)
        }
    }

    async fn searched(
        &self,
        known: &IdentifiedCaller,
        search: &Search,
        origin: &RequestOrigin,
    ) -> CallOutcome {
        // A read of the node makes the caller present, counts against its rate, and says who it is.
        let mood = read_call(&known.caller, Read::Mood);
        let answered = self.call(origin.address, mood).await;
        let user = answered.context.me.as_ref().map(|me| me.who.id);
        let mut outcome = self.call_outcome(Tool::Search, known, answered, origin);
        if outcome.result.is_ok() {
            outcome.result = match user {
                Some(user) => self.found(user, search, origin.source).await,
                None => Err(Reject::UnknownHandle.into()),
            };
            // It may have ended between the two reads.
            if matches!(&outcome.result, Err(refusal) if refusal.code == "unknown_handle") {
                origin.forget(&known.handle);
            }
        }
        outcome
    }

    fn call_outcome(
        &self,
        tool: Tool,
        known: &IdentifiedCaller,
        answered: Answered,
        origin: &RequestOrigin,
    ) -> CallOutcome {
        let handle = &known.handle;
        let Answered { outcome, context } = answered;
        for scope in origin.scopes() {
            match (&outcome, &context.me) {
                (Err(Reject::UnknownHandle), _) => scope.forget(handle),
                (Ok(_), Some(me)) if tool.mints() => scope.minted(handle, &me.who.name),
                (Ok(_) | Err(_), _) => {}
            }
        }
        let shows_reader = tool.mints() && outcome.is_ok();
        let result = match outcome {
            Ok(response) => Ok(Done::Answered(response)),
            Err(reject) => Err(wire::refused(reject, &context)),
        };
        CallOutcome {
            context,
            implicit: origin.use_of(handle),
            caller: Some(handle.clone()),
            reader: shows_reader.then(|| self.secrets.reader_of(handle)),
            is_newcomer: matches!(known.caller, Caller::New { .. }),
            ..CallOutcome::of(tool, result)
        }
    }

    /// Refuses reads of lists and of past messages while memory is short. A check is answered,
    /// because it frees memory. A command waits until its source may add its entry to the journal, which
    /// has it also if it is refused. A text is refused when memory is very short.
    async fn room_for(&self, asked: &ParsedCall, source: Source) -> Result<(), Refusal> {
        let capacity = &self.capacity;
        if let Ask::Read(Read::History { .. }) | Ask::Members(..) | Ask::Search(_) = asked.ask {
            return capacity.memory.check();
        }
        let Some(bytes) = asked.ask.entry_bytes() else {
            return Ok(());
        };
        let earlier = |refusal: Refusal| refusal.after(unasked(asked.key.as_deref()));
        let rest = match asked.ask.adds_text() {
            true => {
                capacity.memory.check_texts().map_err(earlier)?;
                TEXT
            }
            false => ENTRY,
        };
        let mut patience = MAX_WAIT;
        let turn = capacity.texts.spend(source, bytes + rest, &mut patience);
        turn.await.map_err(earlier)
    }

    /// The call that makes this request.
    async fn call_of(&self, known: &IdentifiedCaller, asked: ParsedCall) -> Result<Call, Reject> {
        let earlier = unasked(asked.key.as_deref());
        let key = asked.key.map(|key| self.secrets.request_key(&key));
        let caller = known.caller;
        Ok(match asked.ask {
            Ask::Command(command) | Ask::Minting(command, _) => command_call(caller, key, command),
            Ask::Say(mut command, to, _) => {
                if let Some(addressed) = command.to_mut().filter(|_| !to.is_empty()) {
                    let look = self.node.look(move |view| {
                        let numbers = to.iter().map(|who| {
                            let by_id = view.hub.user_by_public_id(who);
                            by_id.or_else(|| view.hub.user_by_name(who))
                        });
                        numbers.map(|user| user.unwrap_or(NOBODY)).collect()
                    });
                    *addressed = look.await.map_err(|reject| reject.with_earlier(earlier))?;
                }
                command_call(caller, key, command)
            }
            Ask::About(id, said, command) => {
                let look = self.node.look(move |view| view.hub.user_by_public_id(&id));
                let found = look.await.map_err(|reject| reject.with_earlier(earlier))?;
                // One who is not registered is the node's to refuse.
                command_call(caller, key, command(found.unwrap_or(NOBODY), said))
            }
            Ask::Read(read) => read_call(&caller, read),
            Ask::Members(room, _) => read_call(&caller, Read::Members { room }),
            // A search reads the node only for its caller.
            Ask::Search(_) => read_call(&caller, Read::Mood),
        })
    }

    /// Unregisters the participant, without registering one: its whole state is removed.
    pub async fn unregister(&self, handle: &Handle, origin: &RequestOrigin) -> Answered {
        let known = self.known(handle.clone());
        let call = command_call(known.caller, None, Command::Unregister);
        let answered = self.call(origin.address, call).await;
        if answered.outcome.is_ok() {
            origin.forget(handle);
        }
        answered
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

fn read_call(caller: &Caller, read: Read) -> Call {
    Call::Read {
        reader: Reader::Handle(caller.handle()),
        read,
    }
}
