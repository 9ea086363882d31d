//! Closed lists of words: an enum with every variant and the word for it.

/// A closed list with a word for each, so that nobody can add one and forget to name it.
#[macro_export]
macro_rules! listed {
    ($(#[$doc:meta])* $name:ident { $($(#[$what:meta])* $variant:ident $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$what])* $variant,)* }

        impl $name {
            /// Every one there is.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its word.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    };
}
