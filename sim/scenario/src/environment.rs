//! The environment of users: the server's capacity, the clients' retries, and the network.

use serde_json::{Value as Json, json};

use super::context::Context;
use super::error::Read;
use super::form::{Form, Schemas, form};
use super::forms::{Count, SomeTime, Word, Words as _, text, words};
use super::node::{Node, Value};
use super::tables::DrawnTime;
use super::text::Text;
use sim_model::draw::Ratio;
use sim_model::plan::{self, USUAL_CLIENT, usual_capacity, usual_network};
use sim_model::recipe::{EXAMPLE, Recipe, RecipeError};

form! {
    /// The times of the server's work, so that load causes latency.
    Capacity("`capacity`", "{ service: 20us }") => plan::Capacity = plan::Capacity {
        /// For each command, one at a time.
        service: DrawnTime = usual_capacity().service,
        /// For each journal batch.
        commit: DrawnTime = usual_capacity().commit,
        /// Requests that may wait for service, beyond it `overloaded`.
        queue: Count<1, 10_000_000> = usual_capacity().queue,
        /// The number of journal entries after which a snapshot replaces them.
        snapshot_every: Count<1, 10_000_000> = usual_capacity().snapshot_every,
    }
}

form! {
    /// How virtual clients retry.
    Client("`client`", "{ attempts: 3 }") => plan::Client = plan::Client {
        /// How long the first attempt waits for its answer, where a check's adds its wait.
        timeout: SomeTime = USUAL_CLIENT.timeout,
        /// The factor by which the pause grows from attempt to attempt.
        backoff: Count<1, 100> = USUAL_CLIENT.backoff,
        /// The longest pause.
        max: SomeTime = USUAL_CLIENT.max,
        /// The total number of attempts.
        attempts: Count<1, 1_000> = USUAL_CLIENT.attempts,
    }
}

form! {
    /// The network's random faults, until the scenario's duration is over.
    Network("`network`", "{ loss: 1/200 }") => plan::Network = plan::Network {
        /// Each way, for each packet.
        latency: DrawnTime = usual_network().latency,
        /// Requests and replies that never arrive.
        loss: Ratio = Ratio::NEVER,
        /// Requests that arrive twice.
        duplicate: Ratio = Ratio::NEVER,
        /// Pushes at which the stream breaks instead.
        stream_break: Ratio = Ratio::NEVER,
        /// The number of addresses that the clients share, in turn; after a disconnection a client
        /// comes back from the next one. Without it, each has its own.
        addresses: Option<Count<1, 1_000_000>>,
    }
}

form! {
    /// Perturbed on purpose: by clients' priorities, and by deliveries close to deadlines.
    Race("`race`", "{ depth: 3 }") => plan::Race = plan::Race {
        /// At one moment fewer than this, the next client to send becomes the slowest.
        depth: Count<1, 100> = plan::Race::default().depth,
        /// How often a delivery is moved close to a deadline or to another delivery.
        hug: Ratio = plan::Race::default().hug,
    }
}

form! {
    /// A race with parameters.
    struct RaceKeys("`schedule`", "{ race: { depth: 3 } }") {
        race: Race,
    }
}

words! {
    Kind("a schedule") => plan::Schedule = [
        "plain": plan::Schedule::Plain,
        "race": plan::Schedule::Race(plan::Race::default()),
    ]
}

/// The order in which concurrent packets are delivered: `plain`, `race`, or a race with parameters.
impl Form for plan::Schedule {
    type Of = Self;
    const WHAT: &'static str = Kind::WHAT;
    const EXAMPLE: &'static str = "race";

    fn read(node: &Node, context: &mut Context) -> Read<Self> {
        if matches!(node.value, Value::Map(_)) {
            return RaceKeys::read(node, context).map(|keys| Self::Race(keys.race));
        }
        Word::<Kind>::read(node, context)
    }

    fn write(schedule: &Self, context: &Context) -> Option<Text> {
        match schedule {
            Self::Race(race) if *race != plan::Race::default() => {
                RaceKeys::write(&RaceKeys { race: *race }, context)
            }
            Self::Race(_) | Self::Plain => Word::<Kind>::write(schedule, context),
        }
    }

    fn schema(schemas: &mut Schemas) -> Json {
        json!({ "anyOf": [schemas.of::<Word<Kind>>(), schemas.of::<RaceKeys>()] })
    }
}

/// The steps at which runs branch: `s123:2,s990:1`.
impl Form for Recipe {
    type Of = Self;
    const WHAT: &'static str = "a recipe";
    const EXAMPLE: &'static str = "s123:2,s990:1";

    fn read(node: &Node, _: &mut Context) -> Read<Self> {
        let recipe = text(node, Self::WHAT)?.parse();
        recipe.map_err(|problem: RecipeError| node.place.wrong(problem.to_string(), EXAMPLE))
    }

    fn write(recipe: &Self, _: &Context) -> Option<Text> {
        Some(Text::in_quotes(&recipe.to_string()))
    }

    fn schema(_: &mut Schemas) -> Json {
        json!({
            "type": "string",
            "pattern": "^(s[0-9]+:[1-9][0-9]*(,s[0-9]+:[1-9][0-9]*)*)?$"
        })
    }
}
