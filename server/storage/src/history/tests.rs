//! Damage to the file: what is read is what was written, or the damage is noticed. Reads within their work, and
//! the end of what is old.
#![allow(
    clippy::disallowed_methods,
    reason = "the files are in a folder of the test"
)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chat_core::{Body, Event, KeptRoom, Position, RoomId, RoomSeq, Span, Time, UserId, Who, mix};
use rusqlite::Connection;
use server_settings::Retention;

use super::past::{PastQuery, PastReader, PastReading, VISITED};
use super::sums::{contents, is_damage, verify};
use super::tables::{FORMAT, Fact, Load, Reached, Tables};
use super::words::QueryWords;
use crate::sqlite::{signed, value};

const REALM: u128 = 7;

/// The number of damaged files, which `DURABLE_TIMES` multiplies.
const ROUNDS: u64 = 80;

const USERS: [u64; 3] = [1, 2, 3];
const ROOMS: [u64; 3] = [1, 2, 3];
const QUERIES: [&str; 4] = ["word", "tea", "会議", "3"];

fn who(id: u64) -> Arc<Who> {
    Arc::new(Who {
        id: UserId(id),
        chosen_id: (id == 2).then(|| "ben-2".into()),
        name: format!("name of {id}").into(),
    })
}

fn fact(position: u64, room: u64, seq: u64, body: Body) -> Fact {
    let event = Event {
        room: RoomId(room),
        room_seq: RoomSeq(seq),
        at: Time(position * 1_000),
        body,
    };
    Fact {
        position: Position(position),
        event: Arc::new(event),
        room_name: Some("lobby".into()),
    }
}

/// What this participant says.
fn says(user: u64, text: impl Into<Arc<str>>) -> Body {
    Body::Message {
        sender: who(user),
        text: text.into(),
        epoch: None,
        to: [].into(),
    }
}

/// This position, whose link is unknown.
fn at(position: u64) -> Reached {
    Reached {
        position: Position(position),
        link: None,
    }
}

/// Three rooms, in which some come, speak and leave. User 3 is never in room 3.
fn write(path: &Path) -> u64 {
    let mut tables = Tables::open(path, REALM).unwrap();
    let (mut position, mut facts) = (0, Vec::new());
    for room in ROOMS {
        let mut seq = 0;
        let mut say = |body: Body| {
            position += 1;
            seq += 1;
            facts.push(fact(position, room, seq, body));
        };
        for user in USERS.into_iter().filter(|user| (room, *user) != (3, 3)) {
            say(Body::Joined(who(user)));
        }
        for number in 0..60 {
            let text = match number % 3 {
                0 => format!("word {number} of room {room}"),
                1 => format!("tea for {number}, 会議は{number}時"),
                _ => "a longer text, ".repeat(20),
            };
            say(says(USERS[number % 2], text));
            if number == 40 {
                say(Body::Left(who(2)));
            }
        }
    }
    let place = Reached {
        position: Position(position),
        link: Some(vec![9; 16]),
    };
    tables.write(&facts, &place).unwrap();
    tables.rest().unwrap();
    position
}

fn reading<const N: usize>(query: PastQuery, user: u64, hidden: [u64; N]) -> PastReading {
    PastReading {
        query,
        before: None,
        user: UserId(user),
        hidden: hidden.map(UserId).into(),
        limit: 1_000,
        bytes: 1_000_000,
        used: 0,
    }
}

fn search(words: &str, room: Option<RoomId>) -> PastQuery {
    PastQuery::Search(QueryWords::new(words).unwrap(), room)
}

/// What one participant reads in one place.
type Page = Vec<Arc<Event>>;

/// Each page that can be read: of each user in each room, and of each search.
fn pages(path: &Path) -> Vec<rusqlite::Result<Page>> {
    let reader = match PastReader::open(path) {
        Ok(reader) => reader,
        Err(error) => return vec![Err(error)],
    };
    let mut pages = Vec::new();
    for user in USERS {
        for room in ROOMS {
            let reading = reading(PastQuery::Room(RoomId(room)), user, []);
            let past = reader.read(&reading, VISITED);
            pages.push(past.map(|past| past.unwrap_or_default().messages));
        }
        for query in QUERIES {
            let found = reader.read(&reading(search(query, None), user, []), VISITED);
            pages.push(found.map(|found| found.unwrap_or_default().messages));
        }
    }
    pages
}

#[test]
fn a_flipped_bit_is_noticed_or_changes_nothing_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    write(&path);
    let whole = std::fs::read(&path).unwrap();
    let owed: Vec<Page> = pages(&path).into_iter().map(Result::unwrap).collect();
    assert!(owed[2].len() == 60 && owed[16].is_empty(), "{owed:?}");
    let (mut noticed, mut refused, mut equal) = (0, 0, 0);
    let times = std::env::var("DURABLE_TIMES");
    let times: u64 = times.map_or(1, |times| times.parse().expect("a number of times"));
    for round in 0..ROUNDS * times {
        let mut draw = mix(round, 1);
        let mut below = |limit: u64| {
            draw = mix(draw, 2);
            draw % limit
        };
        let mut file = whole.clone();
        for _ in 0..=below(3) {
            let bit = usize::try_from(below(whole.len() as u64 * 8)).unwrap();
            file[bit / 8] ^= 1 << (bit % 8);
        }
        std::fs::write(&path, &file).unwrap();
        // As while the server runs: no text but those that are owed to this reader.
        for (page, owed) in pages(&path).iter().zip(&owed) {
            match page {
                Ok(page) => {
                    let all = page.iter().all(|event| owed.contains(event));
                    assert!(all, "round {round}: {page:?}");
                }
                Err(error) => {
                    assert!(is_damage(error), "round {round}: {error}");
                    refused += 1;
                }
            }
        }
        // As at a start: the whole file is checked before it is read.
        let opened = Tables::open(&path, REALM);
        match opened.and_then(|tables| verify(&tables.connection)) {
            Ok(()) => {
                equal += 1;
                let read: Vec<Page> = pages(&path).into_iter().map(Result::unwrap).collect();
                assert_eq!(read, owed, "round {round}");
            }
            Err(error) => {
                assert!(is_damage(&error), "round {round}: {error}");
                noticed += 1;
            }
        }
        for end in ["-wal", "-shm"] {
            // SQLite has removed most of them.
            let _ = std::fs::remove_file(folder.path().join(format!("history.db{end}")));
        }
    }
    assert!(
        noticed > ROUNDS / 4 && refused > ROUNDS / 4 && equal > 0,
        "{noticed} noticed, {refused} refused, {equal} equal"
    );
}

#[test]
fn sound_rows_are_taken_from_damaged_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let end = write(&path("history.db"));
    let owed = pages(&path("history.db"));
    let damaged = Connection::open(path("history.db")).unwrap();
    let harm = "UPDATE messages SET text = 'another' WHERE room = 1 AND seq = 8";
    damaged.execute(harm, []).unwrap();
    let harm = "UPDATE memberships SET user = 1 WHERE room = 3 AND user = 2";
    damaged.execute(harm, []).unwrap();
    drop(damaged);
    assert!(contents(&path("history.db")).is_err());
    let mut tables = Tables::open(&path("new.db"), REALM).unwrap();
    // The journal has what is after this position.
    let place = at(end - 10);
    tables
        .skip_to(&[], &place, Some(&path("history.db")))
        .unwrap();
    verify(&tables.connection).unwrap();
    assert_eq!(tables.lost(), Ok(2));
    tables.rest().unwrap();
    for (number, (read, owed)) in pages(&path("new.db")).iter().zip(&owed).enumerate() {
        let (read, owed) = (read.as_ref().unwrap(), owed.as_ref().unwrap());
        let is_taken = |event: &&Arc<Event>| {
            (event.room.0, event.room_seq.0) != (1, 8)
                && event.at.0 <= place.position.0 * 1_000
                && !(event.room.0 == 3 && (7..14).contains(&number))
        };
        let taken: Vec<_> = owed.iter().filter(is_taken).collect();
        assert_eq!(read.iter().collect::<Vec<_>>(), taken, "page {number}");
    }
}

#[test]
fn the_messages_of_a_snapshot_are_in_the_order_of_their_instants() {
    const COUNT: u64 = 3_000;
    const MANY: u64 = 300;
    let folder = tempfile::tempdir().expect("a folder");
    let mut rooms: Vec<KeptRoom> = (0..MANY)
        .map(|room| KeptRoom {
            id: RoomId(room),
            name: None,
            last: RoomSeq(COUNT / MANY),
            members: Vec::new(),
            messages: Vec::new(),
        })
        .collect();
    for number in 0..COUNT {
        let room = number % MANY;
        let body = says(1, number.to_string());
        let said = fact(1 + number, room, 1 + number / MANY, body).event;
        rooms[usize::try_from(room).expect("few rooms")]
            .messages
            .push(said);
    }
    let mut tables = Tables::open(&folder.path().join("history.db"), REALM).unwrap();
    tables.skip_to(&rooms, &at(2 * COUNT), None).unwrap();
    let select = "SELECT id, text FROM messages ORDER BY id";
    let mut select = tables.connection.prepare(select).unwrap();
    let found = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let found: Vec<(i64, String)> = found.unwrap().map(Result::unwrap).collect();
    let expected = (0..COUNT).map(|number| (signed(COUNT + 1 + number), number.to_string()));
    assert!(found.into_iter().eq(expected));
}

#[test]
fn tables_of_an_older_version_are_built_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let older = Connection::open(&path).unwrap();
    older
        .execute_batch(
            "CREATE TABLE place (format INTEGER, realm BLOB, position INTEGER, link BLOB);
             INSERT INTO place VALUES (2, x'07', 90, NULL);
             CREATE TABLE messages (id INTEGER PRIMARY KEY, text TEXT);",
        )
        .unwrap();
    drop(older);
    assert_eq!(contents(&path), Ok(None));
    let tables = Tables::open(&path, REALM).unwrap();
    verify(&tables.connection).unwrap();
    assert_eq!(tables.place().unwrap().position, Position(0));
}

#[test]
fn whole_tables_of_the_version_before_are_built_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    write(&path);
    let older = "UPDATE place SET format = ?1, sum = row_sum(?1, realm, position, link, lost)";
    let tables = Tables::open(&path, REALM).unwrap();
    tables.connection.execute(older, [FORMAT - 1]).unwrap();
    drop(tables);
    assert_eq!(contents(&path), Ok(None));
    let tables = Tables::open(&path, REALM).unwrap();
    verify(&tables.connection).unwrap();
    assert_eq!(
        (tables.messages, tables.place().unwrap().position),
        (0, Position(0))
    );
}

/// Tables in which each of these says so many texts in its own room, after it joined.
fn spoken(path: &Path, said: &[(u64, u64, u64, &str)]) -> PastReader {
    let mut tables = Tables::open(path, REALM).unwrap();
    let (mut position, mut facts) = (0, Vec::new());
    let mut seqs = std::collections::BTreeMap::new();
    let mut members = std::collections::BTreeSet::new();
    for (room, user, count, text) in said {
        let mut post = |body: Body| {
            let seq = seqs.entry(*room).or_insert(0);
            *seq += 1;
            position += 1;
            facts.push(fact(position, *room, *seq, body));
        };
        if members.insert((*room, *user)) {
            post(Body::Joined(who(*user)));
        }
        for number in 0..*count {
            post(says(*user, format!("{text} {number}")));
        }
    }
    tables.write(&facts, &at(position)).unwrap();
    tables.rest().unwrap();
    PastReader::open(path).unwrap()
}

#[test]
fn a_read_gives_what_it_found_within_its_work_and_the_next_one_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let said = [(1, 1, 1, "own word"), (1, 2, 300, "hidden word")];
    let reader = spoken(&folder.path().join("history.db"), &said);
    for query in [PastQuery::Room(RoomId(1)), search("word", None)] {
        let (mut reads, mut reading) = (0, reading(query, 1, [2]));
        loop {
            let past = reader.read(&reading, 100);
            let past = past.unwrap().expect("she is there");
            reads += 1;
            if past.next.is_none() {
                assert_eq!((past.messages.len(), reads), (1, 4));
                break;
            }
            assert_eq!(past.messages.len(), 0);
            reading.before = past.next;
        }
    }
}

/// Lets a reader do so many steps of SQLite, and then interrupts it. Returns the number it did.
fn limited(reader: &mut PastReader, most: u64) -> Arc<AtomicU64> {
    let steps = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&steps);
    let is_over = move || counted.fetch_add(1, Ordering::Relaxed) >= most;
    reader
        .connection
        .progress_handler(1, Some(is_over))
        .unwrap();
    steps
}

#[test]
fn an_interrupted_read_gives_what_it_found() {
    let folder = tempfile::tempdir().unwrap();
    let said = [(1, 1, 500, "word")];
    let mut reader = spoken(&folder.path().join("history.db"), &said);
    let room = reading(PastQuery::Room(RoomId(1)), 1, []);
    limited(&mut reader, 5_000);
    let past = reader.read(&room, VISITED);
    let past = past.unwrap().expect("she is there");
    let count = past.messages.len() as u64;
    assert!((1..500).contains(&count) && past.next == Some(502 - count));
    limited(&mut reader, 5_000);
    let found = reader.read(&reading(search("word", None), 1, []), VISITED);
    let found = found.unwrap().expect("she is there");
    let count = found.messages.len() as u64;
    assert!((1..500).contains(&count) && found.next == Some(502 - count));
    limited(&mut reader, 0);
    let none = reader.read(&room, VISITED);
    assert!(none.is_err(), "it did not come forward");
}

#[test]
fn a_search_does_no_work_in_rooms_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let steps = |name: &str, text: &str| {
        let said = [
            (1, 1, 30, "word"),
            (2, 2, 3_000, text),
            (1, 1, 1, "the last word"),
        ];
        let mut reader = spoken(&path(name), &said);
        let mut of = |query: &str, room: Option<u64>| {
            let steps = limited(&mut reader, u64::MAX);
            let query = search(query, room.map(RoomId));
            let found = reader.read(&reading(query, 1, []), VISITED);
            let found = found.unwrap().map(|found| found.messages.len());
            (steps.load(Ordering::Relaxed), found)
        };
        [
            of("word", None),
            of("wor", None),
            of("word", Some(1)),
            of("word", Some(2)),
        ]
    };
    let (said, unsaid) = (steps("said.db", "word"), steps("unsaid.db", "tree"));
    assert_eq!(said, unsaid);
    assert_eq!(
        said.map(|(_, found)| found),
        [Some(31), Some(31), Some(31), None]
    );
}

const DAY: Span = Span::secs(24 * 3_600);

/// Tables with these facts, each of the day of this number, at the positions from 1 on.
fn of_days(path: &Path, facts: impl IntoIterator<Item = (u64, u64, Body)>) -> Tables {
    let mut tables = Tables::open(path, REALM).unwrap();
    let dated = (1..).zip(facts).map(|(position, (day, room, body))| {
        let mut fact = fact(position, room, position, body);
        Arc::make_mut(&mut fact.event).at = Time(day * DAY.0);
        fact
    });
    let facts: Vec<Fact> = dated.collect();
    tables.write(&facts, &at(facts.len() as u64)).unwrap();
    tables
}

#[test]
fn what_is_old_goes_with_its_words_and_its_rooms() {
    let folder = tempfile::tempdir().unwrap();
    let facts = [
        (1, 1, Body::Joined(who(1))),
        (1, 1, says(1, "ancient words")),
        (2, 1, Body::Left(who(1))),
        (2, 2, Body::Joined(who(1))),
        (2, 2, says(1, "old words")),
        (9, 2, says(1, "new words")),
    ];
    let mut tables = of_days(&folder.path().join("history.db"), facts);
    assert_eq!(tables.messages, 3);
    let retention = Retention {
        age: Some(DAY.times(7)),
        ..Retention::default()
    };
    let now = Time(10 * DAY.0);
    let all = Position(u64::MAX);
    assert_eq!(tables.trim(retention, now, (Load::High, all)), Ok(false));
    assert_eq!(tables.messages, 3, "three are not worth it under load");
    assert_eq!(tables.trim(retention, now, (Load::Low, all)), Ok(false));
    assert_eq!(tables.messages, 1);
    let words = "SELECT count(*) FROM words WHERE words MATCH";
    for (query, wanted) in [
        ("SELECT id FROM messages", 6),
        (&*format!("{words} '2xwords'"), 1),
        (&*format!("{words} '1xancient'"), 0),
        // The first has ended.
        ("SELECT room FROM rooms", 2),
        ("SELECT count(*) FROM memberships", 1),
    ] {
        let found: i64 = value(&tables.connection, query, []).unwrap();
        assert_eq!(found, wanted, "{query}");
    }
    verify(&tables.connection).unwrap();
}

#[test]
fn what_is_not_copied_stays_unless_it_is_too_old() {
    let folder = tempfile::tempdir().unwrap();
    let facts = (1..=9).map(|day| (day, 1, says(1, "word")));
    let mut tables = of_days(&folder.path().join("history.db"), facts);
    let now = Time(10 * DAY.0);
    let days = Some(DAY.times(5));
    for (age, copied, wanted) in [
        (None, 0, 9),
        (None, 3, 6),
        (days, 3, 5),
        (None, u64::MAX, 2),
    ] {
        let retention = Retention {
            age,
            messages: Some(2),
            bytes: None,
        };
        let copied = (Load::Low, Position(copied));
        tables.trim(retention, now, copied).unwrap();
        assert_eq!(tables.messages, wanted);
    }
}
