//! Settings as one source gives them: a flag or its variable, or a key of the file.

/// What a source gives for a setting, or for several.
pub(crate) trait Given {
    /// This, or what a source of lower rank gives, if this is nothing.
    fn or(self, lower: Self) -> Self;
}

impl<T> Given for Option<T> {
    fn or(self, lower: Self) -> Self {
        self.or(lower)
    }
}

impl<T> Given for Vec<T> {
    fn or(self, lower: Self) -> Self {
        match self.is_empty() {
            true => lower,
            false => self,
        }
    }
}

impl Given for bool {
    fn or(self, lower: Self) -> Self {
        self || lower
    }
}

/// Declares arguments of which each may also be given by a source of lower rank, and the settings that are
/// made of them.
///
/// A row has the name and the type of what is given, `=>`, and the field of the settings that is made of
/// it by a method. A row without `=>` is read by what makes one of the fields after the rows.
macro_rules! settings {
    (
        $(#[$of_args:meta])* $args:ident { $(
            $(#[$meta:meta])* $given:ident: $of:ty
                $(=> $name:ident: $value:ty = $method:ident($($usual:expr),*))?,
        )* }
        $(#[$of_settings:meta])* $settings:ident {
            $($(#[$about:meta])* $made:ident: $made_type:ty,)*
        }
    ) => {
        $(#[$of_args])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
        pub struct $args { $($(#[$meta])* pub $given: $of,)* }

        impl $crate::given::Given for $args {
            fn or(self, lower: Self) -> Self {
                Self { $($given: self.$given.or(lower.$given),)* }
            }
        }

        $(#[$of_settings])*
        pub struct $settings {
            $($(
                #[doc = concat!(
                    "As [`", stringify!($args), "::", stringify!($given), "`] says, or by default."
                )]
                pub $name: $value,
            )?)*
            $($(#[$about])* pub $made: $made_type,)*
        }

        impl $settings {
            /// The settings by what is given, with the further fields.
            pub(super) fn of(given: $args, $($made: $made_type),*) -> Self {
                Self {
                    $($($name: given.$given.$method($($usual),*),)?)*
                    $($made,)*
                }
            }
        }
    };
}

pub(crate) use settings;
