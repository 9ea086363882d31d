//! Small forms: words and texts, numbers, durations, probabilities and lists.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;

use chat_types::Span;
use serde_json::{Value as Json, json};

use super::closest::did_you_mean;
use super::context::Context;
use super::error::{Problem, Problems, Read};
use super::form::Form;
use super::node::{Node, Value, shortened};
use super::schemas::Schemas;
use super::text::Text;
use sim_model::draw::Ratio;

/// The longest name, in characters.
const MAX_NAME: usize = 64;
/// The longest text, in characters.
const MAX_WORDS: usize = 100_000;

/// The error about a value of the wrong kind.
pub(crate) fn expected(node: &Node, what: &str, accepted: &str) -> Box<Problem> {
    node.place.wrong(
        format!("expected {what}, found {}", node.described()),
        format!("accepted here: {accepted}"),
    )
}

/// Declares a form that narrows another: its name, the other form, the name of the kind, and a
/// function that checks, changes or records a value.
macro_rules! narrowed {
    ($(#[$doc:meta])* $name:ident, $wide:ty, $what:expr, $check:expr) => {
        $(#[$doc])*
        pub(crate) enum $name {}

        impl $crate::form::Form for $name {
            type Of = <$wide as $crate::form::Form>::Of;
            const WHAT: &'static str = $what;
            const EXAMPLE: &'static str = <$wide as $crate::form::Form>::EXAMPLE;

            fn example() -> String {
                <$wide as $crate::form::Form>::example()
            }

            fn read(
                node: &$crate::node::Node,
                context: &mut $crate::context::Context,
            ) -> $crate::error::Read<Self::Of> {
                let mut value = <$wide as $crate::form::Form>::read(node, context)?;
                let check: fn(&mut Self::Of, &$crate::node::Node, &mut $crate::context::Context) -> _ = $check;
                check(&mut value, node, context).map(|()| value)
            }

            fn write(
                value: &Self::Of,
                context: &$crate::context::Context,
            ) -> Option<$crate::text::Text> {
                <$wide as $crate::form::Form>::write(value, context)
            }

            fn schema(schemas: &mut $crate::schemas::Schemas) -> serde_json::Value {
                schemas.of::<$wide>()
            }
        }
    };
}

/// A fixed list of words.
pub(crate) trait Words {
    /// The meaning of a word.
    type Of: Copy + PartialEq;
    /// The name of the kind.
    const WHAT: &'static str;

    /// The words with their meanings.
    fn words() -> Vec<(&'static str, Self::Of)>;
}

/// Declares a fixed list of words: its name, the name of the kind, the type, and the words with
/// their values; without them, those of the type.
macro_rules! words {
    ($name:ident($what:literal) => $of:ty) => {
        $crate::forms::words!($name($what) => $of = all <$of>::ALL.iter().map(|of| (of.name(), *of)).collect());
    };
    ($name:ident($what:literal) => $of:ty = [$($word:literal: $value:expr),* $(,)?]) => {
        $crate::forms::words!($name($what) => $of = all vec![$(($word, $value)),*]);
    };
    ($name:ident($what:literal) => $of:ty = all $words:expr) => {
        pub(crate) enum $name {}

        impl $crate::forms::Words for $name {
            type Of = $of;
            const WHAT: &'static str = $what;

            fn words() -> Vec<(&'static str, $of)> {
                $words
            }
        }
    };
}

pub(crate) use {narrowed, words};

/// Names whose value is the name itself.
pub(crate) fn names(names: &[&'static str]) -> Vec<(&'static str, &'static str)> {
    names.iter().map(|name| (*name, *name)).collect()
}

/// One word of a fixed list.
pub(crate) struct Word<W>(PhantomData<W>);

impl<W: Words> Form for Word<W> {
    type Of = W::Of;
    const WHAT: &'static str = W::WHAT;
    const EXAMPLE: &'static str = "";

    fn example() -> String {
        W::words().first().map_or("", |(word, _)| word).to_owned()
    }

    fn read(node: &Node, _: &mut Context) -> Read<W::Of> {
        let words = W::words();
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let Value::Text(given) = &node.value else {
            return Err(expected(node, W::WHAT, &names.join(", ")));
        };
        let found = words.iter().find(|(name, _)| name == given);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let what = format!("`{}` is not {}", shortened(given), W::WHAT);
            let accepted = format!("accepted here: {}", names.join(", "));
            let wrong = node.place.wrong(what, accepted);
            wrong.labelled(format!("not known{}", did_you_mean(given, &names)))
        })
    }

    fn write(value: &W::Of, _: &Context) -> Option<Text> {
        let words = W::words();
        let word = words.iter().find(|(_, of)| of == value);
        word.map(|(word, _)| Text::plain(word))
    }

    fn schema(_: &mut Schemas) -> Json {
        let words: Vec<&str> = W::words().into_iter().map(|(word, _)| word).collect();
        json!({ "enum": words })
    }
}

/// `true` or `false`.
impl Form for bool {
    type Of = Self;
    const WHAT: &'static str = "true or false";
    const EXAMPLE: &'static str = "true";

    fn read(node: &Node, _: &mut Context) -> Read<Self> {
        let Value::Bool(value) = node.value else {
            return Err(expected(node, Self::WHAT, Self::WHAT));
        };
        Ok(value)
    }

    fn write(value: &Self, _: &Context) -> Option<Text> {
        Some(Text::plain(value))
    }

    fn schema(_: &mut Schemas) -> Json {
        json!({ "type": "boolean" })
    }
}

/// Any text; a text that YAML reads as a number or a boolean needs quotes.
pub(crate) fn text<'n>(node: &'n Node, what: &str) -> Read<&'n str> {
    if let Value::Text(text) = &node.value {
        return Ok(text);
    }
    let accepted = if node.is_number() || matches!(node.value, Value::Bool(_)) {
        "a text; write it in quotes, as in \"42\""
    } else {
        "a text"
    };
    Err(expected(node, what, accepted))
}

/// A text of up to `MAX_WORDS` characters.
impl Form for Arc<str> {
    type Of = Self;
    const WHAT: &'static str = "a text";
    const EXAMPLE: &'static str = "hello";

    fn read(node: &Node, _: &mut Context) -> Read<Self> {
        let words = text(node, Self::WHAT)?;
        if words.chars().count() > MAX_WORDS {
            return node.place.refuse(
                "a text too long to write out",
                format!("at most {MAX_WORDS} characters"),
            );
        }
        Ok(Self::from(words))
    }

    fn write(words: &Self, _: &Context) -> Option<Text> {
        Some(Text::quoted(words))
    }

    fn schema(_: &mut Schemas) -> Json {
        json!({ "type": "string" })
    }
}

/// A name, parsed into a text type.
pub(crate) struct Name<T = String>(PhantomData<T>);

impl<T: AsRef<str> + for<'a> From<&'a str>> Form for Name<T> {
    type Of = T;
    const WHAT: &'static str = "a name";
    const EXAMPLE: &'static str = "ann";

    fn read(node: &Node, _: &mut Context) -> Read<T> {
        let text = text(node, Self::WHAT)?;
        let length = text.chars().count();
        let whole = text.trim() == text && !text.contains(char::is_control);
        if length == 0 || length > MAX_NAME || !whole {
            return Err(expected(
                node,
                Self::WHAT,
                "1 to 64 characters on one line, without spaces at either end",
            ));
        }
        Ok(T::from(text))
    }

    fn write(name: &T, _: &Context) -> Option<Text> {
        Some(Text::quoted(name.as_ref()))
    }

    fn schema(_: &mut Schemas) -> Json {
        json!({ "type": "string", "minLength": 1, "maxLength": MAX_NAME })
    }
}

/// The error about a value that is no number, or an impossible one.
fn wrong_number(node: &Node, what: &str, accepted: &str) -> Box<Problem> {
    if !node.is_number() {
        return expected(node, what, accepted);
    }
    // A whole number with a leading zero, a point or an exponent is in the range, and yet refused.
    let mut plainly = String::new();
    if let Value::Fraction(n) = node.value
        && n == libm::trunc(n)
        && n < 1e15
    {
        plainly = format!("; write it in plain digits, as in {n}");
    }
    node.place.wrong(
        format!("{} is not possible here", node.described()),
        format!("accepted here: {accepted}{plainly}"),
    )
}

/// A whole number in a range, parsed into this type.
pub(crate) struct Whole<const LEAST: u64, const MOST: u64, T = u64>(PhantomData<T>);

/// A whole number of 32 bits.
pub(crate) type Count<const LEAST: u64, const MOST: u64> = Whole<LEAST, MOST, u32>;

impl<const LEAST: u64, const MOST: u64, T: TryFrom<u64> + ToString> Form for Whole<LEAST, MOST, T> {
    type Of = T;
    const WHAT: &'static str = "a whole number";
    const EXAMPLE: &'static str = "5";

    fn read(node: &Node, _: &mut Context) -> Read<T> {
        if let Value::Whole(number) = node.value
            && (LEAST..=MOST).contains(&number)
            && let Ok(number) = T::try_from(number)
        {
            return Ok(number);
        }
        let accepted = format!("a whole number from {LEAST} to {MOST}");
        Err(wrong_number(node, Self::WHAT, &accepted))
    }

    fn write(number: &T, _: &Context) -> Option<Text> {
        Some(Text::plain(number.to_string()))
    }

    fn schema(_: &mut Schemas) -> Json {
        json!({ "type": "integer", "minimum": LEAST, "maximum": MOST })
    }
}

/// A number with at most three decimals, in thousandths; at most a million.
pub(crate) enum Thousandths {}

impl Form for Thousandths {
    type Of = u64;
    const WHAT: &'static str = "a number";
    const EXAMPLE: &'static str = "20";

    fn read(node: &Node, _: &mut Context) -> Read<u64> {
        const MOST: u64 = 1_000_000;
        let read = if let Value::Whole(n) = node.value {
            (n <= MOST).then(|| n * 1_000)
        } else if let Value::Fraction(x) = node.value
            && (0.0..=MOST as f64).contains(&x)
        {
            whole_thousandths(x)
        } else {
            None
        };
        read.ok_or_else(|| {
            wrong_number(
                node,
                Self::WHAT,
                "a number from 0 to 1000000 with at most three decimals, such as 200 or 0.5",
            )
        })
    }

    fn write(thousandths: &u64, _: &Context) -> Option<Text> {
        let (whole, rest) = (thousandths / 1_000, thousandths % 1_000);
        let number = format!("{whole}.{rest:03}");
        Some(Text::plain(
            number.trim_end_matches('0').trim_end_matches('.'),
        ))
    }

    fn schema(_: &mut Schemas) -> Json {
        json!({ "type": "number", "minimum": 0, "maximum": 1_000_000 })
    }
}

fn whole_thousandths(x: f64) -> Option<u64> {
    let scaled = x * 1_000.0;
    let rounded = libm::round(scaled);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a whole number from 0 to a billion"
    )]
    let thousandths = rounded as u64;
    (libm::fabs(scaled - rounded) <= 1e-6).then_some(thousandths)
}

/// The notation of a duration.
pub(crate) const DURATION: &str =
    "a number and a unit, as in 250us, 20ms, 1.5s, 10m, 2h, 1d or 1h30m";

/// A duration as a regular expression.
pub(crate) const DURATION_PATTERN: &str =
    r"([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?[0-9]+(\.[0-9]{1,6})?(us|ms|s|m|h|d)";

/// A duration, `0s` included.
impl Form for Span {
    type Of = Self;
    const WHAT: &'static str = "a duration";
    const NAME: Option<&'static str> = Some("Duration");
    const EXAMPLE: &'static str = "10s";

    fn read(node: &Node, _: &mut Context) -> Read<Self> {
        let wrong = || expected(node, Self::WHAT, DURATION);
        let Value::Text(text) = &node.value else {
            return Err(wrong());
        };
        Self::parse(text).map_err(|why| {
            // A duration beyond the bounds is still a duration: the parser's message about it is
            // better.
            if why.contains("more than") {
                node.place.wrong(why, format!("accepted here: {DURATION}"))
            } else {
                wrong()
            }
        })
    }

    fn write(span: &Self, _: &Context) -> Option<Text> {
        Some(Text::plain(span))
    }

    fn schema(_: &mut Schemas) -> Json {
        json!({
            "type": "string",
            "description": "A number and a unit: 250us, 20ms, 1.5s, 10m, 2h, 1d.",
            "pattern": format!("^{DURATION_PATTERN}$")
        })
    }
}

narrowed! {
    /// A duration from a millisecond to a year.
    SomeTime, Span, Span::WHAT, |value, node, _| {
        if *value >= Span::millis(1) && *value <= Span::secs(365 * 86_400) {
            return Ok(());
        }
        node.place.refuse(
            format!("a duration of {value} is not possible here"),
            "accepted here: 1ms to 365d",
        )
    }
}

/// A number of digits alone.
fn digits(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

/// A percentage with at most four decimals, as a numerator and a denominator.
fn percent(text: &str) -> Option<(u32, u32)> {
    let number = text.strip_suffix('%')?.trim_end();
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || number.ends_with('.') || decimals.len() > 4 {
        return None;
    }
    let over = digits(&format!("{whole}{decimals}"))?;
    let under = 100 * 10_u32.pow(u32::try_from(decimals.len()).ok()?);
    let mut divisor = (over, under);
    while divisor.1 > 0 {
        divisor = (divisor.1, divisor.0 % divisor.1);
    }
    Some((over / divisor.0, under / divisor.0))
}

/// A probability: `1/200`, `0.5%`, `0` or `1`.
impl Form for Ratio {
    type Of = Self;
    const WHAT: &'static str = "a probability";
    const NAME: Option<&'static str> = Some("Ratio");
    const EXAMPLE: &'static str = "1/4";

    fn read(node: &Node, _: &mut Context) -> Read<Self> {
        const ACCEPTED: &str =
            "a ratio of whole numbers from 0 to 1, as in 1/200, or 0.5%; also 0 and 1";
        let read = if let Value::Whole(n) = node.value {
            (n <= 1).then_some((u32::from(n == 1), 1))
        } else if let Value::Text(text) = &node.value {
            let parts = text.split_once('/');
            let ratio =
                parts.and_then(|(over, under)| Some((digits(over.trim())?, digits(under.trim())?)));
            ratio.or_else(|| percent(text.trim()))
        } else {
            None
        };
        let (over, under) = read.ok_or_else(|| expected(node, Self::WHAT, ACCEPTED))?;
        Self::new(over, under).ok_or_else(|| {
            node.place.wrong(
                format!("{over}/{under} is not a probability"),
                format!("accepted here: {ACCEPTED}"),
            )
        })
    }

    fn write(ratio: &Self, _: &Context) -> Option<Text> {
        if *ratio == Self::NEVER {
            return Some(Text::plain(0));
        }
        Some(Text::plain(ratio))
    }

    fn schema(_: &mut Schemas) -> Json {
        json!({
            "description": "A probability as a ratio of whole numbers, such as 1/200, or as a percentage.",
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": "^ *([0-9]+ */ *[1-9][0-9]*|(100([.]0{1,4})?|[0-9]{1,2}([.][0-9]{1,4})?) *%) *$" }
            ]
        })
    }
}

narrowed! {
    /// A probability above 0.
    Share, Ratio, Ratio::WHAT, |value, node, _| {
        if value.is_possible() {
            return Ok(());
        }
        Err(expected(
            node,
            "a share of more than nobody",
            "a ratio of whole numbers above 0 and up to 1, as in 1/4",
        ))
    }
}

/// A list of at least `LEAST` items.
pub(crate) struct List<F: Form, const LEAST: usize = 0, C = Vec<<F as Form>::Of>>(
    PhantomData<(F, C)>,
);

impl<F: Form, const LEAST: usize, C: FromIterator<F::Of> + AsRef<[F::Of]>> Form
    for List<F, LEAST, C>
{
    type Of = C;
    const WHAT: &'static str = F::WHAT;
    const EXAMPLE: &'static str = F::EXAMPLE;

    fn example() -> String {
        format!("[{}]", F::example())
    }

    fn read(node: &Node, context: &mut Context) -> Read<C> {
        let (list, problems) = Self::each(node, context)?;
        problems.finish(list.into_iter().collect())
    }

    fn write(list: &C, context: &Context) -> Option<Text> {
        let items = list.as_ref().iter();
        Some(Text::List(
            items.filter_map(|item| F::write(item, context)).collect(),
        ))
    }

    fn schema(schemas: &mut Schemas) -> Json {
        let mut list = json!({ "type": "array", "items": schemas.of::<F>() });
        if LEAST > 0 {
            list["minItems"] = json!(LEAST);
        }
        list
    }
}

impl<F: Form, const LEAST: usize, C> List<F, LEAST, C> {
    /// The value of each item, `None` for a wrong one, and their problems.
    fn each(node: &Node, context: &mut Context) -> Read<(Vec<Option<F::Of>>, Problems)> {
        let items = items::<F>(node)?;
        if items.len() < LEAST {
            let accepted = format!("at least one, as in [{}]", F::example());
            return Err(expected(node, &format!("{} or more", F::WHAT), &accepted));
        }
        let mut problems = Problems::default();
        let items = items.iter();
        let list = items.map(|item| problems.keep(F::read(item, context)));
        Ok((list.collect(), problems))
    }
}

/// A list of at least `LEAST` different items.
pub(crate) struct Distinct<F, const LEAST: usize = 0>(PhantomData<F>);

impl<F: Form<Of: PartialEq>, const LEAST: usize> Form for Distinct<F, LEAST> {
    type Of = Vec<F::Of>;
    const WHAT: &'static str = F::WHAT;
    const EXAMPLE: &'static str = F::EXAMPLE;

    fn example() -> String {
        List::<F>::example()
    }

    fn read(node: &Node, context: &mut Context) -> Read<Self::Of> {
        let (list, mut problems) = List::<F, LEAST>::each(node, context)?;
        for (index, item) in items::<F>(node)?.iter().enumerate() {
            let before = list[..index].iter().filter(|other| **other == list[index]);
            // A value that is there many times is one mistake.
            if list[index].is_some() && before.count() == 1 {
                problems.keep(Err::<(), _>(item.place.wrong(
                    format!("{} occurs twice", item.described()),
                    "each at most once",
                )));
            }
        }
        problems.finish(list.into_iter().collect())
    }

    fn write(list: &Self::Of, context: &Context) -> Option<Text> {
        List::<F>::write(list, context)
    }

    fn schema(schemas: &mut Schemas) -> Json {
        let mut list = List::<F, LEAST>::schema(schemas);
        list["uniqueItems"] = json!(true);
        list
    }
}

/// Refuses an item with the same name as an earlier item.
pub(crate) fn distinct_names<'n, F: Form>(
    node: &Node,
    names: impl Iterator<Item = &'n str>,
) -> Read<()> {
    let mut seen = BTreeSet::new();
    match items::<F>(node)?
        .iter()
        .zip(names)
        .find(|(_, name)| !seen.insert(*name))
    {
        None => Ok(()),
        Some((item, name)) => item.place.refuse(
            format!("a second one named `{name}`"),
            "a name of its own for each",
        ),
    }
}

/// The items of a list of this form.
pub(crate) fn items<F: Form>(node: &Node) -> Read<&[Node]> {
    let Value::List(items) = &node.value else {
        return Err(expected(
            node,
            &format!("a list, each item {}", F::WHAT),
            &format!("a list, as in [{}]", F::example()),
        ));
    };
    Ok(items)
}
