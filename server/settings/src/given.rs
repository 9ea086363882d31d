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

/// Declares arguments of which each may also be given by a source of lower rank.
macro_rules! given {
    ($(#[$of:meta])* $name:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$of])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
        pub struct $name { $($(#[$meta])* pub $field: $type,)* }

        impl $crate::given::Given for $name {
            fn or(self, lower: Self) -> Self {
                Self { $($field: self.$field.or(lower.$field),)* }
            }
        }
    };
}

pub(crate) use given;
