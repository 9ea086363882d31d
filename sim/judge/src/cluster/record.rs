//! The records of a log, parsed by their documented form.
//!
//! ```text
//! 8 bytes of magic | format u16 | realm, sequence, epoch, author (2), kind: each a varint | …
//! ```

/// The beginning of the text of each write.
pub(super) const MARK: &str = "write-";

/// The digits of its number.
const DIGITS: usize = 6;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    Claim,
    Batch,
    Heartbeat,
    Resigned,
    Noop,
}

/// The head of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogRecord {
    pub(super) epoch: u64,
    pub(super) author: (u64, u64),
    pub(super) kind: RecordKind,
}

impl LogRecord {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(b"TSCLUSTR")?.get(2..)?;
        let _realm = varint(&mut rest)?;
        let _sequence = varint(&mut rest)?;
        let epoch = varint(&mut rest)?;
        let author = (varint(&mut rest)?, varint(&mut rest)?);
        let kind = match varint(&mut rest)? {
            0 => RecordKind::Claim,
            1 => RecordKind::Batch,
            2 => RecordKind::Heartbeat,
            3 => RecordKind::Resigned,
            4 => RecordKind::Noop,
            _ => return None,
        };
        Some(Self {
            epoch,
            author,
            kind,
        })
    }
}

/// A number in groups of seven bits, the lowest first. What exceeds 64 bits is dropped.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for group in 0..19 {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        if group < 10 {
            number |= u64::from(byte & 0x7f) << (7 * group);
        }
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// The writes whose texts are in these bytes.
pub(super) fn writes(bytes: &[u8]) -> Vec<u64> {
    let length = MARK.len() + DIGITS;
    let texts = bytes
        .windows(length)
        .filter(|window| window.starts_with(MARK.as_bytes()));
    texts
        .filter_map(|text| std::str::from_utf8(&text[MARK.len()..]).ok()?.parse().ok())
        .collect()
}
