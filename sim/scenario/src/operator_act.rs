//! An operator's act.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::context::Context;
use super::error::Read;
use super::fields::Fields;
use super::form::{Form, form};
use super::forms::{Whole, Word, words};
use super::node::{Node, Value};
use super::schemas::Schemas;
use super::script::User;
use super::text::Text;
use sim_model::plan::{OperatorAct, OperatorVerb};

words! { Act("an operator's act") => OperatorVerb }

form! {
    Lifted("an operator's act", "{ user: a }") => OperatorAct = OperatorAct {
        /// In the steps form: this user. Otherwise the latest one against whom there was such an act.
        user: Option<User>,
    } ..OperatorAct::drawn(OperatorVerb::Mute)
}

form! {
    Whom("an operator's act", "{ user: a }") => OperatorAct = OperatorAct {
        /// In the steps form: this user. Otherwise one of the present users is drawn.
        user: Option<User>,
        /// The operator's reason. Otherwise a usual one.
        reason: Option<Arc<str>>,
    } ..OperatorAct::drawn(OperatorVerb::Mute)
}

form! {
    WhomAndWhere("an operator's act", "{ user: a }") => OperatorAct = OperatorAct {
        /// In the steps form: this user. Otherwise one of the present users is drawn.
        user: Option<User>,
        /// The number of the room, by the order of rooms. Otherwise a room of the user.
        room: Option<Whole<1, 9_007_199_254_740_991>>,
        /// The operator's reason. Otherwise a usual one.
        reason: Option<Arc<str>>,
    } ..OperatorAct::drawn(OperatorVerb::Mute)
}

/// What an act takes: a form of the acts of one kind.
struct Taken {
    read: fn(&Node, &mut Context) -> Read<OperatorAct>,
    write: fn(&OperatorAct, &Context) -> Option<Text>,
    schema: fn(&mut Schemas) -> Json,
}

impl Taken {
    const fn by<F: Form<Of = OperatorAct>>() -> Self {
        Self {
            read: F::read,
            write: F::write,
            schema: |schemas| schemas.of::<F>(),
        }
    }

    const fn of(verb: OperatorVerb) -> Self {
        match (verb.names_room(), verb.has_reason()) {
            (true, _) => Self::by::<WhomAndWhere>(),
            (false, true) => Self::by::<Whom>(),
            (false, false) => Self::by::<Lifted>(),
        }
    }
}

/// `operator: kick`, or `operator: { kick: { user: a } }`.
impl Form for OperatorAct {
    type Of = Self;
    const WHAT: &'static str = "`operator`";
    const EXAMPLE: &'static str = "mute";

    fn read(node: &Node, context: &mut Context) -> Read<Self> {
        if !matches!(node.value, Value::Map(_)) {
            let verb = Word::<Act>::read(node, context)?;
            return Ok(Self::drawn(verb));
        }
        let acts = OperatorVerb::NAMES;
        let (fields, problems) = Fields::named(node, Self::WHAT, acts.to_vec())?;
        problems.finish(Some(()))?;
        let (word, value) = fields.one_of(acts, "{}")?;
        let known = OperatorVerb::ALL.iter().find(|verb| verb.name() == word);
        let verb = *known.unwrap_or(&OperatorVerb::Mute);
        if matches!(value.value, Value::Empty) {
            return Ok(Self::drawn(verb));
        }
        (Taken::of(verb).read)(value, context).map(|act| Self { verb, ..act })
    }

    fn write(act: &Self, context: &Context) -> Option<Text> {
        if *act == Self::drawn(act.verb) {
            return Word::<Act>::write(&act.verb, context);
        }
        let taken = (Taken::of(act.verb).write)(act, context);
        Some(Text::map([(act.verb.name(), taken)]))
    }

    fn schema(schemas: &mut Schemas) -> Json {
        let acts = OperatorVerb::ALL.iter().map(|verb| {
            let taken = (Taken::of(*verb).schema)(schemas);
            let taken = json!({ "anyOf": [{ "type": "null" }, taken] });
            (verb.name().to_owned(), taken)
        });
        let acts: Map<_, _> = acts.collect();
        json!({
            "anyOf": [
                schemas.of::<Word<Act>>(),
                {
                    "type": "object",
                    "properties": acts,
                    "additionalProperties": false,
                    "minProperties": 1,
                    "maxProperties": 1
                }
            ]
        })
    }
}
