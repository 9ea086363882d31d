//! The network between clients and servers: it says what becomes of each packet, and knows nothing else of
//! the world.

use chat_types::{Span, Time};
use sim_model::draw::{Actor, Draw, Ratio};
use sim_model::plan::{Delivery, Network as Laws, Plan};

use super::race_schedule::{Leg, RaceSchedule};

/// The network.
#[derive(Clone, Debug)]
pub(super) struct Network {
    laws: Laws,
    links: Vec<Link>,
    race: Option<RaceSchedule>,
    /// Whether it only delays: it loses, doubles and breaks nothing any more.
    is_healed: bool,
}

/// The link of a client.
#[derive(Clone, Debug)]
struct Link {
    draw: Draw,
    cut_until: Time,
}

impl Network {
    pub(super) fn new(plan: &Plan, seed: u64) -> Self {
        Self {
            laws: plan.network.clone(),
            links: Vec::new(),
            race: RaceSchedule::new(plan, seed),
            is_healed: false,
        }
    }

    /// Connects the next client, whose packets are drawn so.
    pub(super) fn connect(&mut self, draw: Draw) {
        let cut_until = Time(0);
        self.links.push(Link { draw, cut_until });
    }

    /// Draws what becomes of packets from other generators from here on.
    pub(super) fn rekey(&mut self, draw: impl Fn(Actor) -> Draw) {
        if let Some(race) = &mut self.race {
            race.rekey(draw(Actor::Schedule));
        }
        for (agent, link) in (0..).zip(&mut self.links) {
            link.draw = draw(Actor::Link(agent));
        }
    }

    /// How long a packet takes. `due` is the next deadline where it goes, with which it may race.
    pub(super) fn delay(&mut self, leg: Leg, due: impl FnOnce() -> Option<Time>) -> Span {
        let latency = &self.laws.latency;
        match &mut self.race {
            Some(race) if !self.is_healed => race.delay(leg, latency, due),
            _ => Span(latency.draw(&mut self.links[leg.agent as usize].draw)),
        }
    }

    /// What becomes of a packet; drawn, unless it is scripted.
    pub(super) fn fate(
        &mut self,
        leg: Leg,
        scripted: Option<Delivery>,
        due: impl FnOnce() -> Option<Time>,
    ) -> Delivery {
        if self.is_cut(leg.agent, leg.at) {
            return Delivery::Lost;
        }
        // Nothing is lost after the heal, also not by script.
        let scripted = scripted.filter(|fate| *fate != Delivery::Lost || !self.is_healed);
        if let Some(scripted) = scripted {
            return scripted;
        }
        if self.happens(leg.agent, self.laws.loss) {
            return Delivery::Lost;
        }
        Delivery::After(self.delay(leg, due))
    }

    /// Whether the client's next request is doubled.
    pub(super) fn doubles(&mut self, agent: u32) -> bool {
        self.happens(agent, self.laws.duplicate)
    }

    /// Whether the client's stream breaks at its next push.
    pub(super) fn breaks(&mut self, agent: u32) -> bool {
        self.happens(agent, self.laws.stream_break)
    }

    fn happens(&mut self, agent: u32, chance: Ratio) -> bool {
        !self.is_healed && self.links[agent as usize].draw.chance(chance)
    }

    /// Cuts the client's link.
    pub(super) fn cut(&mut self, agent: u32, until: Time) {
        let link = &mut self.links[agent as usize];
        link.cut_until = link.cut_until.max(until);
    }

    pub(super) fn is_cut(&self, agent: u32, at: Time) -> bool {
        self.links[agent as usize].cut_until > at
    }

    /// Whether any link is cut.
    pub(super) fn is_any_cut(&self, at: Time) -> bool {
        self.links.iter().any(|link| link.cut_until > at)
    }

    /// Ends all cuts, losses and races.
    pub(super) fn heal(&mut self, at: Time) {
        self.is_healed = true;
        for link in &mut self.links {
            link.cut_until = link.cut_until.min(at);
        }
    }

    /// Which of the requests that wait is served next; none if they are served as they come.
    pub(super) fn next_of(&mut self, waiting: usize) -> Option<usize> {
        let race = self.race.as_mut()?;
        Some(match self.is_healed {
            true => 0,
            false => race.next_of(waiting),
        })
    }

    /// Whether requests that wait may overtake each other.
    pub(super) const fn races(&self) -> bool {
        self.race.is_some()
    }

    /// Takes a draw from everything, as an additional packet would.
    #[cfg(test)]
    pub(super) fn disturb(&mut self) {
        for link in &mut self.links {
            link.draw.bits();
        }
        self.next_of(7);
    }
}

#[cfg(test)]
mod tests {
    use sim_model::plan::{Race, Schedule};

    use super::*;
    use crate::race_schedule::Direction;

    const PACKETS: u64 = 400;

    fn plan(loss: &str, schedule: Schedule) -> Plan {
        let text = format!(
            "name: n\nnetwork: {{ latency: {{ p50: 20ms, p99: 30ms }}, loss: {loss} }}\n\
             phases: [{{ duration: 1s, arrival_count: 1 }}]\nscenarios: [{{ name: a, flow: [enter_queue] }}]\n"
        );
        let plan = sim_scenario::parse("n", &text).expect("a scenario");
        Plan { schedule, ..plan }
    }

    fn network(plan: &Plan, seed: u64) -> Network {
        let mut network = Network::new(plan, seed);
        for agent in 0..3 {
            network.connect(Draw::new(seed, Actor::Link(agent)));
        }
        network
    }

    fn leg(agent: u32, at: u64) -> Leg {
        let (direction, at) = (Direction::Server, Time(1_000_000 + at));
        Leg {
            agent,
            direction,
            at,
        }
    }

    fn fates(network: &mut Network, agent: u32) -> Vec<Delivery> {
        let fate = |at| network.fate(leg(agent, at), None, || None);
        (0..PACKETS).map(fate).collect()
    }

    #[test]
    fn one_seed_has_one_network_and_no_link_changes_another() {
        let plan = plan("1/4", Schedule::Plain);
        let (mut one, mut other) = (network(&plan, 7), network(&plan, 7));
        let alone = fates(&mut one, 1);
        fates(&mut other, 0);
        assert_eq!(alone, fates(&mut other, 1));
        assert_ne!(alone, fates(&mut network(&plan, 8), 1));
    }

    #[test]
    fn packets_are_lost_by_their_share_until_the_heal() {
        let mut network = network(&plan("1/4", Schedule::Plain), 7);
        let lost = |fates: &[Delivery]| fates.iter().filter(|it| **it == Delivery::Lost).count();
        assert!((50..150).contains(&lost(&fates(&mut network, 0))));
        network.heal(Time(0));
        assert_eq!(lost(&fates(&mut network, 0)), 0);
    }

    #[test]
    fn a_script_decides_except_for_losses_after_the_heal() {
        let mut network = network(&plan("0", Schedule::Plain), 7);
        let mut scripted = |fate| network.fate(leg(0, 0), Some(fate), || None);
        let late = Delivery::After(Span::secs(9));
        assert_eq!(scripted(late), late);
        assert_eq!(scripted(Delivery::Lost), Delivery::Lost);
        network.heal(Time(0));
        let mut scripted = |fate| network.fate(leg(0, 0), Some(fate), || None);
        assert_eq!(scripted(late), late);
        assert_ne!(scripted(Delivery::Lost), Delivery::Lost);
    }

    #[test]
    fn a_cut_link_loses_all_packets_until_it_ends_or_is_healed() {
        let mut network = network(&plan("0", Schedule::Plain), 7);
        let at = |network: &mut Network, agent, at| {
            network.fate(leg(agent, at), Some(Delivery::After(Span(1))), || None)
        };
        network.cut(0, leg(0, 10).at);
        network.cut(0, leg(0, 5).at);
        assert!(network.is_any_cut(leg(0, 9).at));
        assert_eq!(at(&mut network, 0, 9), Delivery::Lost);
        assert_eq!(at(&mut network, 1, 9), Delivery::After(Span(1)));
        assert_eq!(at(&mut network, 0, 10), Delivery::After(Span(1)));
        network.heal(leg(0, 3).at);
        assert_eq!(at(&mut network, 0, 3), Delivery::After(Span(1)));
        assert!(!network.is_any_cut(leg(0, 3).at));
    }

    #[test]
    fn a_race_meets_deadlines_and_stays_within_the_latencies() {
        let plan = plan("0", Schedule::Race(Race::default()));
        let (latency, mut network) = (&plan.network.latency, network(&plan, 7));
        let (mut met, mut least, mut most) = (0, Span(u64::MAX), Span::ZERO);
        for at in 0..PACKETS {
            let sent = leg(2, at);
            let due = sent.at + Span::millis(20);
            let delay = network.delay(sent, || Some(due));
            met += u64::from(sent.at + delay == due);
            (least, most) = (least.min(delay), most.max(delay));
        }
        assert!(
            met > 10,
            "{met} of {PACKETS} packets arrived at the deadline"
        );
        let allowed = Span(latency.at(0))..=Span(latency.max());
        assert!(
            allowed.contains(&least) && allowed.contains(&most),
            "{least} to {most}"
        );
        network.heal(Time(0));
        assert_eq!(network.next_of(5), Some(0));
    }
}
