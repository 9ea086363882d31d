//! A small independent chat server: plain HTTP, a queue of two, pair rooms, inboxes by check and by
//! stream. It can have one fault.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The fault that affects every seventh message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    #[default]
    None,
    /// Accepted and never delivered.
    Loses,
    /// Delivered twice.
    Doubles,
    /// Delivered after the following message.
    Swaps,
    /// Delivered with another text.
    Forges,
    /// No fault, but requests need the token `sesame`.
    Locks,
    /// No fault, but every participant's call is refused.
    Bars,
    /// No fault, but nobody is paired by the call that registers.
    PairsLater,
}

const EVERY: u64 = 7;

/// The time between two checks whether a stream should end.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
struct Person {
    handle: String,
    key: String,
    inbox: Vec<Value>,
    read: usize,
    room: Option<usize>,
    held: Option<Value>,
    answers: Vec<(String, Value)>,
    gone: bool,
}

#[derive(Debug)]
struct Room {
    members: [usize; 2],
    places: u64,
    ended: bool,
}

#[derive(Debug, Default)]
struct Hub {
    fault: Fault,
    people: Vec<Person>,
    waits: Option<usize>,
    rooms: Vec<Room>,
    messages: u64,
    silent: bool,
    /// The number of messages after which the server goes away.
    leaves_after: Option<u64>,
    /// The instants of requests, and the number of streams.
    heard: Vec<(String, Instant)>,
    streams: u64,
    stopped: bool,
}

/// The server. Its streams end on drop.
#[derive(Debug)]
pub(crate) struct FakeServer {
    pub(crate) address: SocketAddr,
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    hub: Mutex<Hub>,
    grew: Condvar,
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.grew.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Hub> {
        self.hub.lock().expect("no thread panics with it")
    }
}

/// Serves on one more port.
pub(crate) fn listen(served: &Arc<Shared>) -> SocketAddr {
    listen_while(served, |_| true)
}

/// Serves on one more port until the first user has registered anywhere.
pub(crate) fn listen_until_used(served: &Arc<Shared>) -> SocketAddr {
    listen_while(served, |hub| hub.people.is_empty())
}

fn listen_while(served: &Arc<Shared>, answers: fn(&Hub) -> bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has one");
    let served = Arc::clone(served);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let shared = Arc::clone(&served);
            if shared.lock().stopped {
                // The port is closed with the listener.
                break;
            }
            // An error of a connection does not matter.
            thread::spawn(move || serve(&shared, &stream, answers));
        }
    });
    address
}

impl FakeServer {
    pub(crate) fn start(fault: Fault) -> Self {
        let hub = Hub {
            fault,
            ..Hub::default()
        };
        let shared = Arc::new(Shared {
            hub: Mutex::new(hub),
            grew: Condvar::new(),
        });
        let address = listen(&shared);
        Self { address, shared }
    }

    /// Its URL.
    pub(crate) fn target(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The number of participants ever registered, and of those still registered.
    pub(crate) fn people(&self) -> (usize, usize) {
        let hub = self.shared.lock();
        let here = hub.people.iter().filter(|one| !one.gone).count();
        (hub.people.len(), here)
    }

    /// The number of streams ever opened.
    pub(crate) fn streams(&self) -> u64 {
        self.shared.lock().streams
    }

    /// The number of participants with a pause of at least this length between two requests.
    pub(crate) fn paused(&self, length: Duration) -> usize {
        let hub = self.shared.lock();
        let pauses = |one: &&Person| {
            let of_one = hub.heard.iter().filter(|(handle, _)| *handle == one.handle);
            let at: Vec<Instant> = of_one.map(|(_, at)| *at).collect();
            at.windows(2).any(|two| two[1] - two[0] >= length)
        };
        hub.people.iter().filter(pauses).count()
    }

    /// Adds a participant that waits in the queue; returns its handle.
    pub(crate) fn wait_in_line(&self) -> String {
        let answer = self.shared.lock().enter("a key of its own", "");
        answer["handle"].as_str().unwrap_or_default().to_owned()
    }

    /// Makes the server close its port and all connections after so many messages.
    pub(crate) fn leave_after(&self, messages: u64) {
        self.shared.lock().leaves_after = Some(messages);
    }

    /// Makes the server refuse all messages from now on.
    pub(crate) fn fall_silent(&self) {
        self.shared.lock().silent = true;
    }
}

/// A request: its path, its handle, its arguments.
struct Request {
    path: String,
    handle: String,
    token: String,
    arguments: Value,
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut handle, mut token, mut length) = (String::new(), String::new(), 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok().filter(|n| *n > 0)?;
        match header.trim_end().split_once(": ") {
            None => break,
            Some((name, value)) if name.eq_ignore_ascii_case("chat-handle") => {
                handle = value.to_owned();
            }
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                token = value.to_owned();
            }
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().ok()?;
            }
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        path,
        handle,
        token,
        arguments: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

fn serve(shared: &Shared, stream: &TcpStream, answers: fn(&Hub) -> bool) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let request = read(&mut reader)?;
        if shared.lock().fault == Fault::Locks && request.token != "Bearer sesame" {
            let mut out = stream;
            let refusal = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n";
            out.write_all(refusal).ok()?;
            continue;
        }
        let mut hub = shared.lock();
        if hub.is_gone() || !answers(&hub) {
            return None;
        }
        drop(hub);
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let heard = (request.handle.clone(), Instant::now());
        shared.lock().heard.push(heard);
        if path == "/events" {
            shared.lock().streams += 1;
            let after = query.strip_prefix("after=").and_then(|n| n.parse().ok());
            return push(shared, stream, &request.handle, after.unwrap_or(0));
        }
        let answer = match path {
            "/check_event" => check(shared, &request),
            path => {
                let answer = shared.lock().answer(path, &request);
                shared.grew.notify_all();
                answer
            }
        };
        let status = match answer.get("error") {
            None => "200 OK",
            Some(error) if error["code"] == "blocked" => "403 Forbidden",
            Some(_) => "409 Conflict",
        };
        let body = answer.to_string();
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json");
        let text = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let mut out = stream;
        out.write_all(text.as_bytes()).ok()?;
    }
}

fn refused(code: &str) -> Value {
    json!({ "error": { "code": code, "message": code } })
}

fn who(index: usize) -> Value {
    json!({ "user_id": format!("user_{}", index + 1), "display_name": "somebody" })
}

/// The events after a place, with their places.
fn behind(inbox: &[Value], after: usize) -> Vec<Value> {
    let numbered = inbox.iter().zip(1_u64..).skip(after).map(|(event, seq)| {
        let mut event = event.clone();
        event["seq"] = seq.into();
        event
    });
    numbered.collect()
}

fn check(shared: &Shared, request: &Request) -> Value {
    let mut hub = shared.lock();
    if hub.fault == Fault::Bars {
        return refused("blocked");
    }
    let Some(me) = hub.known(&request.handle) else {
        return refused("unknown_handle");
    };
    let wait = Duration::from_secs(request.arguments["delay"].as_u64().unwrap_or(20));
    let after = request.arguments["after"].as_u64();
    let after = after.map_or(hub.people[me].read, |n| usize::try_from(n).unwrap_or(0));
    let until = Instant::now() + wait;
    loop {
        let inbox = &hub.people[me].inbox;
        let left = until.saturating_duration_since(Instant::now());
        if inbox.len() > after || left.is_zero() || hub.stopped {
            let cursor = inbox.len();
            let events = behind(inbox, after);
            hub.people[me].read = cursor;
            return json!({ "events": events, "cursor": cursor, "more": false });
        }
        hub = shared.grew.wait_timeout(hub, left).expect("no panics").0;
    }
}

fn push(shared: &Shared, mut out: &TcpStream, handle: &str, after: usize) -> Option<()> {
    let me = shared.lock().known(handle)?;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                connection: close\r\n\r\n: welcome\n\n";
    out.write_all(head.as_bytes()).ok()?;
    let mut sent = after;
    loop {
        let mut hub = shared.lock();
        if hub.people[me].inbox.len() <= sent {
            hub = shared.grew.wait_timeout(hub, LOOK).expect("no panics").0;
        }
        if hub.stopped {
            return None;
        }
        let events = behind(&hub.people[me].inbox, sent);
        drop(hub);
        for event in events {
            let (seq, kind) = (event["seq"].as_u64()?, event["type"].as_str()?);
            let text = format!("id: {seq}\nevent: {kind}\ndata: {event}\n\n");
            out.write_all(text.as_bytes()).ok()?;
            sent += 1;
        }
    }
}

impl Hub {
    /// Whether the server has gone away.
    fn is_gone(&mut self) -> bool {
        self.stopped |= self.leaves_after.is_some_and(|most| self.messages >= most);
        self.stopped
    }

    fn known(&self, handle: &str) -> Option<usize> {
        let known = |one: &Person| one.handle == handle && !one.gone;
        self.people.iter().position(known)
    }

    fn answer(&mut self, path: &str, request: &Request) -> Value {
        let key = request.arguments["request_key"]
            .as_str()
            .unwrap_or_default();
        if path == "/openapi.json" {
            let tools = "/tools/enter_queue /tools/leave_queue /tools/leave_chat";
            let paths = format!("{tools} /send /check_event /events");
            let paths = paths.split(' ').map(|path| (path.to_owned(), json!({})));
            return json!({ "paths": serde_json::Map::from_iter(paths) });
        }
        if path == "/tools/enter_queue" {
            return self.enter(key, &request.handle);
        }
        let Some(me) = self.known(&request.handle) else {
            return refused("unknown_handle");
        };
        let known = self.people[me].answers.iter();
        if let Some((_, answer)) = known.rev().find(|(of, _)| of == key && !key.is_empty()) {
            return answer.clone();
        }
        let answer = match path {
            "/send" => self.send(me, request.arguments["message"].as_str().unwrap_or("")),
            "/tools/leave_chat" => self.leave(me),
            "/unregister" => {
                self.people[me].gone = true;
                self.leave(me)
            }
            "/tools/leave_queue" => {
                json!({ "left": self.waits.take_if(|one| *one == me).is_some() })
            }
            _ => json!({ "success": true }),
        };
        self.people[me]
            .answers
            .push((key.to_owned(), answer.clone()));
        answer
    }

    fn enter(&mut self, key: &str, handle: &str) -> Value {
        let known = self.people.iter().position(|one| one.key == key);
        let me = known.or(self.known(handle)).unwrap_or_else(|| {
            self.people.push(Person {
                handle: format!("h{}", self.people.len()),
                key: key.to_owned(),
                ..Person::default()
            });
            self.people.len() - 1
        });
        let mut answer = who(me);
        answer["handle"] = self.people[me].handle.clone().into();
        if let Some(room) = self.people[me].room {
            return self.matched(answer, me, room);
        }
        let is_new = self.fault == Fault::PairsLater && handle.is_empty();
        let partner = self.waits.take_if(|partner| !is_new && *partner != me);
        let Some(partner) = partner else {
            self.waits.get_or_insert(me);
            answer["status"] = "waiting".into();
            answer["position"] = 1.into();
            return answer;
        };
        let room = self.rooms.len();
        self.rooms.push(Room {
            members: [me, partner],
            places: 1,
            ended: false,
        });
        for (one, other) in [(me, partner), (partner, me)] {
            self.people[one].room = Some(room);
            let found = json!({ "type": "chatroom.found", "partner": who(other) });
            self.tell(one, room, 1, found);
        }
        self.matched(answer, me, room)
    }

    fn matched(&self, mut answer: Value, me: usize, room: usize) -> Value {
        answer["status"] = "matched".into();
        answer["room_id"] = format!("room_{}", room + 1).into();
        answer["partner"] = who(self.partner(me, room));
        answer
    }

    fn partner(&self, me: usize, room: usize) -> usize {
        let [one, other] = self.rooms[room].members;
        if one == me { other } else { one }
    }

    fn tell(&mut self, whom: usize, room: usize, place: u64, mut event: Value) {
        event["room_id"] = format!("room_{}", room + 1).into();
        event["room_seq"] = place.into();
        let held = self.people[whom].held.take();
        self.people[whom].inbox.push(event);
        self.people[whom].inbox.extend(held);
    }

    fn send(&mut self, me: usize, text: &str) -> Value {
        let Some(room) = self.people[me].room else {
            return refused("not_in_room");
        };
        if self.rooms[room].ended {
            return refused("chat_ended");
        }
        if self.silent {
            return refused("rate_limited");
        }
        self.rooms[room].places += 1;
        self.messages += 1;
        let (place, to) = (self.rooms[room].places, self.partner(me, room));
        let wrong = self.messages.is_multiple_of(EVERY);
        let is = |one| wrong && self.fault == one;
        let (loses, doubles, swaps) = (is(Fault::Loses), is(Fault::Doubles), is(Fault::Swaps));
        let text = if is(Fault::Forges) {
            "nobody ever said this"
        } else {
            text
        };
        let message = json!({ "type": "message.received", "sender": who(me), "message": text });
        if !loses {
            self.tell(to, room, place, message.clone());
        }
        if doubles {
            self.tell(to, room, place, message);
        }
        if swaps {
            // The message is held back until the next one was delivered.
            self.people[to].held = self.people[to].inbox.pop();
        }
        json!({ "success": true, "room_id": format!("room_{}", room + 1), "room_seq": place })
    }

    fn leave(&mut self, me: usize) -> Value {
        if let Some(room) = self.people[me].room
            && !self.rooms[room].ended
        {
            self.rooms[room].ended = true;
            self.rooms[room].places += 1;
            let (place, to) = (self.rooms[room].places, self.partner(me, room));
            let end = json!({ "type": "partner.disconnected", "reason": "left" });
            self.tell(to, room, place, end);
        }
        json!({ "success": true })
    }
}
