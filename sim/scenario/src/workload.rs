//! Phases of arrivals, and the personas of the arriving users.

use std::sync::Arc;

use chat_types::Span;

use super::context::End;
use super::error::{Problem, Read};
use super::fields::Fields;
use super::flow::{Flow, Weight};
use super::form::{ByKeys, form};
use super::forms::{Count, Name, SomeTime, Thousandths, Word, expected, narrowed, words};
use super::lists::{List, distinct_names, items};
use sim_model::draw::Ratio;
use sim_model::plan::{self, ArrivalMode, Arrivals, ClientProfile, Naming, Persona, Phase, Reads};
use sim_model::protocol::ReadBy;

/// The most users in all.
const MAX_USERS: u64 = 1_000_000;

type Users = Count<1, 1_000_000>;

words! {
    Mode("a mode of arrival") => ArrivalMode = [
        "uniform": ArrivalMode::Uniform,
        "poisson": ArrivalMode::Poisson,
    ]
}

form! {
    /// Users arriving at a rate, a number of users, or a pause.
    struct PhaseKeys("a phase", "{ duration: 10s, arrival_rate: 20 }", "Phase") {
        /// Its name, for reports.
        name: Option<Name>,
        /// How long it lasts.
        #[with("arrival_rate", "arrival_count")]
        #[needed_with("arrival_rate", "arrival_count")]
        duration: Option<SomeTime>,
        /// Users per second.
        #[one_of("kind")]
        arrival_rate: Option<Thousandths>,
        /// Users per second at the end; the rate changes evenly.
        #[with("arrival_rate")]
        ramp_to: Option<Thousandths>,
        /// Evenly spaced, or independent of one another.
        #[with("arrival_rate")]
        mode: Word<Mode> = ArrivalMode::Uniform,
        /// The number of users, spread evenly over the phase.
        #[one_of("kind")]
        arrival_count: Option<Users>,
        /// The most users of the phase.
        #[with("arrival_rate", "arrival_count")]
        max_users: Option<Users>,
        /// A time in which no user arrives.
        #[one_of("kind")]
        pause: Option<SomeTime>,
    }
}

impl ByKeys for Phase {
    type Keys = PhaseKeys;

    fn from_keys(keys: PhaseKeys, fields: &Fields<'_>) -> Read<Self> {
        let arrivals = match (keys.arrival_rate, keys.arrival_count) {
            (Some(from_milli), _) => {
                let to_milli = keys.ramp_to.unwrap_or(from_milli);
                if from_milli == 0 && to_milli == 0 {
                    return Err(Problem::new(
                        fields.place_of("arrival_rate"),
                        "at this rate nobody ever comes",
                        "a rate above 0, a `ramp_to` above 0, or a pause: { pause: 5s }",
                    ));
                }
                Arrivals::Rate {
                    from_milli,
                    to_milli,
                    mode: keys.mode,
                }
            }
            (None, Some(count)) => Arrivals::Count(count),
            (None, None) => Arrivals::Pause,
        };
        Ok(Self {
            name: keys.name.unwrap_or_default(),
            duration: keys.duration.or(keys.pause).unwrap_or(Span::ZERO),
            arrivals,
            max_users: keys.max_users,
        })
    }

    fn to_keys(&self) -> PhaseKeys {
        let mut keys = PhaseKeys {
            name: Some(self.name.clone()),
            duration: Some(self.duration),
            arrival_rate: None,
            ramp_to: None,
            mode: ArrivalMode::Uniform,
            arrival_count: None,
            max_users: self.max_users,
            pause: None,
        };
        match self.arrivals {
            Arrivals::Pause => keys.pause = keys.duration.take(),
            Arrivals::Count(count) => keys.arrival_count = Some(count),
            Arrivals::Rate {
                from_milli,
                to_milli,
                mode,
            } => {
                keys.arrival_rate = Some(from_milli);
                keys.ramp_to = (to_milli != from_milli).then_some(to_milli);
                keys.mode = mode;
            }
        }
        keys
    }
}

narrowed! {
    /// `phases`: in sequence.
    Phases, List<Phase, 1>, Phase::WHAT, |phases, node, context| {
        let (mut at, mut users) = (Span::ZERO, 0_u64);
        for (index, (item, phase)) in items::<Phase>(node)?.iter().zip(phases).enumerate() {
            if phase.name.is_empty() {
                phase.name = format!("phase {}", index + 1);
            }
            at = at + phase.duration;
            users = users.saturating_add(expected_users(phase));
            if users > MAX_USERS {
                return Err(Problem::new(
                    item.place,
                    format!("with this phase {users} users would come"),
                    format!("at most {MAX_USERS} users over all phases; `max_users` caps a phase"),
                ));
            }
            let place = item.place;
            context.ends.push(End { place, at });
        }
        Ok(())
    }
}

/// The number of users of a phase; under `poisson` the mean.
fn expected_users(phase: &Phase) -> u64 {
    let users = match phase.arrivals {
        Arrivals::Pause => 0,
        Arrivals::Count(n) => u64::from(n),
        Arrivals::Rate {
            from_milli,
            to_milli,
            ..
        } => {
            let twice = u128::from(from_milli + to_milli) * u128::from(phase.duration.0);
            u64::try_from(twice / 2_000_000_000).unwrap_or(u64::MAX)
        }
    };
    phase
        .max_users
        .map_or(users, |most| users.min(u64::from(most)))
}

words! {
    StreamOf("an answer to which stream a user holds") => Option<ReadBy> = [
        "none": None,
        "events": Some(ReadBy::Handle),
        "reader": Some(ReadBy::ReaderId),
    ]
}

/// The event stream of a user, and the secret that opens it.
pub(crate) type Stream = Word<StreamOf>;

words! {
    ReadsOf("a way to read an inbox") => Reads = [
        "exactly": Reads::Exactly,
        "stream": Reads::ByStream,
    ]
}

words! {
    Names("a kind of names") => Naming = [
        "given": Naming::Given,
        "scripts": Naming::Scripts,
        "alike": Naming::Alike,
        "odd": Naming::Odd,
        "unnamed": Naming::Unnamed,
    ]
}

form! {
    /// Mistakes of real clients.
    Habits("habits", "{ abandon: 1/20 }") => plan::Habits = plan::Habits {
        /// Never passes `after` to check; drawn once for each user.
        bare_check: Ratio = Ratio::NEVER,
        /// Forgets its handle and registers again; drawn before each step.
        forget_handle: Ratio = Ratio::NEVER,
        /// Cancels a call early; drawn for each call.
        abandon: Ratio = Ratio::NEVER,
        /// Sends the next call without waiting for this one's answer; drawn for each call.
        parallel: Ratio = Ratio::NEVER,
        /// Retries without a request key; drawn once for each user.
        no_key: Ratio = Ratio::NEVER,
        /// Opens a second stream beside one that just opened, and closes the first within 4s.
        second_stream: Ratio = Ratio::NEVER,
        /// Makes a call that its flow does not have, in any room it knows of; drawn before each step.
        stray: Ratio = Ratio::NEVER,
    }
}

form! {
    /// A kind of user.
    struct PersonaKeys("a persona", "{ name: penpal, flow: [enter_queue] }", "Persona") {
        name: Name,
        /// How often it is drawn, relative to the others.
        weight: Weight = 1,
        habits: Habits = plan::Habits::default(),
        /// The event stream that it opens: none, one by its handle (events), or one by its reader
        /// id.
        stream: Stream = Some(ReadBy::Handle),
        /// How it reads its inbox: by the stream and by checks that fill its gaps (exactly), or
        /// only by the stream.
        reads: Word<ReadsOf> = Reads::Exactly,
        /// The name it registers with: its given name, one after a word of some script, one of few
        /// that look alike, an odd one, or none.
        names: Word<Names> = Naming::Given,
        /// Its steps, in order.
        flow: Flow,
    }
}

impl ByKeys for Arc<Persona> {
    type Keys = PersonaKeys;

    fn from_keys(keys: PersonaKeys, fields: &Fields<'_>) -> Read<Self> {
        if keys.reads == Reads::ByStream && keys.stream.is_none() {
            return Err(Problem::new(
                fields.place_of("reads"),
                "a user without a stream cannot read by it",
                "`reads: exactly`, or a `stream`",
            ));
        }
        Ok(Self::new(Persona {
            name: keys.name,
            weight: keys.weight,
            habits: keys.habits,
            stream: keys.stream.is_some(),
            profile: ClientProfile {
                stream_by: keys.stream.unwrap_or_default(),
                reads: keys.reads,
                names: keys.names,
            },
            flow: keys.flow,
        }))
    }

    fn to_keys(&self) -> PersonaKeys {
        PersonaKeys {
            name: self.name.clone(),
            weight: self.weight,
            habits: self.habits,
            stream: self.stream.then_some(self.profile.stream_by),
            reads: self.profile.reads,
            names: self.profile.names,
            flow: Arc::clone(&self.flow),
        }
    }
}

narrowed! {
    /// `scenarios`: the kinds of users.
    Personas, List<Arc<Persona>, 1>, <Arc<Persona>>::WHAT, |personas, node, _| {
        if personas.len() > 1_000 {
            return Err(expected(node, "personas", "1 to 1000 personas"));
        }
        distinct_names::<Arc<Persona>>(node, personas.iter().map(|persona| persona.name.as_str()))
    }
}
