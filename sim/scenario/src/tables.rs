//! Distributions in scenarios: a value, `{ min, max }` or `{ p50, p99 }`.

use std::sync::Arc;

use super::error::{Problem, Read};
use super::fields::Fields;
use super::forms::{DURATION, span, whole};
use super::node::{Node, Place, Value};
use sim_model::draw::{Quantiles, Shape};

/// The keys of the two distributions.
pub(super) const KEYS: [&str; 4] = ["min", "max", "p50", "p99"];
/// The longest random text, in characters.
pub(super) const MAX_LENGTH: u64 = 100_000;
/// The most different lognormal distributions of one scenario: each needs a computed table.
const MAX_TABLES: usize = 1_000;

/// The tables of one scenario; equal distributions share one.
#[derive(Debug, Default)]
pub(super) struct Tables(Vec<Arc<Quantiles>>);

impl Tables {
    /// A duration, fixed or drawn, in microseconds.
    pub(super) fn drawn_span(&mut self, node: &Node) -> Read<Arc<Quantiles>> {
        let shape = shape(node, &|node| span(node).map(|span| span.0), DURATION)?;
        self.table(node.place, shape)
    }

    /// A length in characters, fixed or drawn.
    pub(super) fn drawn_length(&mut self, node: &Node) -> Read<Arc<Quantiles>> {
        let shape = shape(
            node,
            &|node| whole(node, 1..=MAX_LENGTH),
            "a whole number of characters from 1 to 100000",
        )?;
        self.table(node.place, shape)
    }

    fn table(&mut self, place: Place, shape: Shape) -> Read<Arc<Quantiles>> {
        if !matches!(shape, Shape::Lognormal { .. }) {
            return Ok(Arc::new(Quantiles::new(shape)));
        }
        if let Some(table) = self.0.iter().find(|table| table.shape() == shape) {
            return Ok(Arc::clone(table));
        }
        if self.0.len() == MAX_TABLES {
            return Err(Problem::new(
                place,
                "too many different distributions",
                format!("at most {MAX_TABLES} different {{ p50, p99 }} in one scenario"),
            ));
        }
        let table = Arc::new(Quantiles::new(shape));
        self.0.push(Arc::clone(&table));
        Ok(table)
    }
}

fn shape(node: &Node, unit: &dyn Fn(&Node) -> Read<u64>, accepted: &str) -> Read<Shape> {
    if matches!(node.value, Value::Map(_)) {
        return drawn(node, unit);
    }
    unit(node).map(Shape::Fixed).map_err(|mut problem| {
        problem.accepted =
            format!("accepted here: {accepted}; or {{ min, max }}; or {{ p50, p99 }}");
        problem
    })
}

fn drawn(node: &Node, unit: &dyn Fn(&Node) -> Read<u64>) -> Read<Shape> {
    const EXAMPLE: &str = "{ min: …, max: … } or { p50: …, p99: … }";
    let fields = Fields::read(node, "a distribution", &KEYS)?;
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
    let low = fields.need(low_key, EXAMPLE)?;
    let high = fields.need(high_key, EXAMPLE)?;
    let (from, to) = (unit(low)?, unit(high)?);
    if from > to {
        return Err(Problem::new(
            high.place,
            format!("{high_key} is below {low_key}"),
            format!("{high_key} at least as large as {low_key}"),
        )
        .labelled("the smaller one")
        .with(low.place, "the larger one"));
    }
    if !lognormal {
        return Ok(Shape::Uniform(from, to));
    }
    if from == 0 {
        return Err(Problem::new(
            low.place,
            "a median of nothing",
            "p50 above 0; for values down to 0 write { min: …, max: … }",
        ));
    }
    Ok(Shape::Lognormal { p50: from, p99: to })
}
