//! Phases of arrivals, alone or in groups, and repeated.

use chat_types::Span;
use serde_json::Value as Json;

use super::context::{ArrivingUsers, Context};
use super::error::Read;
use super::fields::Fields;
use super::form::{ByKeys, Form, form};
use super::forms::{Count, Name, SomeTime, Thousandths, Word, words};
use super::lists::{List, items};
use super::node::Node;
use super::schemas::Schemas;
use super::text::Text;
use sim_model::plan::{ArrivalMode, Arrivals, Phase};

/// The most users in all.
const MAX_USERS: u64 = 1_000_000;
/// The most phases with all repetitions.
const MAX_PHASES: u64 = 1_000;

type Repeat = Count<1, 1_000>;

/// A number of users.
pub(crate) type Users = Count<1, 1_000_000>;

words! {
    Mode("a mode of arrival") => ArrivalMode = [
        "uniform": ArrivalMode::Uniform,
        "poisson": ArrivalMode::Poisson,
    ]
}

form! {
    /// Users arriving at a rate, a number of users, a pause, or a group of phases.
    #[derive(Default)]
    struct PhaseKeys("a phase", "{ duration: 10s, arrival_rate: 20 }", "Phase") {
        /// Its name, for reports.
        name: Option<Name>,
        /// How often it is played, one after another; all phases together at most 1000 times.
        repeat: Repeat = 1,
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
        #[with("arrival_rate", "arrival_count")]
        mode: Word<Mode> = ArrivalMode::Uniform,
        /// The number of users, spread over the phase.
        #[one_of("kind")]
        arrival_count: Option<Users>,
        /// The most users of the phase.
        #[with("arrival_rate", "arrival_count")]
        max_users: Option<Users>,
        /// A time in which no user arrives.
        #[one_of("kind")]
        pause: Option<SomeTime>,
        /// A group of phases, one after another.
        #[one_of("kind")]
        phases: Option<List<Written, 1>>,
    }
}

/// A phase as it is written: alone or as a group, and repeated.
pub(crate) struct Written {
    what: Played,
    repeat: u32,
}

enum Played {
    Alone(Phase),
    Group(Vec<Written>),
}

impl Written {
    /// The number of phases with all repetitions.
    fn length(&self) -> u64 {
        let once = match &self.what {
            Played::Alone(_) => 1,
            Played::Group(phases) => phases.iter().map(Self::length).fold(0, u64::saturating_add),
        };
        once.saturating_mul(u64::from(self.repeat))
    }

    /// Plays the phases with all repetitions.
    fn play(&self, played: &mut Vec<Phase>) {
        for _ in 0..self.repeat {
            match &self.what {
                Played::Alone(phase) => played.push(phase.clone()),
                Played::Group(phases) => phases.iter().for_each(|phase| phase.play(played)),
            }
        }
    }
}

impl ByKeys for Written {
    type Keys = PhaseKeys;

    fn from_keys(mut keys: PhaseKeys, fields: &Fields<'_>, context: &mut Context) -> Read<Self> {
        if keys.phases.is_some() {
            fields.refuse(&["name"], "the phases of a group have names of their own")?;
        }
        let repeat = keys.repeat;
        let what = match keys.phases.take() {
            None => Played::Alone(phase(keys, fields, context)?),
            Some(phases) => Played::Group(phases),
        };
        let written = Self { what, repeat };
        if written.length() > MAX_PHASES {
            return fields.place_of("repeat").refuse(
                format!("{} phases with all repetitions", written.length()),
                format!("at most {MAX_PHASES} phases in all; a smaller `repeat`"),
            );
        }
        Ok(written)
    }

    fn to_keys(&self) -> PhaseKeys {
        // Plans have no groups.
        let mut keys = match &self.what {
            Played::Alone(phase) => keys(phase),
            Played::Group(_) => PhaseKeys::default(),
        };
        keys.repeat = self.repeat;
        keys
    }
}

fn phase(keys: PhaseKeys, fields: &Fields<'_>, context: &mut Context) -> Read<Phase> {
    context.phases += 1;
    let arrivals = match (keys.arrival_rate, keys.arrival_count) {
        (Some(from_milli), _) => {
            let to_milli = keys.ramp_to.unwrap_or(from_milli);
            if from_milli == 0 && to_milli == 0 {
                return fields.place_of("arrival_rate").refuse(
                    "at this rate nobody ever comes",
                    "a rate above 0, a `ramp_to` above 0, or a pause: { pause: 5s }",
                );
            }
            Arrivals::Rate {
                from_milli,
                to_milli,
                mode: keys.mode,
            }
        }
        (None, Some(users)) => Arrivals::Count {
            users,
            mode: keys.mode,
        },
        (None, None) => Arrivals::Pause,
    };
    Ok(Phase {
        name: keys
            .name
            .unwrap_or_else(|| format!("phase {}", context.phases)),
        duration: keys.duration.or(keys.pause).unwrap_or(Span::ZERO),
        arrivals,
        max_users: keys.max_users,
    })
}

fn keys(phase: &Phase) -> PhaseKeys {
    let mut keys = PhaseKeys {
        name: Some(phase.name.clone()),
        duration: Some(phase.duration),
        max_users: phase.max_users,
        ..PhaseKeys::default()
    };
    match phase.arrivals {
        Arrivals::Pause => keys.pause = keys.duration.take(),
        Arrivals::Count { users, mode } => {
            keys.arrival_count = Some(users);
            keys.mode = mode;
        }
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

/// `phases`: in sequence, with all repetitions.
pub(crate) enum Phases {}

impl Form for Phases {
    type Of = Vec<Phase>;
    const WHAT: &'static str = Written::WHAT;
    const EXAMPLE: &'static str = Written::EXAMPLE;

    fn example() -> String {
        List::<Written>::example()
    }

    fn read(node: &Node, context: &mut Context) -> Read<Vec<Phase>> {
        let written = List::<Written, 1>::read(node, context)?;
        let mut phases = Vec::new();
        let (mut at, mut users) = (Span::ZERO, 0_u64);
        for (item, one) in items::<Written>(node)?.iter().zip(&written) {
            let first = phases.len();
            one.play(&mut phases);
            let wrong = |what, accepted| item.place.refuse(what, accepted);
            if phases.len() as u64 > MAX_PHASES {
                return wrong(
                    format!("with this one there are {} phases", phases.len()),
                    format!("at most {MAX_PHASES} phases with all repetitions"),
                );
            }
            for phase in &phases[first..] {
                at = at + phase.duration;
                users = users.saturating_add(phase.users());
            }
            if users > MAX_USERS {
                return wrong(
                    format!("with this phase {users} users would come"),
                    format!("at most {MAX_USERS} users over all phases; `max_users` caps a phase"),
                );
            }
            context.ends.push((item.place, at));
        }
        let certain = phases.iter().filter(|phase| !phase.is_random());
        context.arrivals = Some(ArrivingUsers {
            certain: certain.map(Phase::users).sum(),
            all_are: !phases.iter().any(Phase::is_random),
        });
        Ok(phases)
    }

    fn write(phases: &Vec<Phase>, context: &Context) -> Option<Text> {
        let alone = |phase: &Phase| Written {
            what: Played::Alone(phase.clone()),
            repeat: 1,
        };
        List::<Written>::write(&phases.iter().map(alone).collect(), context)
    }

    fn schema(schemas: &mut Schemas) -> Json {
        List::<Written, 1>::schema(schemas)
    }
}
