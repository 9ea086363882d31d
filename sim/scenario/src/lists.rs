//! Lists of values of one form.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use serde_json::{Value as Json, json};

use super::context::Context;
use super::error::{Problems, Read};
use super::form::Form;
use super::forms::expected;
use super::node::{Node, Value};
use super::schemas::Schemas;
use super::text::Text;

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
                    format!("{} is there twice", item.described()),
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
