//! Personas: the kinds of the arriving users.

use std::sync::Arc;

use super::context::{ArrivingUsers, Context};
use super::error::Read;
use super::fields::Fields;
use super::flow::{Flow, Weight};
use super::form::{ByKeys, form};
use super::forms::{Name, Word, expected, narrowed, words};
use super::lists::{List, distinct_names, items};
use super::node::Node;
use super::phases::Users;
use sim_model::draw::Ratio;
use sim_model::plan::{self, ClientProfile, Frequency, Naming, Persona, Reads};
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
        /// Waits for a break, or for a check with a `wait`, no longer than `client.timeout`, and so
        /// repeats it while the server holds it; drawn for each call.
        impatient: Ratio = Ratio::NEVER,
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
        /// In place of `weight`: exactly this number of the users is this kind.
        count: Option<Users>,
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

    fn from_keys(keys: PersonaKeys, fields: &Fields<'_>, _: &mut Context) -> Read<Self> {
        if keys.reads == Reads::ByStream && keys.stream.is_none() {
            return fields.place_of("reads").refuse(
                "a user without a stream cannot read by it",
                "`reads: exactly`, or a `stream`",
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
fn check_counts(personas: &[Arc<Persona>], node: &Node, arriving: ArrivingUsers) -> Read<()> {
    let ArrivingUsers { certain, all_are } = arriving;
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
