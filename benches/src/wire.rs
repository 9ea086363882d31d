//! A cheap HTTP/1.1 client: it writes whole requests, and parses only as much of an answer as is
//! needed to find its end.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpSocket, TcpStream};

use crate::Outcome;

/// The delay of a slow reader between two bytes.
const TRICKLE: std::time::Duration = std::time::Duration::from_millis(1);

/// A persistent connection.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    line: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status code.
    pub(crate) status: u16,
    /// The body.
    pub(crate) body: Vec<u8>,
}

/// A serialised request.
pub(crate) fn request(line: &str, headers: &[(&str, &str)], body: &Value) -> Vec<u8> {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let mut text = format!("{line} HTTP/1.1\r\nHost: localhost\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    if line.starts_with("POST") {
        text += &format!(
            "Content-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        );
    }
    (text + "\r\n" + &body).into_bytes()
}

/// What clients of MCP accept.
pub(crate) const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");

/// A call of a tool in MCP 2026-07-28.
pub(crate) fn modern_call(tool: &str, arguments: Value) -> Vec<u8> {
    let params = json!({ "name": tool, "arguments": arguments });
    modern("tools/call", tool, params)
}

/// A request in MCP 2026-07-28 about the tool or resource of this name.
pub(crate) fn modern(method: &str, name: &str, mut params: Value) -> Vec<u8> {
    let version = ("MCP-Protocol-Version", "2026-07-28");
    let headers = [ACCEPT, version, ("Mcp-Method", method), ("Mcp-Name", name)];
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "load", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    request("POST /mcp", &headers, &body)
}

/// A request that opens a session of MCP 2025-11-25, with these capabilities.
pub(crate) fn hello(capabilities: &Value) -> Vec<u8> {
    let body = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": { "name": "load", "version": "1" }
        }
    });
    request("POST /mcp", &[ACCEPT], &body)
}

/// A participant of a room.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    /// Its handle.
    pub(crate) handle: String,
    /// The id by which others read its inbox.
    pub(crate) reader: String,
    /// The id of the room.
    pub(crate) room: String,
}

impl Person {
    /// The request that opens its stream.
    pub(crate) fn listens(&self) -> Vec<u8> {
        let by_handle = [("Chat-Handle", &*self.handle)];
        request("GET /events", &by_handle, &Value::Null)
    }

    /// A message of it over plain HTTP, to this route.
    pub(crate) fn posts(&self, line: &str, text: &str) -> Vec<u8> {
        let said = json!({ "message": text, "room_id": self.room });
        request(line, &[("Chat-Handle", &self.handle)], &said)
    }

    /// The arguments of its `send_message`.
    pub(crate) fn arguments(&self, text: &str) -> Value {
        json!({ "handle": self.handle, "message": text, "room_id": self.room })
    }
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// Why the connection failed.
    pub(crate) async fn open(address: SocketAddr) -> Outcome<Self> {
        Self::over(TcpStream::connect(address).await?)
    }

    /// Connects from this local address. The connection is reset at its end, so that any number can
    /// follow one another.
    ///
    /// # Errors
    /// Why the connection failed.
    pub(crate) async fn open_from(from: Ipv4Addr, address: SocketAddr) -> Outcome<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_zero_linger()?;
        socket.bind((IpAddr::V4(from), 0).into())?;
        Self::over(socket.connect(address).await?)
    }

    fn over(stream: TcpStream) -> Outcome<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
            line: String::new(),
        })
    }

    /// Writes a request and reads its answer.
    ///
    /// # Errors
    /// The connection ended, or the answer is invalid.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Outcome<Answer> {
        self.stream.get_mut().write_all(request).await?;
        let (status, length) = self.head().await?;
        let mut body = Vec::new();
        match length {
            Some(length) => {
                body.resize(length, 0);
                self.stream.read_exact(&mut body).await?;
            }
            None => while self.chunk(&mut body).await? {},
        }
        Ok(Answer { status, body })
    }

    /// Writes requests, and reads one byte of their answers at a time, until the server closes the
    /// connection.
    ///
    /// # Errors
    /// The connection ended.
    pub(crate) async fn trickle(&mut self, requests: &[u8]) -> Outcome<()> {
        self.stream.get_mut().write_all(requests).await?;
        loop {
            self.stream.get_mut().read_u8().await?;
            tokio::time::sleep(TRICKLE).await;
        }
    }

    /// Writes a request without its last bytes, then those one at a time, until the server closes
    /// the connection.
    ///
    /// # Errors
    /// The connection ended.
    pub(crate) async fn dribble(&mut self, request: &[u8]) -> Outcome<()> {
        let (most, last) = request.split_at(request.len().saturating_sub(1_000));
        self.stream.get_mut().write_all(most).await?;
        for byte in last {
            self.stream.get_mut().write_u8(*byte).await?;
            tokio::time::sleep(TRICKLE * 100).await;
        }
        self.head().await?;
        Ok(())
    }

    /// Registers a participant with this name in this room.
    ///
    /// # Errors
    /// A refusal, or the connection ended.
    pub(crate) async fn register(&mut self, name: &str, room: &str) -> Outcome<Person> {
        let who = json!({ "username": name, "room": room });
        let answer = self.accepted(&request("POST /register", &[], &who)).await?;
        let answer: Value = serde_json::from_slice(&answer)?;
        let text = |key: &str| answer[key].as_str().unwrap_or_default().to_owned();
        Ok(Person {
            handle: answer["handle"].as_str().ok_or("no handle")?.to_owned(),
            reader: text("reader_id"),
            room: text("room_id"),
        })
    }

    /// Writes a request that must be accepted, by the tool if it calls one. Returns the body of its answer.
    ///
    /// # Errors
    /// A refusal, or the connection ended.
    pub(crate) async fn accepted(&mut self, request: &[u8]) -> Outcome<Vec<u8>> {
        let answer = self.exchange(request).await?;
        let text = String::from_utf8_lossy(&answer.body);
        if answer.status / 100 != 2 || text.contains("\"isError\":true") {
            return Err(format!("answered {}: {text}", answer.status).into());
        }
        Ok(answer.body)
    }

    /// Writes a request whose answer is a stream, and reads its head.
    ///
    /// # Errors
    /// A refusal, or the connection ended.
    pub(crate) async fn stream(mut self, request: &[u8]) -> Outcome<Events> {
        self.stream.get_mut().write_all(request).await?;
        let (status, _) = self.head().await?;
        if status != 200 {
            return Err(format!("a stream was answered with {status}").into());
        }
        Ok(Events(self))
    }

    /// Reads the head of an answer: its status, and its length unless it is chunked.
    async fn head(&mut self) -> Outcome<(u16, Option<usize>)> {
        let status = self.next_line().await?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or("the answer has no status")?;
        let mut length = Some(0);
        loop {
            let line = self.next_line().await?;
            match line.split_once(": ") {
                None => return Ok((status, length)),
                Some(("content-length", value)) => length = Some(value.parse()?),
                Some(("transfer-encoding", _)) => length = None,
                Some(_) => {}
            }
        }
    }

    async fn next_line(&mut self) -> Outcome<&str> {
        self.line.clear();
        if self.stream.read_line(&mut self.line).await? == 0 {
            return Err("the server closed the connection".into());
        }
        Ok(self.line.trim_end())
    }

    /// Reads a chunk (RFC 9112, section 7.1) and appends it to `body`; false at the end.
    async fn chunk(&mut self, body: &mut Vec<u8>) -> Outcome<bool> {
        let size = usize::from_str_radix(self.next_line().await?, 16)?;
        let from = body.len();
        body.resize(from + size + 2, 0);
        self.stream.read_exact(&mut body[from..]).await?;
        body.truncate(from + size);
        Ok(size > 0)
    }
}

/// An open stream of events.
#[derive(Debug)]
pub(crate) struct Events(Connection);

impl Events {
    /// The data of the next event that has some.
    ///
    /// # Errors
    /// The stream ended.
    pub(crate) async fn data(&mut self) -> Outcome<&str> {
        loop {
            if self.0.next_line().await?.starts_with("data: ") {
                break;
            }
        }
        Ok(self.0.line["data: ".len()..].trim_end())
    }

    /// The text of the next message.
    ///
    /// # Errors
    /// The stream ended.
    pub(crate) async fn message(&mut self) -> Outcome<String> {
        loop {
            if let Some((_, text)) = self.data().await?.split_once("\"message\":\"") {
                return Ok(text.split('"').next().unwrap_or_default().to_owned());
            }
        }
    }
}
