//! Forms: a form is one kind of value in scenarios. It defines how the value is read and written,
//! and its JSON Schema. A form with keys is declared by `form!`, with one row for each key, from
//! which all three follow.

use serde_json::{Value as Json, json};

use super::context::Context;
use super::error::{Problems, Read};
use super::fields::Fields;
use super::node::{Node, Value};
use super::schemas::{Key, Schemas};
use super::text::Text;

/// One kind of value in scenarios.
pub(crate) trait Form {
    /// The type of the parsed value.
    type Of;
    /// The name of the kind, for "expected …".
    const WHAT: &'static str;
    /// An example, for "write for example …".
    const EXAMPLE: &'static str;
    /// Its name among the schema's definitions; `None` if it is inlined.
    const NAME: Option<&'static str> = None;

    /// The example for a key with this form.
    fn example() -> String {
        Self::EXAMPLE.to_owned()
    }

    /// Parses a value.
    fn read(node: &Node, context: &mut Context) -> Read<Self::Of>;

    /// Writes a value; `None` if its key is omitted.
    fn write(value: &Self::Of, context: &Context) -> Option<Text>;

    /// The schema of the values.
    fn schema(schemas: &mut Schemas) -> Json;

    /// The value of an absent key without a default; `None` if the key is required.
    fn left_out() -> Option<Self::Of> {
        None
    }
}

/// An optional key.
impl<F: Form> Form for Option<F> {
    type Of = Option<F::Of>;
    const WHAT: &'static str = F::WHAT;
    const EXAMPLE: &'static str = F::EXAMPLE;

    fn example() -> String {
        F::example()
    }

    fn read(node: &Node, context: &mut Context) -> Read<Self::Of> {
        F::read(node, context).map(Some)
    }

    fn write(value: &Self::Of, context: &Context) -> Option<Text> {
        value.as_ref().and_then(|value| F::write(value, context))
    }

    fn schema(schemas: &mut Schemas) -> Json {
        schemas.of::<F>()
    }

    fn left_out() -> Option<Self::Of> {
        Some(None)
    }
}

/// A form that is a map with fixed keys.
pub(crate) trait Keyed: Form {
    /// All accepted keys.
    const KEYS: &'static [Key];

    /// Reads the values of all keys. `problems` are those of the map.
    fn from_fields(
        fields: &Fields<'_>,
        problems: Problems,
        context: &mut Context,
    ) -> Read<Self::Of>;
}

/// A form whose keys differ from the fields of its type.
pub(crate) trait ByKeys: Sized {
    /// The form with the keys and their values.
    type Keys: Keyed<Of = Self::Keys>;
    /// Converts the keys, or refuses keys that cannot be combined.
    fn from_keys(keys: Self::Keys, fields: &Fields<'_>, context: &mut Context) -> Read<Self>;

    /// The keys of a value.
    fn to_keys(&self) -> Self::Keys;

    /// The value that a text alone stands for; `None` if it stands for none.
    fn from_text(_: &str) -> Option<Self> {
        None
    }
}

impl<T: ByKeys> Form for T {
    type Of = T;
    const WHAT: &'static str = T::Keys::WHAT;
    const NAME: Option<&'static str> = T::Keys::NAME;
    const EXAMPLE: &'static str = T::Keys::EXAMPLE;

    fn read(node: &Node, context: &mut Context) -> Read<T> {
        if let Value::Text(text) = &node.value
            && let Some(value) = T::from_text(text)
        {
            return Ok(value);
        }
        let (fields, problems) = Fields::read(node, Self::WHAT, T::Keys::KEYS)?;
        let keys = T::Keys::from_fields(&fields, problems, context)?;
        T::from_keys(keys, &fields, context)
    }

    fn write(value: &T, context: &Context) -> Option<Text> {
        T::Keys::write(&value.to_keys(), context)
    }

    fn schema(schemas: &mut Schemas) -> Json {
        let keys = T::Keys::schema(schemas);
        match T::from_text(T::Keys::EXAMPLE) {
            Some(_) => json!({ "anyOf": [{ "type": "string" }, keys] }),
            None => keys,
        }
    }
}

/// Declares a form with keys:
///
/// ```text
/// /// How virtual clients retry.
/// Client("`client`", "{ attempts: 3 }") => plan::Client = plan::Client {
///     /// The longest pause.
///     max: SomeTime = Span::secs(8),
/// }
/// ```
///
/// A row is a key (`as "…"` where it has another name than the field), the form of its value, and its
/// default. A key without a default must be there, unless its form is an `Option`. Before the key
/// stands what it says. Behind semicolons follow, in this order, whether it is `one_of "kind"` of
/// which exactly one must be there, `with("…")` others of which one must be there, and
/// `needed_with("…")` others. After `=>` stand what the form is read into and how that is made of the
/// rows' fields; `struct Name` makes a type of the rows instead.
macro_rules! form {
    (
        $(#[doc = $about:literal])* $(#[derive($derive:ident)])?
        struct $name:ident($what:literal, $example:literal $(, $named:literal)?) {
            $(
                $(#[doc = $doc:literal])*
                $field:ident $(as $key:literal)?: $form:ty $(= $usual:expr)? $(; one_of $one:literal)?
                $(; with($($with:literal),+))? $(; needed_with($($host:literal),+))?,
            )*
        }
    ) => {
        $(#[derive($derive)])?
        pub(crate) struct $name { $(pub(crate) $field: <$form as $crate::form::Form>::Of,)* }

        $crate::form::form! {
            @implement $name, $(#[doc = $about])* ($what, $example $(, $named)?) => $name = $name {
                $(
                    $(#[doc = $doc])*
                    $field $(as $key)?: $form $(= $usual)? $(; one_of $one)?
                    $(; with($($with),+))? $(; needed_with($($host),+))?,
                )*
            }
        }
    };
    (
        $(#[doc = $about:literal])* $name:ident $($rest:tt)*
    ) => {
        pub(crate) enum $name {}

        $crate::form::form! { @implement $name, $(#[doc = $about])* $($rest)* }
    };
    (
        @implement $name:ident,
        $(#[doc = $about:literal])* ($what:literal, $example:literal $(, $named:literal)?) => $of:ty = $($path:ident)::+ {
            $(
                $(#[doc = $doc:literal])*
                $field:ident $(as $key:literal)?: $form:ty $(= $usual:expr)? $(; one_of $one:literal)?
                $(; with($($with:literal),+))? $(; needed_with($($host:literal),+))?,
            )*
        } $(..$others:expr)?
    ) => {
        impl $crate::form::Keyed for $name {
            const KEYS: &'static [$crate::schemas::Key] = &[$(
                $crate::schemas::Key {
                    // The name of the field, unless another is given.
                    name: [$($key,)? stringify!($field)][0],
                    about: concat!($($doc),*),
                    one_of: &[$($one)?],
                    with: &[$($($with),+)?],
                    needed_with: &[$($($host),+)?],
                    needed: || $crate::form::usual!($form $(= $usual)?).is_none() && <$form as $crate::form::Form>::left_out().is_none(),
                    example: <$form as $crate::form::Form>::example,
                    schema: |schemas| schemas.of::<$form>(),
                    usual: || $crate::form::usual_text::<$form>($crate::form::usual!($form $(= $usual)?)),
                },
            )*];

            fn from_fields(
                fields: &$crate::fields::Fields<'_>,
                mut problems: $crate::error::Problems,
                context: &mut $crate::context::Context,
            ) -> $crate::error::Read<$of> {
                $(let $field = $crate::form::read_key::<$form>(
                    fields,
                    [$($key,)? stringify!($field)][0],
                    $crate::form::usual!($form $(= $usual)?),
                    &mut problems,
                    context,
                );)*
                problems.finish(match ($($field,)*) {
                    ($(Some($field),)*) => Some($($path)::+ { $($field,)* $(..$others)? }),
                    _ => None,
                })
            }
        }

        impl $crate::form::Form for $name {
            type Of = $of;
            const WHAT: &'static str = $what;
            const EXAMPLE: &'static str = $example;
            $(const NAME: Option<&'static str> = Some($named);)?

            fn read(
                node: &$crate::node::Node,
                context: &mut $crate::context::Context,
            ) -> $crate::error::Read<$of> {
                use $crate::form::Keyed as _;
                let (fields, problems) = $crate::fields::Fields::read(node, $what, Self::KEYS)?;
                Self::from_fields(&fields, problems, context)
            }

            fn write(
                value: &$of,
                context: &$crate::context::Context,
            ) -> Option<$crate::text::Text> {
                #[allow(
                    irrefutable_let_patterns,
                    reason = "of an enum the form is one variant, and a struct has no other"
                )]
                let $($path)::+ { $($field,)* .. } = value else {
                    return None;
                };
                Some($crate::text::Text::map([$((
                    [$($key,)? stringify!($field)][0],
                    $crate::form::write_key::<$form>(
                        $field,
                        $crate::form::usual!($form $(= $usual)?),
                        context,
                    ),
                )),*]))
            }

            fn schema(schemas: &mut $crate::schemas::Schemas) -> serde_json::Value {
                $crate::schemas::object(
                    concat!($($about),*),
                    <Self as $crate::form::Keyed>::KEYS,
                    schemas,
                )
            }
        }
    };
}

/// The default of a key, if it has one.
macro_rules! usual {
    ($form:ty) => {
        None::<fn() -> <$form as $crate::form::Form>::Of>
    };
    ($form:ty = $usual:expr) => {
        Some((|| $usual) as fn() -> <$form as $crate::form::Form>::Of)
    };
}

/// Declares which value the keys of one group make, of which exactly one is there: a row for each
/// key, with what its form is read into and the value. Both are patterns and expressions alike.
macro_rules! group {
    ($keys:ident => $of:ty { $($key:ident: [$($inner:tt)*] = [$($value:tt)*],)* } $($other:pat => $nothing:expr)?) => {
        impl $keys {
            /// The value of the key that is there.
            fn take(&mut self) -> Option<$of> {
                $(if let Some($($inner)*) = self.$key.take() {
                    return Some($($value)*);
                })*
                None
            }

            /// Sets the key of a value.
            fn set(&mut self, value: $of) {
                match value {
                    $($($value)* => self.$key = Some($($inner)*),)*
                    $($other => $nothing,)?
                }
            }
        }
    };
}

pub(crate) use {form, group, usual};

impl Schemas {
    /// The schema of a form: if the form has a name, a reference to its definition, which is created if
    /// it is missing.
    pub(crate) fn of<F: Form>(&mut self) -> Json {
        let Some(name) = F::NAME else {
            return F::schema(self);
        };
        if !self.0.contains_key(name) {
            // Steps contain steps, so the name is inserted before its schema is made.
            self.0.insert(name.to_owned(), Json::Null);
            let schema = F::schema(self);
            self.0.insert(name.to_owned(), schema);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }
}

/// The written default of a key.
pub(crate) fn usual_text<F: Form>(usual: Option<fn() -> F::Of>) -> Option<String> {
    let text = F::write(&usual?(), &Context::default())?;
    (!text.is_empty()).then(|| text.to_string())
}

/// The value of a key, or its default; `None` if it is wrong, or missing.
pub(crate) fn read_key<F: Form>(
    fields: &Fields<'_>,
    key: &str,
    usual: Option<fn() -> F::Of>,
    problems: &mut Problems,
    context: &mut Context,
) -> Option<F::Of> {
    if let Some(node) = fields.get(key) {
        return problems.keep(F::read(node, context));
    }
    let value = usual.map(|usual| usual()).or_else(F::left_out);
    if value.is_none() && !fields.may_be_misspelt(key) {
        problems.keep(fields.need(key, &F::example()));
    }
    value
}

/// A value as it is written, unless it is the default.
pub(crate) fn write_key<F: Form>(
    value: &F::Of,
    usual: Option<fn() -> F::Of>,
    context: &Context,
) -> Option<Text> {
    let text = F::write(value, context)?;
    let is_usual = |usual: fn() -> F::Of| F::write(&usual(), context).as_ref() == Some(&text);
    (!usual.is_some_and(is_usual)).then_some(text)
}
