//! Bundles: a whole journal in one file, to replay it elsewhere.
//!
//! ```text
//! "TSBUNDLE" | format u16 | origin, by postcard | parts | end
//! part: kind u8 | position u64 | length u32 | bytes
//! end:  kind 0  | number of parts u64 | 16 | checksum of all before
//! ```
//!
//! Numbers are little-endian. A bundle has no secret: handles are hashes, which no client can use.
//! It has all messages in clear.

use chat_core::Position;

use crate::files::Files;
use crate::identity::Origin;
use crate::link::{Form, LINK_BYTES, Link};

/// The version of the format of bundles.
const FORMAT: u16 = 1;

/// The first bytes of every bundle.
const FORM: Form = Form(b"TSBUNDLE", FORMAT);

/// The kinds of parts.
const END: u8 = 0;
const MARKS: u8 = 1;
const SNAPSHOT: u8 = 2;
const CHECKPOINT: u8 = 3;
const RECORD: u8 = 4;

/// The bytes of a part before its content.
const PART_HEAD: usize = 1 + 8 + 4;

/// The digest of the state at one position, from a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The position.
    pub position: Position,
    /// The digest of the state after its entry.
    pub digest: u64,
}

/// Why a bundle whose last part is whole is none.
const CHANGED: &str = "its checksum is wrong";

/// Why a bundle is none that ends in the part at this offset.
fn short(at: usize) -> String {
    format!("it ends in the middle of a part, at byte {at}: the rest of the file is missing")
}

/// Writes a bundle, part by part.
#[derive(Clone, Debug)]
pub struct BundleWriter {
    /// The checksum of all bytes so far.
    link: Link,
    parts: u64,
}

impl BundleWriter {
    /// Begins a bundle; appends its first bytes to `out`.
    ///
    /// # Panics
    /// Never: an origin serialises.
    #[must_use]
    pub fn begin(origin: &Origin, out: &mut Vec<u8>) -> Self {
        let from = out.len();
        out.extend_from_slice(&FORM.begin());
        out.extend_from_slice(&postcard::to_stdvec(origin).expect("an origin serialises"));
        Self {
            link: Link::NONE.over(&out[from..]),
            parts: 0,
        }
    }

    /// Appends the file of marks.
    pub fn marks(&mut self, file: &[u8], out: &mut Vec<u8>) {
        self.part(MARKS, 0, file, out);
    }

    /// Appends a snapshot to start from, because older records are gone.
    pub fn snapshot(&mut self, position: Position, file: &[u8], out: &mut Vec<u8>) {
        self.part(SNAPSHOT, position.0, file, out);
    }

    /// Appends a digest.
    pub fn checkpoint(&mut self, checkpoint: Checkpoint, out: &mut Vec<u8>) {
        let digest = checkpoint.digest.to_le_bytes();
        self.part(CHECKPOINT, checkpoint.position.0, &digest, out);
    }

    /// Appends a record with the position under which it is stored. Records are in order.
    pub fn record(&mut self, first: Position, record: &[u8], out: &mut Vec<u8>) {
        self.part(RECORD, first.0, record, out);
    }

    /// Appends the end, without which the bundle counts as incomplete.
    pub fn end(mut self, out: &mut Vec<u8>) {
        let from = out.len();
        head((END, self.parts), LINK_BYTES, out);
        self.link = self.link.over(&out[from..]);
        out.extend_from_slice(&self.link.to_bytes());
    }

    fn part(&mut self, kind: u8, position: u64, content: &[u8], out: &mut Vec<u8>) {
        let from = out.len();
        head((kind, position), content.len(), out);
        out.extend_from_slice(content);
        self.link = self.link.over(&out[from..]);
        self.parts += 1;
    }
}

/// Appends what is before the content of a part.
fn head((kind, position): (u8, u64), length: usize, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&position.to_le_bytes());
    let length = u32::try_from(length).expect("a part is below 4 GiB");
    out.extend_from_slice(&length.to_le_bytes());
}

/// A bundle whose checksum is right. Its records are not verified yet.
#[derive(Clone, Debug)]
pub struct Bundle<'b> {
    /// The beginning of the journal.
    pub origin: Origin,
    /// Digests to compare with, in the order of the file.
    pub checkpoints: Vec<Checkpoint>,
    /// The journal, to recover from.
    pub files: Files<&'b [u8]>,
}

impl<'b> Bundle<'b> {
    /// Parses a file.
    ///
    /// # Errors
    /// It is no bundle, is incomplete, or was changed.
    ///
    /// # Panics
    /// Never: a part has the bytes that are read of it.
    pub fn read(file: &'b [u8]) -> Result<Self, String> {
        let rest = FORM.rest(file);
        let rest = rest.ok_or("it is no journal that `talking-stick records` wrote")?;
        let rest = rest.map_err(|found| {
            format!("its format is {found}, and this version reads format {FORMAT}")
        })?;
        let begin = file.len() - rest.len();
        let (origin, rest) = postcard::take_from_bytes::<Origin>(rest).map_err(|_| short(begin))?;
        let mut bundle = Self {
            origin,
            checkpoints: Vec::new(),
            files: Files::default(),
        };
        let mut at = file.len() - rest.len();
        let mut link = Link::NONE.over(&file[..at]);
        let damaged = |at: usize| format!("its part at byte {at} is damaged");
        for parts in 0_u64.. {
            let head = file.get(at..at + PART_HEAD);
            let head = head.ok_or_else(|| short(at))?;
            let position = u64::from_le_bytes(head[1..9].try_into().expect("eight bytes"));
            let length = u32::from_le_bytes(head[9..].try_into().expect("four bytes"));
            let from = at + PART_HEAD;
            let to = from.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
            let content = file.get(from..to).ok_or_else(|| short(at))?;
            let key = Position(position);
            match head[0] {
                END => {
                    let ends = link.over(head).to_bytes() == content;
                    return match ends && position == parts && to == file.len() {
                        true => Ok(bundle),
                        false => Err(CHANGED.into()),
                    };
                }
                MARKS => bundle.files.marks = content,
                SNAPSHOT => {
                    bundle.files.snapshots.insert(key, content);
                }
                RECORD => {
                    bundle.files.records.insert(key, content);
                }
                CHECKPOINT => {
                    let digest = content.try_into().map_err(|_| damaged(at))?;
                    bundle.checkpoints.push(Checkpoint {
                        position: key,
                        digest: u64::from_le_bytes(digest),
                    });
                }
                _ => return Err(damaged(at)),
            }
            link = link.over(&file[at..to]);
            at = to;
        }
        Err(CHANGED.into())
    }
}
