//! One member of a cluster. The documentation of the crate draws its roles.

mod append;
mod claim;
mod follow;
mod ownership;
mod reads;

use std::collections::VecDeque;
use std::sync::Arc;

use chat_core::{Address, Call, Config, Earlier, Hub, Node, OwnerReads, Position, Ticket, Time};
use chat_journal::Origin;

use crate::envelope::{MAX_ENVELOPE_BYTES, MemberId};
use crate::output::{AppendId, Output};
use crate::place::{Owner, Place};
use crate::snapshot::LogSnapshot;
use crate::timing::Now;

use append::Append;
use follow::Missing;
use ownership::{Leaving, Ownership};

/// The bytes of an entry beside its longest text.
const ENTRY_BYTES: usize = 16 << 10;

/// The bytes of the largest character.
const CHARACTER_BYTES: usize = 4;

/// The settings of a member.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The member.
    pub id: MemberId,
    /// Its address for other members.
    pub address: Arc<str>,
    /// The beginning of the cluster's journal.
    pub origin: Origin,
    /// The node's configuration, if this member is the owner.
    pub config: Config,
    /// The number of records between two snapshots.
    pub snapshot_every: u64,
    /// When this member answers reads, if it is the owner.
    pub reads: OwnerReads,
}

/// Settings are not usable: a single entry of this size may be larger than a record of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an entry may have {0} bytes, and a record of the log has at most {MAX_ENVELOPE_BYTES}: lower the limits of texts"
)]
pub struct MemberError(usize);

/// The member's part in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It applies the records of the log.
    Follower,
    /// The outcome of its claim is not known yet.
    Claiming,
    /// It runs the node.
    Owner,
    /// It runs the node, and the outcome of an append is unknown.
    Settling,
    /// It finishes its calls, and takes no more.
    Resigning,
    /// It cannot apply the next record. It refuses all calls, and may continue from a snapshot.
    Stranded,
}

/// One member.
#[derive(Clone, Debug)]
pub struct Member {
    settings: Settings,
    place: Place,
    state: State,
    append: Option<Append>,
    /// When the last record was applied, or the member started.
    heard: Time,
    /// No claim before this instant.
    claim_from: Time,
    missing: Option<Missing>,
    /// The state that a heartbeat has confirmed last, with its digest, which costs time.
    confirmed: Option<(Position, u64)>,
    /// The number of requests for missing records so far.
    fetches: u64,
    next_id: u64,
    /// Records since the last snapshot.
    records: u64,
    outputs: VecDeque<Output>,
}

#[derive(Clone, Debug)]
enum State {
    Standby(Box<Hub>),
    Owner(Box<Ownership>),
    Stranded { hub: Box<Hub>, ask_at: Time },
}

impl State {
    /// Takes the state out, to be replaced within the same call.
    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Standby(Box::default()))
    }
}

impl Member {
    /// A member of a new cluster, or one that follows the log from its beginning.
    ///
    /// # Errors
    /// The settings are not usable.
    pub fn new(settings: Settings, now: Now) -> Result<Self, MemberError> {
        let hub = Hub::new(settings.config.clone(), settings.origin.seed);
        let place = Place::new(&settings.origin);
        Self::restored(settings, LogSnapshot { place, hub }, now)
    }

    /// A member that follows the log from a snapshot.
    ///
    /// # Errors
    /// The settings are not usable.
    pub fn restored(
        mut settings: Settings,
        snapshot: LogSnapshot,
        now: Now,
    ) -> Result<Self, MemberError> {
        let LogSnapshot { place, hub } = snapshot;
        settings.config.max_batch = settings.config.max_batch.min(largest_batch(&settings)?);
        Ok(Self {
            settings,
            place,
            state: State::Standby(Box::new(hub)),
            append: None,
            heard: now.boot,
            claim_from: now.boot,
            missing: None,
            confirmed: None,
            fetches: 0,
            next_id: 0,
            records: 0,
            outputs: VecDeque::new(),
        })
    }

    /// Its part in the cluster.
    #[must_use]
    pub fn role(&self) -> Role {
        match &self.state {
            State::Stranded { .. } => Role::Stranded,
            State::Standby(_) if self.append.is_some() => Role::Claiming,
            State::Standby(_) => Role::Follower,
            State::Owner(ownership) if ownership.is_leaving() => Role::Resigning,
            State::Owner(_) => match &self.append {
                Some(append) if append.is_unknown() => Role::Settling,
                Some(_) | None => Role::Owner,
            },
        }
    }

    /// The sequence of the last record that is applied.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.place.sequence
    }

    /// The place in the log after the last record that is applied.
    #[must_use]
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// The owner of the log after the last record that is applied, if it has not resigned.
    #[must_use]
    pub fn owner(&self) -> Option<&Owner> {
        self.place.owner.as_ref().filter(|owner| !owner.resigned)
    }

    /// The applied state.
    #[must_use]
    pub fn hub(&self) -> &Hub {
        match &self.state {
            State::Standby(hub) | State::Stranded { hub, .. } => hub,
            State::Owner(ownership) => ownership.node.hub(),
        }
    }

    /// The node, while this member is the owner: for streams.
    pub fn node(&mut self) -> Option<&mut Node> {
        match &mut self.state {
            State::Owner(ownership) => Some(&mut ownership.node),
            State::Standby(_) | State::Stranded { .. } => None,
        }
    }

    /// The node, while this member is the owner: to read it.
    #[must_use]
    pub fn owned_node(&self) -> Option<&Node> {
        self.ownership().map(|ownership| &ownership.node)
    }

    fn ownership(&self) -> Option<&Ownership> {
        match &self.state {
            State::Owner(ownership) => Some(ownership),
            State::Standby(_) | State::Stranded { .. } => None,
        }
    }

    /// The configuration of its node.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.settings.config
    }

    /// The first attempt of the append in flight, which no other append has.
    #[must_use]
    pub fn append_id(&self) -> Option<AppendId> {
        self.append.as_ref().map(Append::id)
    }

    /// Whether the append in flight is no batch. The node does not know of it, and what the node
    /// proposes waits.
    #[must_use]
    pub fn is_log_busy(&self) -> bool {
        self.append
            .as_ref()
            .is_some_and(|append| !append.is_batch())
    }

    /// Whether this owner has finished its calls, and its resignation may be in the log.
    #[must_use]
    pub fn has_left(&self) -> bool {
        matches!(&self.state, State::Owner(ownership) if ownership.leaving == Leaving::Gone)
    }

    /// Whether the owner takes calls. Another member may be the owner if not.
    #[must_use]
    pub fn has_lease(&self, now: Now) -> bool {
        matches!(&self.state, State::Owner(ownership) if ownership.has_lease(now.boot))
    }

    /// Accepts a call. Its answer or refusal follows as an output, now or later.
    pub fn submit(&mut self, now: Now, ticket: Ticket, from: Address, call: Call) {
        match &mut self.state {
            State::Owner(ownership) if ownership.has_lease(now.boot) => {
                match self.settings.reads {
                    OwnerReads::Lease => ownership.node.submit(now.wall, ticket, from, call),
                    // It appends nothing more that its answer could wait for.
                    OwnerReads::Strict if ownership.is_leaving() => {
                        self.refuse(ticket, call.earlier_if_refused());
                    }
                    OwnerReads::Strict => self.submit_strictly(now, ticket, from, call),
                }
            }
            // The state may be old, so that even a refusal by it may be wrong.
            State::Owner(_) | State::Standby(_) | State::Stranded { .. } => {
                self.refuse(ticket, call.earlier_if_refused());
            }
        }
        self.advance(now);
    }

    /// Forgets a call whose caller disconnected. It may take effect.
    pub fn cancel(&mut self, ticket: Ticket) {
        if let State::Owner(ownership) = &mut self.state {
            ownership.waiting.cancel(ticket);
            ownership.node.cancel(ticket);
        }
    }

    fn refuse(&mut self, ticket: Ticket, earlier: Earlier) {
        self.outputs.push_back(Output::Moved { ticket, earlier });
    }

    /// Gives up the ownership cleanly: takes nothing new, finishes what it has, and leaves
    /// the log to others. Does nothing on a member that is not the owner.
    pub fn resign(&mut self, now: Now) {
        if let State::Owner(ownership) = &mut self.state {
            ownership.leave();
            let waiting = ownership.waiting.take_all();
            self.refuse_all(waiting);
        }
        self.advance(now);
    }

    /// The instants at which `handle_timeout` is due: one of either clock.
    pub fn poll_timeout(&mut self) -> Due {
        let flying = self.append.as_ref();
        let mut boot: Vec<Time> = flying.map(|append| append.due).into_iter().collect();
        boot.extend(self.missing.as_ref().map(|missing| missing.again_at));
        let is_free = flying.is_none();
        let is_busy = self.is_log_busy();
        let mut wall = None;
        match &mut self.state {
            State::Owner(ownership) => {
                wall = match is_busy {
                    true => ownership.node.next_answer(),
                    false => ownership.node.poll_timeout(),
                };
                if is_free {
                    boot.push(ownership.next_at);
                    boot.extend(ownership.waiting.due());
                }
                boot.extend(ownership.waiting_end());
            }
            State::Stranded { ask_at, .. } => boot.push(*ask_at),
            State::Standby(_) => {}
        }
        boot.extend(self.claim_due());
        let boot = boot.into_iter().min();
        Due { wall, boot }
    }

    /// Does what is due: attempts whose time is over, a claim, a heartbeat, the node's own timers.
    pub fn handle_timeout(&mut self, now: Now) {
        self.handle_append_timeout(now);
        self.handle_missing_timeout(now);
        self.handle_silence(now);
        if let State::Owner(ownership) = &mut self.state {
            ownership.node.handle_timeout(now.wall);
            if ownership.waiting_end().is_some_and(|end| now.boot >= end) {
                let waiting = ownership.waiting.take_all();
                self.refuse_all(waiting);
            }
        }
        self.advance(now);
    }

    /// The next output for the shell.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The applied state with its place in the log, as bytes. The cost is linear in its size.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        LogSnapshot::write(&self.settings.origin, &self.place, self.hub())
    }

    /// All but the applied state, as text: for searches for new states. The applied state follows
    /// from the log.
    #[must_use]
    pub fn outline(&self) -> String {
        let ownership = self.ownership().map(Ownership::outline);
        let times = (self.heard, self.claim_from, self.missing);
        let (place, append) = (&self.place, &self.append);
        format!(
            "{place:?} {append:?} {times:?} {ownership:?} {:?}",
            self.role()
        )
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Records that a record is applied.
    fn applied(&mut self, now: Now) {
        self.heard = now.boot;
        self.missing = None;
        self.records += 1;
    }

    fn keep(&mut self, record: Arc<[u8]>) {
        let place = Box::new(self.place.clone());
        self.outputs.push_back(Output::Applied { place, record });
    }
}

/// When a member needs `handle_timeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// By the time of day.
    pub wall: Option<Time>,
    /// By the time since the machine started.
    pub boot: Option<Time>,
}

/// The largest number of entries whose batch fits into a record of the log.
fn largest_batch(settings: &Settings) -> Result<u32, MemberError> {
    let config = &settings.config;
    let texts = [config.max_message, config.max_draft, config.max_excuse];
    let longest = texts.into_iter().max().unwrap_or(0) as usize;
    let largest = longest * CHARACTER_BYTES + ENTRY_BYTES;
    match MAX_ENVELOPE_BYTES / largest {
        0 => Err(MemberError(largest)),
        entries => Ok(u32::try_from(entries).unwrap_or(u32::MAX)),
    }
}
