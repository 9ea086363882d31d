//! Distributions in scenarios: a value, `{ min, max }`, `{ p50, p99 }` or `{ mean }`.

use std::marker::PhantomData;
use std::sync::Arc;

use chat_types::Span;
use serde_json::{Map, Value as Json, json};

use super::context::Context;
use super::error::{Problems, Read};
use super::fields::Fields;
use super::form::Form;
use super::forms::{DURATION, Whole};
use super::node::{Node, Value};
use super::schemas::Schemas;
use super::text::Text;
use sim_model::draw::{Quantiles, Shape};

/// The form of one value of a distribution, and that value in tables.
pub(crate) trait Unit: Form {
    /// The name of a distribution among the schema's definitions.
    const DRAWN: &'static str;
    /// The name of one value.
    const ONE: &'static str;
    /// The accepted single values.
    const ACCEPTED: &'static str;

    fn number(value: Self::Of) -> u64;
    fn value(number: u64) -> Self::Of;
}

/// Durations, in microseconds.
impl Unit for Span {
    const DRAWN: &'static str = "DrawnDuration";
    const ONE: &'static str = "A duration";
    const ACCEPTED: &'static str = DURATION;

    fn number(span: Self) -> u64 {
        span.0
    }

    fn value(number: u64) -> Self {
        Self(number)
    }
}

/// The length of a text, in characters.
pub(crate) type Length = Whole<1, 100_000>;

impl Unit for Length {
    const DRAWN: &'static str = "DrawnLength";
    const ONE: &'static str = "A number of characters";
    const ACCEPTED: &'static str = "a whole number of characters from 1 to 100000";

    fn number(length: u64) -> u64 {
        length
    }

    fn value(number: u64) -> u64 {
        number
    }
}

/// A value, fixed or drawn.
pub(crate) struct Drawn<U>(PhantomData<U>);

/// A duration, fixed or drawn.
pub(crate) type DrawnTime = Drawn<Span>;

impl<U: Unit> Form for Drawn<U> {
    type Of = Arc<Quantiles>;
    const WHAT: &'static str = U::WHAT;
    const EXAMPLE: &'static str = U::EXAMPLE;
    const NAME: Option<&'static str> = Some(U::DRAWN);

    fn read(node: &Node, context: &mut Context) -> Read<Self::Of> {
        let mut unit = |node: &Node| U::read(node, context).map(U::number);
        let shape = if matches!(node.value, Value::Map(_)) {
            drawn(node, &mut unit)?
        } else {
            unit(node).map(Shape::Fixed).map_err(|mut problem| {
                problem.accepted = format!(
                    "accepted here: {}; or {{ min, max }}; or {{ p50, p99 }}; or {{ mean }}",
                    U::ACCEPTED
                );
                problem
            })?
        };
        context.table(node.place, shape)
    }

    fn write(table: &Self::Of, context: &Context) -> Option<Text> {
        let unit = |number| U::write(&U::value(number), context);
        Some(match table.shape() {
            Shape::Fixed(value) => unit(value)?,
            Shape::Uniform(low, high) => Text::map([("min", unit(low)), ("max", unit(high))]),
            Shape::Lognormal { p50, p99 } => Text::map([("p50", unit(p50)), ("p99", unit(p99))]),
            Shape::Exponential { mean } => Text::map([("mean", unit(mean))]),
        })
    }

    fn schema(schemas: &mut Schemas) -> Json {
        let value = schemas.of::<U>();
        let keys = |keys: &[&str]| {
            let properties = keys.iter().map(|key| ((*key).to_owned(), value.clone()));
            json!({
                "type": "object",
                "properties": properties.collect::<Map<_, _>>(),
                "additionalProperties": false,
                "required": keys
            })
        };
        json!({
            "description": format!(
                "{}, an even draw {{ min, max }}, a lognormal one {{ p50, p99 }} clipped at four times p99, or an exponential one {{ mean }} clipped at ten times mean.",
                U::ONE
            ),
            "anyOf": [value, keys(&["min", "max"]), keys(&["p50", "p99"]), keys(&["mean"])]
        })
    }
}

fn drawn(node: &Node, unit: &mut dyn FnMut(&Node) -> Read<u64>) -> Read<Shape> {
    const EXAMPLE: &str = "…";
    let accepted = vec!["min", "max", "p50", "p99", "mean"];
    let (fields, problems) = Fields::named(node, "a distribution", accepted, |_| false)?;
    problems.finish(Some(()))?;
    if let Some(mean) = fields.get("mean") {
        fields.refuse(
            &["min", "max", "p50", "p99"],
            "mean makes an exponential distribution on its own",
        )?;
        return match unit(mean)? {
            0 => mean.place.refuse("a mean of nothing", "a mean above 0"),
            mean => Ok(Shape::Exponential { mean }),
        };
    }
    let lognormal = fields.get("p50").or(fields.get("p99")).is_some();
    let (low_key, high_key) = if lognormal {
        fields.refuse(
            &["min", "max"],
            "p50 and p99 make a lognormal distribution on their own",
        )?;
        ("p50", "p99")
    } else {
        ("min", "max")
    };
    let mut problems = Problems::default();
    let mut bound = |key| {
        let node = problems.keep(fields.need(key, EXAMPLE))?;
        Some((node, problems.keep(unit(node))?))
    };
    let bounds = bound(low_key).zip(bound(high_key));
    let ((low, from), (high, to)) = problems.finish(bounds)?;
    if from > to {
        let accepted = format!("{high_key} at least as large as {low_key}");
        let wrong = (high.place).wrong(format!("{high_key} is below {low_key}"), accepted);
        let wrong = wrong.labelled("the smaller one");
        return Err(wrong.with(low.place, "the larger one"));
    }
    if !lognormal {
        return Ok(Shape::Uniform(from, to));
    }
    if from == 0 {
        return low.place.refuse(
            "a median of nothing",
            "p50 above 0; for values down to 0 write { min: …, max: … }",
        );
    }
    Ok(Shape::Lognormal { p50: from, p99: to })
}
