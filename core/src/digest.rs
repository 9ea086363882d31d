//! A fingerprint of any value that serialises. It does not depend on machine, build or run.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};

use chat_types::{mix, mix_bytes};
use serde::{Deserialize, Serialize};

/// A value, and its fingerprint since the last mutable access. A large state of such values is
/// fingerprinted at the cost of those that have changed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Printed<V> {
    value: V,
    /// 0 while it is unknown. An atomic number, because views of the state are shared.
    #[serde(skip)]
    print: AtomicU64,
}

impl<V: Serialize> Printed<V> {
    pub(crate) fn print(&self) -> u64 {
        let known = self.print.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        let print = fingerprint(&self.value);
        self.print.store(print, Ordering::Relaxed);
        print
    }
}

impl<V> From<V> for Printed<V> {
    fn from(value: V) -> Self {
        let print = AtomicU64::new(0);
        Self { value, print }
    }
}

impl<V: Clone> Clone for Printed<V> {
    fn clone(&self) -> Self {
        let print = AtomicU64::new(self.print.load(Ordering::Relaxed));
        let value = self.value.clone();
        Self { value, print }
    }
}

impl<V> Deref for Printed<V> {
    type Target = V;

    #[inline]
    fn deref(&self) -> &V {
        &self.value
    }
}

impl<V> DerefMut for Printed<V> {
    #[inline]
    fn deref_mut(&mut self) -> &mut V {
        *self.print.get_mut() = 0;
        &mut self.value
    }
}

/// The fingerprint of a value's serialised form.
///
/// # Panics
/// When the value cannot be serialised, which is a bug: all of the core's state can.
pub(crate) fn fingerprint(value: &impl Serialize) -> u64 {
    /// Gathers single bytes into words: numbers serialise byte by byte.
    struct Fold {
        state: u64,
        word: u64,
        bytes: u32,
    }
    impl Fold {
        fn flush(&mut self) {
            if self.bytes > 0 {
                self.state = mix(self.state, self.word);
                (self.word, self.bytes) = (0, 0);
            }
        }
    }
    impl postcard::ser_flavors::Flavor for Fold {
        type Output = u64;
        fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
            self.word = (self.word << 8) | u64::from(byte);
            self.bytes += 1;
            if self.bytes == 8 {
                self.flush();
            }
            Ok(())
        }
        fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
            if bytes.len() < 8 {
                return bytes.iter().try_for_each(|byte| self.try_push(*byte));
            }
            self.flush();
            self.state = mix_bytes(self.state, bytes);
            Ok(())
        }
        fn finalize(mut self) -> postcard::Result<u64> {
            self.flush();
            Ok(self.state)
        }
    }
    let fold = Fold {
        state: 0,
        word: 0,
        bytes: 0,
    };
    postcard::serialize_with_flavor(value, fold).expect("the core's state serialises")
}

#[cfg(test)]
mod tests {
    use super::{Printed, fingerprint, mix, mix_bytes};

    #[test]
    fn a_change_changes_the_fingerprint_of_a_printed_value() {
        let mut value = Printed::from(vec![1_u8]);
        let before = value.print();
        let copy = value.clone();
        value.push(2);
        assert_eq!(value.print(), fingerprint(&vec![1_u8, 2]));
        assert_eq!((copy.print(), fingerprint(&vec![1_u8])), (before, before));
    }

    /// Every recorded trace hash depends on these numbers.
    #[test]
    fn fingerprints_are_the_same_in_every_build() {
        let prints = [
            mix(1, 2),
            mix_bytes(7, b"eight by, and five"),
            fingerprint(&(1_u8, 2_u64, "three and four", [5_u32; 9])),
            fingerprint(&"12345678"),
        ];
        assert_eq!(
            prints,
            [
                3_786_904_367_348_516_405,
                15_651_693_747_116_672_885,
                7_079_610_897_983_594_280,
                3_076_628_634_042_421_297,
            ]
        );
    }
}
