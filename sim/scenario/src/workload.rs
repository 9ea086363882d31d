//! Phases of arrivals, alone or in groups, and repeated; and personas, the kinds of the arriving users.

use std::sync::Arc;

use chat_types::Span;
use serde_json::Value as Json;

use super::context::Context;
use super::error::Read;
use super::fields::Fields;
use super::flow::{Flow, Weight};
use super::form::{ByKeys, Form, form};
use super::forms::{
    Count, List, Name, SomeTime, Thousandths, Word, distinct_names, expected, items, narrowed,
    words,
};
use super::node::Node;
use super::schemas::Schemas;
use super::text::Text;
use sim_model::draw::Ratio;
use sim_model::plan;
use sim_model::plan::{
    ArrivalMode, Arrivals, ClientProfile, Frequency, Naming, Persona, Phase, Reads,
};
use sim_model::protocol::ReadBy;

words! {
    StreamOf("an answer to which stream a user holds") => Option<ReadBy> = [
        "none": None,
        "events": Some(ReadBy::Handle),
        "reader": Some(ReadBy::ReaderId),
    ]
}

words! {
    OpenedBy("an answer to which stream is opened") => ReadBy = [
        "events": ReadBy::Handle,
        "reader": ReadBy::ReaderId,
    ]
}

/// The event stream of a user, and the secret that opens it.
pub(crate) type Stream = Word<StreamOf>;

words! { ReadsOf("a way to read an inbox") => Reads }

words! { Names("a kind of names") => Naming }

form! {
    /// Mistakes of real clients.
    Habits("habits", "{ abandon: 1/20 }") => plan::Habits = plan::Habits {
        /// Never passes `after` to check; drawn once for each user.
        bare_check: Ratio = Ratio::NEVER,
        /// Forgets its handle and registers again; drawn before each step.
        forget_handle: Ratio = Ratio::NEVER,
        /// Cancels a call early; drawn for each call.
        abandon: Ratio = Ratio::NEVER,
        /// Waits for a break, or for a check with a `wait`, no longer than `client.timeout`, and so
        /// repeats it while the server holds it; drawn for each call.
        impatient: Ratio = Ratio::NEVER,
        /// Sends the next call without waiting for this one's answer; drawn for each call.
        parallel: Ratio = Ratio::NEVER,
        /// Retries without a request key; drawn once for each user.
        no_key: Ratio = Ratio::NEVER,
        /// Opens a second stream beside one that just opened, and closes the first within 4s.
        second_stream: Ratio = Ratio::NEVER,
        /// Addresses a message to its partner, or to who spoke last in any of its rooms; drawn for each message.
        address: Ratio = Ratio::NEVER,
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
        /// In place of `weight`: exactly this number of the users is this kind.
        count: Option<Users>,
        habits: Habits = plan::Habits::default(),
        /// The event stream that it opens: none, one by its handle (events), or one by its reader
        /// id.
        stream: Stream = Some(ReadBy::Handle),
        /// How it reads its inbox: by the stream and by checks that fill its gaps (exactly), or
        /// only by the stream, or only once its waker has knocked: then it sleeps meanwhile.
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

    fn from_keys(keys: PersonaKeys, fields: &Fields<'_>, _: &mut Context) -> Read<Self> {
        if keys.reads == Reads::ByStream && keys.stream.is_none() {
            return fields.place_of("reads").refuse(
                "a user without a stream cannot read by it",
                "`reads: exactly`, or a `stream`",
            );
        }
        if keys.reads == Reads::Knocked && keys.stream.is_some() {
            return fields.place_of("reads").refuse(
                "a user with a stream does not sleep until it is knocked for",
                "`stream: none` beside it, or `reads: exactly`",
            );
        }
        if keys.count.is_some() {
            fields.refuse(&["weight"], "`count` says how many of the users it is")?;
        }
        Ok(Self::new(Persona {
            name: keys.name,
            frequency: match keys.count {
                None => Frequency::Weight(keys.weight),
                Some(users) => Frequency::Count(users),
            },
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
            weight: self.frequency.weight().max(1),
            count: Some(self.frequency.count()).filter(|users| *users > 0),
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
    Personas, List<Arc<Persona>, 1>, <Arc<Persona>>::WHAT, |personas, node, context| {
        if personas.len() > 1_000 {
            return Err(expected(node, "personas", "1 to 1000 personas"));
        }
        distinct_names::<Arc<Persona>>(node, personas.iter().map(|persona| persona.name.as_str()))?;
        context.personas = Some(personas.iter().map(|persona| persona.name.clone()).collect());
        context.arrivals.map_or(Ok(()), |arrivals| check_counts(personas, node, arrivals))
    }
}

/// Refuses counts that are not the numbers of users: too many, or too few where no persona has a
/// weight.
fn check_counts(
    personas: &[Arc<Persona>],
    node: &Node,
    (certain, all_are): (u64, bool),
) -> Read<()> {
    let mut counted = 0;
    for (item, persona) in items::<Arc<Persona>>(node)?.iter().zip(personas) {
        counted += u64::from(persona.frequency.count());
        if counted > certain {
            let (come, help) = if all_are {
                ("come", "smaller counts, or more users in `phases`")
            } else {
                (
                    "come in any case",
                    "a phase with `arrival_count`, which `mode: poisson` goes with too, in place \
                     of a random number of users; or smaller counts",
                )
            };
            return item.place.refuse(
                format!("with this kind {counted} users are counted, and {certain} {come}"),
                help,
            );
        }
    }
    let all_counted = personas.iter().all(|one| one.frequency.weight() == 0);
    if all_counted && (counted < certain || !all_are) {
        let more = if all_are { "" } else { " or more" };
        return node.place.refuse(
            format!("{counted} users are counted, and {certain}{more} come"),
            "a kind of users with `weight` in place of `count`, for all others",
        );
    }
    Ok(())
}

/// The most users in all.
const MAX_USERS: u64 = 1_000_000;
/// The most phases with all repetitions.
const MAX_PHASES: u64 = 1_000;

/// A number of users.
pub(crate) type Users = Count<1, 1_000_000>;

words! { Mode("a mode of arrival") => ArrivalMode }

form! {
    /// Users arriving at a rate, a number of users, a pause, or a group of phases.
    #[derive(Default)]
    struct PhaseKeys("a phase", "{ duration: 10s, arrival_rate: 20 }", "Phase") {
        /// Its name, for reports.
        name: Option<Name>,
        /// How often it is played, one after another; all phases together at most 1000 times.
        repeat: Count<1, 1_000> = 1,
        /// How long it lasts.
        duration: Option<SomeTime>; with("arrival_rate", "arrival_count");
            needed_with("arrival_rate", "arrival_count"),
        /// Users per second.
        arrival_rate: Option<Thousandths>; one_of "kind",
        /// Users per second at the end; the rate changes evenly.
        ramp_to: Option<Thousandths>; with("arrival_rate"),
        /// Evenly spaced, or independent of one another.
        mode: Word<Mode> = ArrivalMode::Uniform; with("arrival_rate", "arrival_count"),
        /// The number of users, spread over the phase.
        arrival_count: Option<Users>; one_of "kind",
        /// The most users of the phase.
        max_users: Option<Users>; with("arrival_rate", "arrival_count"),
        /// A time in which no user arrives.
        pause: Option<SomeTime>; one_of "kind",
        /// A group of phases, one after another.
        phases: Option<List<Written, 1>>; one_of "kind",
    }
}

/// A phase as it is written, or a group of them, and repeated.
pub(crate) struct Written {
    phase: Option<Phase>,
    group: Vec<Written>,
    repeat: u32,
}

impl Written {
    /// The number of phases with all repetitions.
    fn length(&self) -> u64 {
        let alone = u64::from(self.phase.is_some());
        let once = self.group.iter().map(Self::length);
        let once = once.fold(alone, u64::saturating_add);
        once.saturating_mul(u64::from(self.repeat))
    }

    /// Plays the phases with all repetitions.
    fn play(&self, played: &mut Vec<Phase>) {
        for _ in 0..self.repeat {
            played.extend(self.phase.clone());
            self.group.iter().for_each(|phase| phase.play(played));
        }
    }
}

impl ByKeys for Written {
    type Keys = PhaseKeys;

    fn from_keys(mut keys: PhaseKeys, fields: &Fields<'_>, context: &mut Context) -> Read<Self> {
        if keys.phases.is_some() {
            fields.refuse(&["name"], "the phases of a group have names of their own")?;
        }
        let group = keys.phases.take().unwrap_or_default();
        let mut written = Self {
            phase: None,
            group,
            repeat: keys.repeat,
        };
        if written.group.is_empty() {
            written.phase = Some(phase(keys, fields, context)?);
        }
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
        let mut keys = self.phase.as_ref().map_or_else(PhaseKeys::default, keys);
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
        let all_are = !phases.iter().any(Phase::is_random);
        context.arrivals = Some((certain.map(Phase::users).sum(), all_are));
        Ok(phases)
    }

    fn write(phases: &Vec<Phase>, context: &Context) -> Option<Text> {
        let alone = |phase: &Phase| Written {
            phase: Some(phase.clone()),
            group: Vec::new(),
            repeat: 1,
        };
        List::<Written>::write(&phases.iter().map(alone).collect(), context)
    }

    fn schema(schemas: &mut Schemas) -> Json {
        List::<Written, 1>::schema(schemas)
    }
}
