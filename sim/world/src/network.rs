//! The network: it loses, duplicates and delays requests and answers.

use chat_core::{Reject, Response};
use chat_types::Span;

use super::agenda::Event;
use super::race::Toward;
use super::slots::{Place, Slot, Thing, Whose, spelled_reply};
use super::{Phase, World};
use sim_model::draw::Ratio;
use sim_model::history::{Observer as _, Wire};
use sim_model::outcome::Point;
use sim_model::plan::{Delivery, Net};
use sim_model::protocol::Agent;

impl World<'_, '_> {
    /// The latency of the client's next packet.
    pub(super) fn latency(&mut self, agent: u32, toward: Toward) -> Span {
        if let Some(raced) = self.raced(agent, toward) {
            return raced;
        }
        Span(
            self.plan
                .network
                .latency
                .draw(&mut self.clients[agent as usize].link),
        )
    }

    /// Draws whether something with this probability happens to the client's packet. After the heal
    /// the network only delays.
    pub(super) fn strikes(&mut self, agent: u32, chance: Ratio) -> bool {
        self.phase == Phase::Safety && self.clients[agent as usize].link.chance(chance)
    }

    /// The fate of one packet, drawn unless it is scripted.
    pub(super) fn fate(
        &mut self,
        agent: u32,
        toward: Toward,
        spelled: Option<Delivery>,
    ) -> Delivery {
        if self.clients[agent as usize].cut_until > self.agenda.now() {
            return Delivery::Lost;
        }
        match spelled {
            // Nothing is lost after the heal, also not by script.
            Some(Delivery::Lost) if self.phase != Phase::Safety => {}
            Some(delivery) => return delivery,
            None => {}
        }
        if self.strikes(agent, self.plan.network.loss) {
            return Delivery::Lost;
        }
        Delivery::After(self.latency(agent, toward))
    }

    /// Sends a request, which may be lost or duplicated.
    pub(super) fn send(&mut self, whose: Whose, call: chat_core::Call) {
        let agent = whose.agent();
        let net = self.clients[agent as usize].net.take();
        let (spelled, copied) = net
            .as_ref()
            .map_or((None, None), |net| (net.request, net.duplicate));
        let doubled = copied.is_some()
            || matches!(whose, Whose::Call { .. })
                && spelled.is_none()
                && self.strikes(agent, self.plan.network.duplicate);
        let copy = doubled.then(|| self.send_one(whose, call.clone(), None, copied));
        let fate = self.send_one(whose, call, net, spelled);
        let at = self.now();
        self.watch.observe_wire(&match whose {
            Whose::Call {
                agent,
                call,
                attempt,
                ..
            } => Wire::Sent {
                at,
                agent: Agent(agent),
                call,
                attempt,
                fate,
                copy,
            },
            Whose::Stream { agent, .. } => Wire::Opening {
                at,
                agent: Agent(agent),
                fate,
            },
        });
    }

    fn send_one(
        &mut self,
        whose: Whose,
        call: chat_core::Call,
        net: Option<Box<Net>>,
        spelled: Option<Delivery>,
    ) -> Delivery {
        let agent = whose.agent();
        let fate = self.fate(agent, Toward::Server, spelled);
        match fate {
            Delivery::Lost => {
                if let Whose::Stream { agent, stream } = whose {
                    // A connection that cannot be opened is noticed as late as a lost answer.
                    let at = self.now() + self.plan.client.timeout;
                    self.agenda.at(at, Event::StreamDown { agent, stream });
                }
            }
            Delivery::After(latency) => {
                let slot = self.slots.put(Thing::Request {
                    whose,
                    call: Some(call),
                    net,
                    place: Place::OnItsWay,
                    reader: None,
                });
                let client = &mut self.clients[agent as usize];
                match whose {
                    Whose::Call { call, attempt, .. } => {
                        client.in_flight.push((call, attempt, slot));
                    }
                    Whose::Stream { .. } => client.stream_slot = Some(slot),
                }
                self.agenda
                    .at(self.agenda.now() + latency, Event::AtServer(slot));
            }
        }
        fate
    }

    /// Sends the server's answer to a request.
    pub(super) fn answer(&mut self, slot: Slot, outcome: Result<Response, Reject>) {
        if let (
            Some(Thing::Request {
                whose: Whose::Stream { agent, stream },
                net,
                ..
            }),
            Ok(_),
        ) = (self.slots.get_mut(slot), &outcome)
        {
            let (agent, stream) = (*agent, *stream);
            let spelled = spelled_reply(net.as_deref());
            self.stream_opened(slot, (agent, stream), spelled);
            return;
        }
        if let Err(reject) = &outcome {
            self.watch.coverage().refused(reject.code());
            self.sight_refusal(reject);
        }
        let (whose, net) = match self.slots.take(slot) {
            Some(Thing::Request { whose, net, .. }) => (whose, net),
            Some(Thing::Operator { verb, user, room }) => {
                if outcome.is_ok() {
                    self.operated(verb, user, room);
                }
                return;
            }
            _ => return,
        };
        let agent = whose.agent();
        let client = &mut self.clients[agent as usize];
        match whose {
            Whose::Call { .. } => {
                if let Some(at) = client.in_flight.iter().position(|entry| entry.2 == slot) {
                    client.in_flight.swap_remove(at);
                }
            }
            Whose::Stream { .. } => client.stream_slot = None,
        }
        let spelled = self.weather.reply().or(spelled_reply(net.as_deref()));
        let fate = self.fate(agent, Toward::Client, spelled);
        if let Whose::Call { call, attempt, .. } = whose {
            let (at, agent) = (self.now(), Agent(agent));
            self.watch.observe_wire(&Wire::Replied {
                at,
                agent,
                call,
                attempt,
                refused: outcome.as_ref().err().map(Reject::code),
                fate,
            });
        }
        match fate {
            Delivery::After(latency) => {
                let slot = self.slots.put(Thing::Answer { whose, outcome });
                self.agenda
                    .at(self.agenda.now() + latency, Event::AtClient(slot));
            }
            Delivery::Lost => {
                if let Whose::Stream { agent, stream } = whose {
                    let at = self.now() + self.plan.client.timeout;
                    self.agenda.at(at, Event::StreamDown { agent, stream });
                }
            }
        }
    }

    /// Counts a refusal that clients retry without recording it in their history.
    pub(super) fn sight_refusal(&mut self, reject: &Reject) {
        match reject.code() {
            "rate_limited" => self.watch.reach(Point::RateLimited),
            "overloaded" => self.watch.reach(Point::Overloaded),
            "storage_unavailable" => self.watch.reach(Point::StorageUnavailable),
            _ => {}
        }
    }
}
