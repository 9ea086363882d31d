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

use super::{At as _, UpkeepError, opened};

/// What was found.
#[derive(Debug, Default, Serialize)]
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

/// Reports on the journal in `data`: lines for people, or one JSON object.
///
/// # Errors
/// It cannot be read, or a server could not start from it.
pub fn inspect(data: &Path, json: bool, out: &mut dyn Write) -> Result<(), UpkeepError> {
    let (reader, origin) = opened(data)?;
    let report = report(data, &reader, &origin)?;
    match json {
        true => writeln!(out, "{}", serde_json::json!(report))?,
        false => write(&report, out)?,
    }
    match report.problems.is_empty() {
        true => Ok(()),
        false => Err(UpkeepError::at(data, report.problems.join("; "))),
    }
}

fn report(data: &Path, reader: &JournalReader, origin: &Origin) -> Result<Report, UpkeepError> {
    // The mark is read first: the journal only grows.
    let marks = reader.marks().at(data)?;
    let (snapshots, links) = snapshots(reader, origin).at(data)?;
    let damaged = snapshots.iter().filter(|snapshot| !snapshot.usable);
    let problems = damaged.map(|one| format!("snapshot {} cannot be used", one.position));
    let mut report = Report {
        folder: data.display().to_string(),
        realm: format!("{:032x}", origin.realm),
        core_version: VERSION,
        record_format: FORMAT,
        marked: Marks::read(&marks).known().map(|mark| mark.position.0),
        problems: problems.collect(),
        snapshots,
        ..Report::default()
    };
    verify(reader, origin, &links, &mut report).at(data)?;
    let recovered = reader.recover(origin);
    report.starts = recovered.is_ok();
    let problem = recovered.err().map(|error| error.to_string());
    report.problems.extend(problem);
    report.problems.dedup();
    report.is_whole = report.problems.is_empty();
    match history::contents(&history::path_in(data)) {
        Ok(past) => {
            report.history = past.map(|past| past.position);
            report.history_messages = past.map(|past| past.messages);
            report.history_lost = past.map(|past| past.lost);
        }
        Err(problem) => report.problems.push(problem),
    }
    report.bytes = sizes(data).at(data)?;
    Ok(report)
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

/// Follows the chain from the first record, or from the first snapshot that continues it, up to the
/// first problem.
fn verify(
    reader: &JournalReader,
    origin: &Origin,
    links: &Links,
    report: &mut Report,
) -> Result<(), DatabaseError> {
    let first = reader.first_after(Position(0))?;
    report.first = first.map_or(0, |first| first.0);
    let mut chain = (first == Some(Position(1))).then(|| Chain::new(origin));
    let mut is_followed = true;
    let mut after = Position(0);
    loop {
        let batch = reader.batch(after)?;
        let Some((last, _)) = batch.last() else {
            return Ok(());
        };
        after = *last;
        for (at, bytes) in batch {
            report.records += 1;
            report.last = at.0;
            let before = Position(at.0.saturating_sub(1));
            chain = chain.or_else(|| links.get(&before).copied());
            let Some(end) = &mut chain else {
                continue;
            };
            if report.verified_from == 0 {
                report.verified_from = at.0;
            }
            if !is_followed {
                continue;
            }
            match follow(end, (at, &bytes), links) {
                Ok(last) => report.last = last.0,
                Err(problem) => {
                    report.problems.push(problem);
                    is_followed = false;
                }
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
    let mut line = |label: &str, text: &str| writeln!(out, "{label:<11}{text}");
    line("folder", &report.folder)?;
    line("realm", &report.realm)?;
    let (core, format) = (report.core_version, report.record_format);
    line("versions", &format!("core {core}, records {format}"))?;
    let (first, last, records) = (report.first, report.last, report.records);
    let journal = format!("positions {first} to {last} in {records} records");
    line("journal", &journal)?;
    match report.marked {
        Some(marked) => line("answers", &format!("left up to position {marked}"))?,
        None => line("answers", "the file of marks is absent or damaged")?,
    }
    for snapshot in &report.snapshots {
        let usable = if snapshot.usable { "usable" } else { "damaged" };
        let (position, bytes) = (snapshot.position, snapshot.bytes);
        let snapshot = format!("position {position}, {bytes} bytes, {usable}");
        line("snapshot", &snapshot)?;
    }
    match (report.history, report.history_messages) {
        (Some(position), Some(messages)) => {
            let history = format!("up to position {position}, {messages} messages");
            line("history", &history)?;
            if let Some(lost @ 1..) = report.history_lost {
                line("history", &format!("{lost} damaged rows were lost"))?;
            }
        }
        _ => line("history", "none that can be read")?,
    }
    for (name, bytes) in &report.bytes {
        line("file", &format!("{name}, {bytes} bytes"))?;
    }
    match (report.is_whole, report.verified_from) {
        (false, _) => line("chain", "broken")?,
        (true, 0) => line("chain", "no records")?,
        (true, from) => line("chain", &format!("whole from position {from} on"))?,
    }
    match report.starts {
        true => line("a server", "starts"),
        false => line("a server", "refuses to start"),
    }
}
