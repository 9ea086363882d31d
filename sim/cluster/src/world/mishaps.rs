//! What goes wrong, and when all is well again.

use chat_cluster::{Member, Role};
use chat_types::Span;
use sim_judge::cluster::ClusterFact;

use super::{Event, World};
use crate::faults::Fault;
use crate::site::{MEMBERS, Site};
use sim_world::log::{REPLICAS, USUAL_LAG};

/// How long a leader that fails appends without a report.
const UNREPORTED: Span = Span::millis(200);

impl World {
    fn owner(&self) -> Option<usize> {
        let is_owner = |site: &Site| {
            let role = site.member.as_ref().map(Member::role);
            matches!(role, Some(Role::Owner | Role::Settling))
        };
        self.sites.iter().position(is_owner)
    }

    pub(super) fn fail(&mut self, fault: Fault) {
        let now = self.now;
        match fault {
            Fault::LeaderFails { replica, lasts } => {
                self.active.unreported_until = now + UNREPORTED;
                let fault = Fault::NewLeader { replica, lasts };
                self.schedule(now + UNREPORTED, Event::Fault(fault));
            }
            Fault::NewLeader { replica, lasts } => self.log.elect(replica, now + lasts),
            Fault::CutOut { member, lasts } => self.sites[member].out_cut_until = now + lasts,
            Fault::CutIn { member, lasts } => self.sites[member].in_cut_until = now + lasts,
            Fault::Pause { member, lasts } => self.sites[member].interrupt = Some(lasts),
            Fault::PauseOwner { lasts } => {
                if let Some(owner) = self.owner() {
                    self.sites[owner].interrupt = Some(lasts);
                }
            }
            Fault::Crash {
                member,
                lasts,
                from_snapshot,
            } => {
                self.sites[member].member = None;
                let event = Event::Start {
                    site: member,
                    from_snapshot,
                };
                self.schedule(now + lasts, event);
            }
            Fault::Resign => {
                if let Some(owner) = self.owner()
                    && self.sites[owner].paused_until <= now
                {
                    self.turn(owner, Member::resign);
                }
            }
            Fault::Lag { replica, lag } => self.log.set_lag(replica, lag),
            Fault::Harm {
                replica,
                harm,
                back,
            } => {
                let sequence = self.log.last().saturating_add_signed(back).max(1);
                self.log.harm(replica, sequence, harm);
            }
            Fault::LoseReports { lasts } => self.active.reports_lost_until = now + lasts,
            Fault::Double { lasts } => self.active.doubled_until = now + lasts,
            Fault::SlowAppends { up_to, lasts } => {
                self.active.slow_until = now + lasts;
                self.active.slow = up_to;
            }
            Fault::Refuse { lasts, rejected } => {
                self.active.refused_until = now + lasts;
                self.active.rejects = rejected;
            }
            Fault::SetClock { member, by } => self.sites[member].wall_off += by,
        }
    }

    /// The process starts again.
    pub(super) fn start(&mut self, site: usize, from_snapshot: u64) {
        if self.sites[site].member.is_some() {
            return;
        }
        let snapshot = self.log.newest_snapshot().cloned();
        let snapshot = snapshot.filter(|_| from_snapshot == 1);
        self.sites[site].interrupt = None;
        self.sites[site].paused_until = self.now;
        self.sites[site].start(self.now, snapshot.as_deref());
        self.plan_wake(site);
    }

    /// Nothing is wrong any more, except the harm to one replica.
    pub(super) fn heal(&mut self) {
        self.fact(ClusterFact::Healed);
        for replica in 0..REPLICAS {
            self.log.set_lag(replica, USUAL_LAG);
        }
        for place in &mut self.sites[..MEMBERS] {
            place.interrupt = None;
            place.in_cut_until = self.now;
            place.out_cut_until = self.now;
        }
    }
}
