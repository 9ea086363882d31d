//! A fingerprint of any value that serialises. It does not depend on machine, build or run.

pub use chat_types::{mix, mix_bytes};
use serde::Serialize;

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
    use super::{fingerprint, mix, mix_bytes};

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
