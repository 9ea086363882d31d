//! What joins a record to the one before it.

use std::fmt;

use chat_core::mix_bytes;
use serde::{Deserialize, Serialize};

/// A checksum of everything up to one place of a journal: of the link before it, and of the bytes
/// since then.
///
/// Every step of [`mix_bytes`] is a bijection of the state, so a change within one word of eight bytes
/// always changes the link; any other change goes unseen once in 2^128. The link is a checksum and no
/// signature: it detects what disks do, not what a person with access to the files does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link(u64, u64);

/// How many bytes a link takes where it is written.
pub(crate) const LINK_BYTES: usize = 16;

/// Separates the second lane of a link from the first.
const SECOND_LANE: u64 = 0x6a09_e667_f3bc_c908;

impl Link {
    /// The link before everything.
    pub(crate) const NONE: Self = Self(0, SECOND_LANE);

    /// The link behind these bytes, which stand behind `self`.
    #[must_use]
    pub fn over(self, bytes: &[u8]) -> Self {
        Self(mix_bytes(self.0, bytes), mix_bytes(self.1, bytes))
    }

    /// The link as it is written, little-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; LINK_BYTES] {
        let mut bytes = [0; LINK_BYTES];
        bytes[..8].copy_from_slice(&self.0.to_le_bytes());
        bytes[8..].copy_from_slice(&self.1.to_le_bytes());
        bytes
    }

    /// Appends the checksum of `bytes` to them.
    pub(crate) fn close(self, bytes: &mut Vec<u8>) -> Self {
        let link = self.over(bytes);
        bytes.extend_from_slice(&link.to_bytes());
        link
    }

    /// Splits bytes that end with their checksum. None where the checksum is another one.
    pub(crate) fn open(self, bytes: &[u8]) -> Option<(&[u8], Self)> {
        let length = bytes.len().checked_sub(LINK_BYTES)?;
        let (content, written) = bytes.split_at(length);
        let link = self.over(content);
        (link.to_bytes() == written).then_some((content, link))
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

    /// These links stand in the journals of every server.
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
    fn what_was_closed_opens_and_nothing_else_does() {
        let mut bytes = b"content".to_vec();
        let link = Link::NONE.close(&mut bytes);
        assert_eq!(Link::NONE.open(&bytes), Some((&b"content"[..], link)));
        assert_eq!(link.open(&bytes), None);
        for length in 0..bytes.len() {
            assert_eq!(Link::NONE.open(&bytes[..length]), None, "{length}");
        }
    }
}
