//! The faults of a live run: those that clients have by themselves, and those of the nemesis.

use std::sync::atomic::Ordering;

use chat_types::Time;

use super::{LoadRunner, Phase, Wakeup};
use crate::caller::Message;
use crate::nemesis::{NemesisLine, Output, mend_all};
use sim_model::history::{FaultRecord, Observer as _, RunEvent, WorldRecord};
use sim_model::outcome::START;
use sim_model::plan::{ClientHarm, FaultKind};

impl LoadRunner<'_, '_> {
    pub(super) fn plan_faults(&mut self) {
        for index in 0..self.faults.len() {
            self.at(START + self.faults[index].at, Wakeup::Fault(index));
        }
    }

    pub(super) fn start_fault(&mut self, index: usize, now: Time) {
        let fault = self.faults[index].clone();
        if self.phase != Phase::Safety {
            return;
        }
        self.ran
            .timeline
            .mark(now.since(START), fault.kind.row().label, None);
        // All others are left out.
        let FaultKind::Clients {
            what,
            victims,
            duration,
        } = &fault.kind
        else {
            return;
        };
        let until = now + *duration;
        let there = (0..).zip(&self.clients).filter(|(_, client)| !client.done);
        let struck = victims.strike(there.map(|(agent, _)| agent), &mut self.fault_draw);
        let applied = FaultRecord::Applied {
            fault: index,
            victims: struck.clone(),
        };
        self.metrics.observe(RunEvent::Fault(now, &applied));
        for agent in struck {
            match what {
                ClientHarm::Partition => self.cut(agent, until),
                ClientHarm::SlowReaders => self.slow(agent, until),
                ClientHarm::Suspend => self.suspend(agent, until),
            }
        }
    }

    /// Cuts a client off: its connections end, and it opens none. It learns of the end of its stream
    /// alone; its calls wait for their timeouts.
    fn cut(&mut self, agent: u32, until: Time) {
        let client = &mut self.clients[agent as usize];
        client.cut_until = client.cut_until.max(until);
        client.in_flight.clear();
        self.break_stream(agent);
    }

    /// Ends a client's stream as a broken connection does.
    pub(super) fn break_stream(&mut self, agent: u32) {
        let stream = self.clients[agent as usize].stream.as_ref();
        if let Some(number) = stream.map(|stream| stream.opening.number) {
            self.handle_stream_end(agent, number, None, self.clock.now());
        }
    }

    /// Makes a client read nothing from its stream.
    fn slow(&mut self, agent: u32, until: Time) {
        let slow_until = &self.clients[agent as usize].slow_until;
        slow_until.fetch_max(until.0, Ordering::Relaxed);
    }

    /// Stops a client's process. What comes meanwhile is read when it goes on.
    fn suspend(&mut self, agent: u32, until: Time) {
        let now = self.clock.now();
        let client = &mut self.clients[agent as usize];
        client.asleep_until = client.asleep_until.max(until);
        client.user.suspend(now, until);
        let awake_at = client.asleep_until;
        self.at(awake_at, Wakeup::Awake(agent));
    }

    /// Passes a client what came while its process was stopped.
    pub(super) fn awake(&mut self, agent: u32, now: Time) {
        if self.clients[agent as usize].asleep_until > now {
            return;
        }
        for message in std::mem::take(&mut self.clients[agent as usize].kept) {
            self.handle(message, now);
        }
        self.settle(agent);
    }

    /// Keeps a message for a client whose process is stopped. Returns all other messages.
    pub(super) fn keep(&mut self, message: Message, now: Time) -> Option<Message> {
        let (Message::Ended { agent, .. } | Message::Stream { agent, .. }) = message else {
            return Some(message);
        };
        let client = &mut self.clients[agent as usize];
        if client.asleep_until <= now {
            return Some(message);
        }
        client.kept.push(message);
        None
    }

    /// Takes what the nemesis wrote. A line that is wrong ends the run, once it has mended all.
    pub(super) fn hear_nemesis(&mut self, output: Output, now: Time) {
        let Some(nemesis) = &mut self.nemesis else {
            return;
        };
        match nemesis.take(output, now) {
            Ok(Some(NemesisLine::Fault(name))) => {
                self.ran.timeline.mark(now.since(START), &name, None);
                let made = WorldRecord::FaultMade { name: &name };
                self.metrics.observe_world(now, &made);
            }
            Ok(Some(NemesisLine::Mended(name))) => self.observe_mended(&name, now),
            Ok(None) => {}
            Err(why) => {
                nemesis.fail(now.since(START), why);
                self.end_safety(now);
            }
        }
    }

    /// Ends the safety phase once the nemesis has exited; the run, if it failed.
    pub(super) fn look_after_nemesis(&mut self, now: Time) {
        let runs = matches!(self.phase, Phase::Safety | Phase::Mending);
        let Some(nemesis) = self.nemesis.as_mut().filter(|_| runs) else {
            return;
        };
        if !nemesis.has_exited(now) {
            return;
        }
        if nemesis.record.failed.is_some() {
            self.end(now);
            return;
        }
        for name in mend_all(&mut nemesis.record, now.since(START)) {
            self.observe_mended(&name, now);
        }
        self.heal(now);
    }

    fn observe_mended(&mut self, name: &str, now: Time) {
        let mended = WorldRecord::FaultMended { name };
        self.metrics.observe_world(now, &mended);
    }

    /// Ends the faults of clients. A suspended process goes on at its own time.
    pub(super) fn end_faults(&mut self) {
        for client in &mut self.clients {
            client.cut_until = Time(0);
            client.slow_until.store(0, Ordering::Relaxed);
        }
    }
}
