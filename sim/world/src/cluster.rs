//! Several servers: members of a cluster over one shared log, and clients at each of them.
//!
//! For the judges this is one server: the member that owns the chat. When it loses the ownership,
//! that server goes down, and comes up again as the next owner, with the journal that the log
//! contains. So a change of the owner is judged like a crash and a recovery.
//!
//! A client has a *door*, the server that it is connected to. The door passes calls on to the owner,
//! and repeats them at the next owner (`doors.rs`). `turns.rs` lets a member act and reports what it
//! did, `packets.rs` is the network between members and log, `harm.rs` is what goes wrong.
//!
//! The world has members in place of its node and disk. For the judges there is one server all the
//! same, the owner:
//!
//! - A member's turn is reported as the node's acts would be: batches, commits, answers, pushes. The
//!   entries of a batch take effect when the log has acknowledged it.
//! - When the owner is lost, the server *crashes*. When the next claim is in the log, it *restarts*,
//!   after all entries that the log has and the judges do not know. So the auditor predicts every
//!   answer across a change of the owner, and needs no rule for it.
//! - An owner that does not know yet that another one has claimed is cut off from clients. Its late
//!   answers are the matter of `sim exhaust --world cluster`.
//! - A witness follows the log beside the members, and decides each entry once more. The next owner's
//!   state must be the witness's.
//! - Doors, which the server has in its shell, are part of the world's network: they hold a call
//!   while there is no owner, draw a request key for each command without one, and repeat calls.
//! - The judge of the log takes its facts, too: its rules are the properties `one_owner`,
//!   `nodes_agree` and `log_progress`, and its rule of fresh reads belongs to `outcomes`: who answers
//!   a call owned the log when the call arrived. For that the world sends a client's calls to its own
//!   server as long as that one takes itself for the owner.

mod chance;
mod doors;
mod harm;
mod log;
mod machine_clock;
mod packets;
mod turns;
mod witness;

use std::collections::VecDeque;

use chat_cluster::{LogSnapshot, Member, MemberId, Now, Settings};
use chat_core::{Node, Ticket};
use chat_journal::Identity;
use chat_types::{Span, Time};
use sim_model::cluster::ClusterFact;
use sim_model::draw::{Actor, Draw, DrawAt};
use sim_model::history::{ClusterEvent, WorldRecord};
use sim_model::outcome::START;
use sim_model::plan::{LEASE_DRIFT, Plan};
use sim_model::server::ServerRecord;

use crate::World;
use crate::event_queue::Event;
use crate::slab::Slab;
use log::SharedLog;
use machine_clock::MachineClock;
use packets::Packet;
use turns::Deferred;
use witness::Witness;
pub use witness::applied;

/// How long the first server has been up when the run starts, so that it claims the log at once.
const UP_BEFORE: Span = Span::secs(10);

/// How long nothing is wrong with a server that the judge expects to follow the log.
const FOLLOWS_WITHIN: Span = Span::secs(30);

/// Several servers, and their log.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    /// The settings of every server, but for its id and address.
    settings: Settings,
    pub(super) sites: Vec<Site>,
    log: SharedLog,
    /// Reports and records come twice until then.
    doubled_until: Time,
    pub(super) draw: DrawAt,
    /// The number of request keys that doors have given to calls.
    keys_given: u64,
    /// The server that owns the chat, and that clients' calls reach.
    owner: Option<usize>,
    /// The epoch of the newest owner.
    epoch: u64,
    witness: Witness,
    /// What is on its way.
    packets: Slab<(Process, Packet)>,
    /// Whether the judges know that the owner has its lease.
    shown_lease: bool,
    /// Whether a member acts now, and what follows its turn.
    is_turning: bool,
    deferred: VecDeque<Deferred>,
    /// Whether the whole cluster went down, and no server owns the chat since.
    is_down: bool,
}

/// One server's machine.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// None while no process runs.
    pub(super) member: Option<Member>,
    incarnation: u64,
    clock: MachineClock,
    /// Its clock is wrong until then.
    drifts_until: Time,
    /// Whether the judges know of something that is wrong with it, or with the log.
    is_hindered: bool,
    /// The instant at which `MemberDue` is scheduled.
    due_at: Time,
    /// The process is suspended until then.
    paused_until: Time,
    /// Nothing reaches it from the log and from other servers until then.
    deaf_until: Time,
    /// Nothing reaches the log and other servers from it until then.
    mute_until: Time,
    /// The replica that it follows, and the next record to receive.
    replica: usize,
    next_record: u64,
    /// The downtime after a shutdown in progress.
    stopping: Option<Span>,
    /// The latest instant at which something went wrong with it or with the log, or was mended.
    well_since: Time,
}

impl Site {
    /// Until when it is cut off from the log and from other servers, in one direction at least.
    fn cut_until(&self) -> Time {
        self.mute_until.max(self.deaf_until)
    }
}

/// One process of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    site: usize,
    incarnation: u64,
}

impl Cluster {
    pub(super) fn new(plan: &Plan, seed: u64) -> Self {
        let identity = Identity {
            realm: 1,
            seed,
            secret: [0; 32],
        };
        let origin = identity.origin();
        let site = |number| Site {
            member: None,
            incarnation: 0,
            clock: MachineClock::new(START, START + UP_BEFORE),
            drifts_until: START,
            is_hindered: false,
            due_at: Time::MAX,
            paused_until: START,
            deaf_until: START,
            mute_until: START,
            replica: number % log::REPLICAS,
            next_record: 1,
            stopping: None,
            well_since: START,
        };
        let servers = usize::try_from(plan.servers).expect("a plan has few servers");
        Self {
            settings: Settings {
                id: MemberId {
                    number: 0,
                    incarnation: 0,
                },
                address: "".into(),
                origin,
                config: plan.server.clone(),
                snapshot_every: u64::from(plan.capacity.snapshot_every),
                reads: plan.reads,
            },
            sites: (0..servers).map(site).collect(),
            log: SharedLog::default(),
            doubled_until: START,
            draw: DrawAt::new(Draw::new(seed, Actor::Cluster)),
            keys_given: 0,
            owner: None,
            epoch: 0,
            witness: Witness::new(&origin, plan.server.clone()),
            packets: Slab::new(),
            shown_lease: true,
            is_turning: false,
            deferred: VecDeque::new(),
            is_down: false,
        }
    }

    /// The owner's node.
    pub(super) fn node(&self) -> Option<&Node> {
        self.sites[self.owner?].member.as_ref()?.owned_node()
    }

    /// The owner's node.
    pub(super) fn node_mut(&mut self) -> Option<&mut Node> {
        self.sites[self.owner?].member.as_mut()?.node()
    }

    /// Lets the members forget a call whose caller is gone.
    pub(super) fn cancel(&mut self, ticket: Ticket) {
        for site in &mut self.sites {
            if let Some(member) = &mut site.member {
                member.cancel(ticket);
            }
        }
    }

    /// Whether something is wrong with the log, with the server, or between them.
    fn is_hindered(&self, site: usize, now: Time) -> bool {
        let place = &self.sites[site];
        let until = place.paused_until.max(place.cut_until());
        // Who needs a record that is purged must come upon a snapshot first.
        let is_behind = |member: &Member| self.log.is_purged(member.sequence() + 1);
        !self.has_leader(now)
            || until > now
            || place.clock.is_slower_by(LEASE_DRIFT)
            || place.member.as_ref().is_some_and(is_behind)
    }

    /// The end of the owner's suspension, if its process is suspended at `now`.
    pub(super) fn owner_paused_until(&self, now: Time) -> Option<Time> {
        let until = self.sites[self.owner?].paused_until;
        (until > now).then_some(until)
    }

    /// Whether the log takes appends.
    fn has_leader(&self, now: Time) -> bool {
        now >= self.log.leaderless_until
    }

    /// Whether the log has no leader, or a server is away or cut off.
    pub(super) fn has_trouble(&self, now: Time) -> bool {
        let is_away = |site: &Site| site.member.is_none() || site.cut_until() > now;
        !self.has_leader(now) || self.sites.iter().any(is_away)
    }

    fn process(&self, site: usize) -> Process {
        let incarnation = self.sites[site].incarnation;
        Process { site, incarnation }
    }

    fn is_there(&self, process: Process) -> bool {
        let site = &self.sites[process.site];
        site.member.is_some() && site.incarnation == process.incarnation
    }

    fn newest_snapshot(&self) -> Option<LogSnapshot> {
        let bytes = self.log.newest_snapshot()?;
        Some(LogSnapshot::read(&self.settings.origin, bytes).expect("a member wrote it"))
    }

    /// Starts a process, whose machine has been up for `up` already.
    fn start(&mut self, site: usize, now: Now, up: Span) {
        let snapshot = self.newest_snapshot();
        let place = &mut self.sites[site];
        place.incarnation += 1;
        let settings = Settings {
            id: MemberId {
                number: site as u64,
                incarnation: place.incarnation,
            },
            address: site.to_string().into(),
            ..self.settings.clone()
        };
        let started = Now {
            boot: Time(now.boot.0 - up.0),
            ..now
        };
        let member = match snapshot {
            Some(snapshot) => Member::restored(settings, snapshot, started),
            None => Member::new(settings, started),
        };
        let member = member.expect("the scenario's limits fit");
        place.next_record = member.sequence() + 1;
        place.member = Some(member);
        place.due_at = Time::MAX;
        place.stopping = None;
    }
}

impl World<'_, '_> {
    /// What the clocks of a server show.
    fn member_now(&self, site: usize) -> Now {
        Now {
            wall: self.server_now(),
            boot: self.cluster().sites[site].clock.at(self.now()),
        }
    }

    /// Whether the server takes calls, by its own clock.
    fn takes_calls(&self, site: usize) -> bool {
        let member = self.cluster().sites[site].member.as_ref();
        member.is_some_and(|member| member.has_lease(self.member_now(site)))
    }

    fn cluster(&self) -> &Cluster {
        let cluster = self.server.cluster.as_deref();
        cluster.expect("there are several servers")
    }

    fn cluster_mut(&mut self) -> &mut Cluster {
        let cluster = self.server.cluster.as_deref_mut();
        cluster.expect("there are several servers")
    }

    /// Tells the judge of the servers how far those have followed the log that nothing hindered.
    pub(super) fn end_cluster(&mut self) {
        let now = self.now();
        let Some(cluster) = self.server.cluster.as_deref() else {
            return;
        };
        let well = |site: &Site| now >= site.well_since + FOLLOWS_WITHIN;
        let is_calm = cluster.sites.iter().all(well);
        let sites = (0..).zip(&cluster.sites).filter(|(_, site)| well(site));
        let members = sites.filter_map(|(number, site)| {
            let member = site.member.as_ref()?;
            Some((number, member.sequence()))
        });
        let due_at = Time(now.0.saturating_sub(FOLLOWS_WITHIN.0));
        let ended = ClusterFact::Ended {
            members: members.collect(),
            due: cluster.log.last_at(due_at),
            is_calm,
            starved: Vec::new(),
            unanswered: Vec::new(),
        };
        self.tell_fact(&ended);
    }

    /// Starts all servers, if there are several. The first one claims the log at once.
    pub(super) fn begin_cluster(&mut self) {
        if self.server.cluster.is_none() {
            return;
        }
        // Until then there is no server.
        self.tell_server(&ServerRecord::Crashed);
        for site in 0..self.cluster().sites.len() {
            let now = self.member_now(site);
            let up = if site == 0 { UP_BEFORE } else { Span::ZERO };
            self.cluster_mut().start(site, now, up);
            self.member_turn(site, Member::handle_timeout);
        }
    }

    /// Starts a server again.
    pub(super) fn member_starts(&mut self, site: u32) {
        let site = site as usize;
        if self.cluster().sites[site].member.is_some() {
            return;
        }
        let now = self.member_now(site);
        self.cluster_mut().start(site, now, Span::ZERO);
        self.tell(Some(site), ClusterEvent::Started);
        self.deliver_soon(site);
        self.wake_member(site);
    }

    /// Lets a member look at its timers.
    fn wake_member(&mut self, site: usize) {
        if self.cluster().owner == Some(site) {
            self.tell_server(&ServerRecord::Woken);
        }
        self.member_turn(site, Member::handle_timeout);
    }

    /// Sets the clocks forward after the turn, if a member acts now. Returns whether one does.
    pub(super) fn jump_after_turn(&mut self, by: Span) -> bool {
        let Some(cluster) = &mut self.server.cluster else {
            return false;
        };
        if cluster.is_turning {
            cluster.deferred.push_back(Deferred::JumpClock(by));
        }
        cluster.is_turning
    }

    /// Lets the owner do what follows from a direct use of its node.
    pub(super) fn wake_owner(&mut self) {
        if self.cluster().is_turning {
            return self.cluster_mut().deferred.push_back(Deferred::Wake);
        }
        if let Some(owner) = self.cluster().owner {
            self.wake_member(owner);
        }
    }

    /// Records what happens to a server, or to the log.
    fn tell(&mut self, site: Option<usize>, what: ClusterEvent) {
        let server = site.map(number);
        self.tell_world(&WorldRecord::Cluster { server, what });
        if !matches!(
            what,
            ClusterEvent::BecameOwner { .. } | ClusterEvent::LostOwnership
        ) {
            self.not_well(site);
        }
    }

    /// Something went wrong with the server, or with the log, or was mended.
    fn not_well(&mut self, site: Option<usize>) {
        let now = self.now();
        for (number, place) in self.cluster_mut().sites.iter_mut().enumerate() {
            if site.is_none_or(|site| site == number) {
                place.well_since = now;
            }
        }
    }

    /// Schedules the member's timers, which have moved.
    fn schedule_member(&mut self, site: usize) {
        let (now, ahead) = (self.now(), self.server.clock_ahead);
        let place = &mut self.cluster_mut().sites[site];
        let Some(member) = &mut place.member else {
            return;
        };
        let due = member.poll_timeout();
        let wall = due.wall.map(|due| Time(due.0.saturating_sub(ahead.0)));
        let boot = due.boot.map(|due| place.clock.when(due));
        let Some(due) = wall.into_iter().chain(boot).min() else {
            return;
        };
        let due = due.max(now).max(place.paused_until);
        if due < place.due_at {
            place.due_at = due;
            self.events.schedule(due, Event::MemberDue(number(site)));
        }
    }

    /// Whether the member's timers have moved since they were scheduled. They are scheduled again
    /// whenever they move earlier.
    pub(super) fn member_due_is_stale(&mut self, site: u32, at: Time) -> bool {
        let place = &mut self.cluster_mut().sites[site as usize];
        if place.due_at != at || place.member.is_none() {
            return true;
        }
        place.due_at = Time::MAX;
        false
    }

    pub(super) fn member_due(&mut self, site: u32) {
        let (site, now) = (site as usize, self.now());
        if self.cluster().sites[site].paused_until > now {
            return self.schedule_member(site);
        }
        self.wake_member(site);
    }
}

fn number(site: usize) -> u32 {
    u32::try_from(site).expect("a plan has few servers")
}
