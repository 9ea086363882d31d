//! An operator's act.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::context::Context;
use super::error::Read;
use super::fault::NamedUser;
use super::fields::Fields;
use super::form::{Form, form};
use super::forms::{Whole, Word, words};
use super::node::{Node, Value};
use super::schemas::Schemas;
use super::text::Text;
use sim_model::plan::{OperatorAct, OperatorVerb};

words! {
    Act("an operator's act") => OperatorVerb = all {
        OperatorVerb::ALL.iter().map(|verb| (verb.name(), *verb)).collect()
    }
}

form! {
    struct Lifted("an operator's act", "{ user: a }") {
        /// In the steps form: this user. Otherwise the latest one against whom there was such an act.
        user: Option<NamedUser>,
    }
}

form! {
    struct Whom("an operator's act", "{ user: a }") {
        /// In the steps form: this user. Otherwise one of the present users is drawn.
        user: Option<NamedUser>,
        /// The operator's reason. Otherwise a usual one.
        reason: Option<Arc<str>>,
    }
}

form! {
    struct WhomAndWhere("an operator's act", "{ user: a }") {
        /// In the steps form: this user. Otherwise one of the present users is drawn.
        user: Option<NamedUser>,
        /// The number of the room, by the order of rooms. Otherwise a room of the user.
        room: Option<Whole<1, 9_007_199_254_740_991>>,
        /// The operator's reason. Otherwise a usual one.
        reason: Option<Arc<str>>,
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
        let acts: Vec<&str> = OperatorVerb::ALL.iter().map(|verb| verb.name()).collect();
        let (fields, problems) = Fields::named(node, Self::WHAT, acts.clone())?;
        problems.finish(Some(()))?;
        let (word, value) = fields.one_of(&acts, "{}")?;
        let known = OperatorVerb::ALL.iter().find(|verb| verb.name() == word);
        let mut act = Self::drawn(*known.unwrap_or(&OperatorVerb::Mute));
        if matches!(value.value, Value::Empty) {
            return Ok(act);
        }
        if act.verb.names_room() {
            let WhomAndWhere { user, room, reason } = WhomAndWhere::read(value, context)?;
            (act.user, act.room, act.reason) = (user, room, reason);
        } else if act.verb.has_reason() {
            let Whom { user, reason } = Whom::read(value, context)?;
            (act.user, act.reason) = (user, reason);
        } else {
            act.user = Lifted::read(value, context)?.user;
        }
        Ok(act)
    }

    fn write(act: &Self, context: &Context) -> Option<Text> {
        if act.user.is_none() && act.room.is_none() && act.reason.is_none() {
            return Word::<Act>::write(&act.verb, context);
        }
        let (user, room, reason) = (act.user, act.room, act.reason.clone());
        let whom = match (act.verb.names_room(), act.verb.has_reason()) {
            (true, _) => WhomAndWhere::write(&WhomAndWhere { user, room, reason }, context),
            (false, true) => Whom::write(&Whom { user, reason }, context),
            (false, false) => Lifted::write(&Lifted { user }, context),
        };
        Some(Text::map([(act.verb.name(), whom)]))
    }

    fn schema(schemas: &mut Schemas) -> Json {
        let (whom, with_room) = (schemas.of::<Whom>(), schemas.of::<WhomAndWhere>());
        let lifted = schemas.of::<Lifted>();
        let act = |verb: &OperatorVerb| {
            let taken = match (verb.names_room(), verb.has_reason()) {
                (true, _) => &with_room,
                (false, true) => &whom,
                (false, false) => &lifted,
            };
            let taken = json!({ "anyOf": [{ "type": "null" }, taken] });
            (verb.name().to_owned(), taken)
        };
        json!({
            "anyOf": [
                schemas.of::<Word<Act>>(),
                {
                    "type": "object",
                    "properties": OperatorVerb::ALL.iter().map(act).collect::<Map<_, _>>(),
                    "additionalProperties": false,
                    "minProperties": 1,
                    "maxProperties": 1
                }
            ]
        })
    }
}
