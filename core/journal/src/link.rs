//! The link between a record and the previous one, and the first bytes of records and files.

use std::fmt;

use chat_core::mix_lanes;
use serde::{Deserialize, Serialize};

/// A checksum of a journal up to one place: of the previous link, and of the bytes since then.
///
/// Every step of [`mix_lanes`] is a bijection of the state, so a change within one word of eight
/// bytes always changes the link; any other change is missed with a probability of 2^-128. The link
/// is a checksum and not a signature: it detects errors of disks, not changes by a person with
/// access to the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link(u64, u64);

/// The size of a stored link.
pub(crate) const LINK_BYTES: usize = 16;

/// The initial value of the second lane, which distinguishes it from the first.
const SECOND_LANE: u64 = 0x6a09_e667_f3bc_c908;

impl Link {
    /// The link before the first byte.
    pub(crate) const NONE: Self = Self(0, SECOND_LANE);

    /// The link after these bytes, which follow `self`.
    #[must_use]
    pub fn over(self, bytes: &[u8]) -> Self {
        let [first, second] = mix_lanes([self.0, self.1], bytes);
        Self(first, second)
    }

    /// The stored form of the link, little-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; LINK_BYTES] {
        let mut bytes = [0; LINK_BYTES];
        bytes[..8].copy_from_slice(&self.0.to_le_bytes());
        bytes[8..].copy_from_slice(&self.1.to_le_bytes());
        bytes
    }

    /// Appends the link of these bytes, which follow `self`, to them. Returns it.
    pub fn close(self, bytes: &mut Vec<u8>) -> Self {
        let link = self.over(bytes);
        bytes.extend_from_slice(&link.to_bytes());
        link
    }

    /// Splits bytes from the checksum at their end. `None` if the checksum does not match.
    #[must_use]
    pub fn open(self, bytes: &[u8]) -> Option<(&[u8], Self)> {
        let length = bytes.len().checked_sub(LINK_BYTES)?;
        let (content, written) = bytes.split_at(length);
        let link = self.over(content);
        (link.to_bytes() == written).then_some((content, link))
    }
}

/// The first bytes of a kind of record or file: its name, and the version of its form.
#[derive(Clone, Copy, Debug)]
pub struct Form(pub &'static [u8; 8], pub u16);

impl Form {
    /// The first bytes.
    #[must_use]
    pub fn begin(self) -> Vec<u8> {
        [&self.0[..], &self.1.to_le_bytes()].concat()
    }

    /// What follows the first bytes, or the version if it is another. `None` for another kind of bytes.
    #[must_use]
    pub fn rest(self, bytes: &[u8]) -> Option<Result<&[u8], u16>> {
        let (format, rest) = bytes.strip_prefix(self.0)?.split_first_chunk::<2>()?;
        let format = u16::from_le_bytes(*format);
        Some(if format == self.1 {
            Ok(rest)
        } else {
            Err(format)
        })
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::Link;

    /// These links are in the journals of every server, and must not change.
    #[test]
    fn links_are_the_same_in_every_build() {
        let link = Link::NONE.over(b"a journal").over(b"and its next record");
        assert_eq!(link.to_string(), "6b8bf98f4b734b18d386b9799adb0e9a");
    }

    #[test]
    fn a_flipped_bit_anywhere_changes_the_link() {
        let text = *b"thirty-seven bytes of a short record.";
        let link = Link::NONE.over(&text);
        for bit in 0..text.len() * 8 {
            let mut flipped = text;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Link::NONE.over(&flipped), link, "{bit}");
        }
    }

    #[test]
    fn a_sealed_text_opens_only_unchanged() {
        let mut bytes = b"content".to_vec();
        let link = Link::NONE.close(&mut bytes);
        assert_eq!(Link::NONE.open(&bytes), Some((&b"content"[..], link)));
        assert_eq!(link.open(&bytes), None);
        for length in 0..bytes.len() {
            assert_eq!(Link::NONE.open(&bytes[..length]), None, "{length}");
        }
    }
}
