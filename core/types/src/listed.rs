//! Closed lists of words: enums with a word for each variant.

/// Declares an enum with a word for each variant, so that no variant can lack its word. Further
/// words of a variant are for methods beside the enum, which read a column of them.
#[macro_export]
macro_rules! listed {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$what:meta])* $variant:ident $word:literal $($more:literal)*,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$what])* $variant,)* }

        impl $name {
            /// All variants.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The words of all variants.
            pub const NAMES: &'static [&'static str] = &[$($word,)*];

            /// The variant's word.
            #[must_use]
            pub const fn name(self) -> &'static str {
                self.word(0)
            }

            /// The variant of this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }

            const fn word(self, column: usize) -> &'static str {
                match self { $(Self::$variant => [$word, $($more),*][column],)* }
            }
        }
    };
}
