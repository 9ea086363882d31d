//! What is in the folder of a journal, and whether a server could start from it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use chat_core::{Position, VERSION};
use chat_journal::{Broken, Chain, FORMAT, Marks, Origin, Snapshot};
use serde::Serialize;
use server_storage::history;
use server_storage::journal::{DatabaseError, JournalReader};

use super::{UpkeepError, opened};

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lines for people.
    Text,
    /// One JSON object.
    Json,
}

/// What was found.
#[derive(Debug, Serialize)]
struct Report {
    folder: String,
    realm: String,
    /// The versions of this program.
    core_version: &'static str,
    record_format: u16,
    /// The oldest and the newest position of the journal; 0 without records.
    first: u64,
    last: u64,
    records: u64,
    /// The last position whose answers may have left, if it is known.
    marked: Option<u64>,
    snapshots: Vec<SnapshotReport>,
    /// The position up to which the history follows; none without a history.
    history: Option<i64>,
    history_messages: Option<i64>,
    /// Rows of the history that were damaged, and that the journal no longer had.
    history_lost: Option<i64>,
    bytes: BTreeMap<String, u64>,
    /// The position from which on every record continues the one before it.
    verified_from: u64,
    /// Whether a server could start.
    starts: bool,
    problems: Vec<String>,
    /// Whether the journal and its snapshots have no problem.
    #[serde(skip)]
    is_whole: bool,
}

#[derive(Debug, Serialize)]
struct SnapshotReport {
    position: u64,
    bytes: u64,
    usable: bool,
}

/// Reports on the journal in `data`.
///
/// # Errors
/// It cannot be read, or a server could not start from it.
pub fn inspect(data: &Path, form: Form, out: &mut dyn Write) -> Result<(), UpkeepError> {
    let (reader, origin) = opened(data)?;
    let report = report(data, &reader, &origin)?;
    match form {
        Form::Json => writeln!(out, "{}", serde_json::json!(report))?,
        Form::Text => write(&report, out)?,
    }
    match report.problems.is_empty() {
        true => Ok(()),
        false => Err(UpkeepError::Damaged {
            path: data.into(),
            problems: report.problems.join("; "),
        }),
    }
}

fn report(data: &Path, reader: &JournalReader, origin: &Origin) -> Result<Report, UpkeepError> {
    // The mark is read first: the journal only grows.
    let marks = reader.marks().map_err(UpkeepError::file(data))?;
    let marked = Marks::read(&marks).known().map(|mark| mark.position.0);
    let (snapshots, links) = snapshots(reader, origin).map_err(UpkeepError::file(data))?;
    let mut problems: Vec<String> = snapshots
        .iter()
        .filter(|snapshot| !snapshot.usable)
        .map(|snapshot| format!("snapshot {} cannot be used", snapshot.position))
        .collect();
    let chain = verify(reader, origin, &links).map_err(UpkeepError::database(data))?;
    problems.extend(chain.problem);
    let recovered = reader.recover(origin);
    let starts = recovered.is_ok();
    problems.extend(recovered.err().map(|error| error.to_string()));
    problems.dedup();
    let is_whole = problems.is_empty();
    let past = history::contents(&history::path_in(data)).transpose();
    let past = past.unwrap_or_else(|problem| {
        problems.push(problem);
        None
    });
    Ok(Report {
        folder: data.display().to_string(),
        realm: format!("{:032x}", origin.realm),
        core_version: VERSION,
        record_format: FORMAT,
        first: chain.first.0,
        last: chain.last.0,
        records: chain.records,
        marked,
        snapshots,
        history: past.map(|past| past.position),
        history_messages: past.map(|past| past.messages),
        history_lost: past.map(|past| past.lost),
        bytes: sizes(data).map_err(UpkeepError::file(data))?,
        verified_from: chain.from.0,
        starts,
        problems,
        is_whole,
    })
}

/// The chains at the positions of usable snapshots.
type Links = BTreeMap<Position, Chain>;

fn snapshots(reader: &JournalReader, origin: &Origin) -> io::Result<(Vec<SnapshotReport>, Links)> {
    let (mut reports, mut links) = (Vec::new(), Links::new());
    for snapshot in super::snapshots(reader)? {
        let (position, file) = snapshot?;
        let read = Snapshot::read(origin, &file).ok();
        let read = read.filter(|snapshot| snapshot.chain.last() == position);
        reports.push(SnapshotReport {
            position: position.0,
            bytes: file.len() as u64,
            usable: read.is_some(),
        });
        links.extend(read.map(|snapshot| (position, snapshot.chain)));
    }
    Ok((reports, links))
}

/// The result of following all records.
struct Verified {
    first: Position,
    last: Position,
    records: u64,
    /// The first verified position.
    from: Position,
    problem: Option<String>,
}

/// Follows the chain from the first record, or from the first snapshot that continues it.
fn verify(
    reader: &JournalReader,
    origin: &Origin,
    links: &Links,
) -> Result<Verified, DatabaseError> {
    let first = reader.first()?;
    let mut found = Verified {
        first: first.unwrap_or(Position(0)),
        last: Position(0),
        records: 0,
        from: Position(0),
        problem: None,
    };
    let mut chain = (first == Some(Position(1))).then(|| Chain::new(origin));
    let mut after = Position(0);
    loop {
        let batch = reader.batch(after)?;
        let Some((last, _)) = batch.last() else {
            return Ok(found);
        };
        after = *last;
        for (at, bytes) in batch {
            found.records += 1;
            found.last = at;
            let before = Position(at.0.saturating_sub(1));
            chain = chain.or_else(|| links.get(&before).copied());
            let Some(end) = &mut chain else {
                continue;
            };
            if found.from == Position(0) {
                found.from = at;
            }
            if found.problem.is_some() {
                continue;
            }
            match follow(end, (at, &bytes), links) {
                Ok(last) => found.last = last,
                Err(problem) => found.problem = Some(problem),
            }
        }
    }
}

fn follow(
    end: &mut Chain,
    (at, bytes): (Position, &[u8]),
    links: &Links,
) -> Result<Position, String> {
    if at > end.last().next() {
        let (from, to) = (end.last().0 + 1, at.0 - 1);
        return Err(format!(
            "positions {from} to {to} are missing from the journal"
        ));
    }
    end.follow(bytes).map_err(|broken: Broken| {
        format!("the record at position {} is not usable: {broken}", at.0)
    })?;
    match links.get(&end.last()) {
        Some(snapshot) if snapshot.tip() != end.tip() => Err(format!(
            "snapshot {} is not the state of the journal there",
            end.last().0
        )),
        Some(_) | None => Ok(end.last()),
    }
}

fn sizes(data: &Path) -> io::Result<BTreeMap<String, u64>> {
    let mut sizes = BTreeMap::new();
    for entry in fs::read_dir(data)? {
        let entry = entry?;
        // A file may be gone meanwhile.
        if let Ok(metadata) = entry.metadata() {
            let name = entry.file_name().to_string_lossy().into_owned();
            sizes.insert(name, metadata.len());
        }
    }
    Ok(sizes)
}

fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "folder     {}", report.folder)?;
    writeln!(out, "realm      {}", report.realm)?;
    let (core, format) = (report.core_version, report.record_format);
    writeln!(out, "versions   core {core}, records {format}")?;
    let (first, last, records) = (report.first, report.last, report.records);
    writeln!(
        out,
        "journal    positions {first} to {last} in {records} records"
    )?;
    match report.marked {
        Some(marked) => writeln!(out, "answers    left up to position {marked}")?,
        None => writeln!(out, "answers    the file of marks is absent or damaged")?,
    }
    for snapshot in &report.snapshots {
        let usable = if snapshot.usable { "usable" } else { "damaged" };
        let (position, bytes) = (snapshot.position, snapshot.bytes);
        writeln!(
            out,
            "snapshot   position {position}, {bytes} bytes, {usable}"
        )?;
    }
    match (report.history, report.history_messages) {
        (Some(position), Some(messages)) => {
            writeln!(
                out,
                "history    up to position {position}, {messages} messages"
            )?;
            if let Some(lost @ 1..) = report.history_lost {
                writeln!(out, "history    {lost} damaged rows were lost")?;
            }
        }
        _ => writeln!(out, "history    none that can be read")?,
    }
    for (name, bytes) in &report.bytes {
        writeln!(out, "file       {name}, {bytes} bytes")?;
    }
    let chain = match (report.is_whole, report.verified_from) {
        (false, _) => "broken".into(),
        (true, 0) => "no records".into(),
        (true, from) => format!("whole from position {from} on"),
    };
    writeln!(out, "chain      {chain}")?;
    let starts = if report.starts {
        "starts"
    } else {
        "refuses to start"
    };
    writeln!(out, "a server   {starts}")
}
