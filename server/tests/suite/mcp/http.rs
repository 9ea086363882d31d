//! HTTP as bytes on a connection, so that a test sees exactly what the server sends.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpSocket, TcpStream};

/// The time limit of every wait in these tests. No test waits for it to pass.
pub(crate) const GUARD: Duration = Duration::from_secs(20);

/// A response whose body is not read yet.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
}

/// The unread body of a response.
pub(crate) struct Body {
    connection: BufReader<TcpStream>,
    length: Length,
    text: String,
}

enum Length {
    Known(usize),
    Chunked,
    Ended,
    /// It broke off.
    Cut,
}

/// An event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sse {
    pub(crate) id: Option<String>,
    pub(crate) data: String,
    pub(crate) comment: bool,
    /// Whether there is a line of data, be it empty: an EventSource reports only such events.
    pub(crate) is_reported: bool,
}

impl Sse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// Sends a request and reads the headers of its response.
pub(crate) async fn request(
    server: SocketAddr,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: &[u8],
) -> Reply {
    let connection = TcpStream::connect(server).await.unwrap();
    exchange(connection, (method, path), headers, body).await
}

/// Like `request`, on a connection with a very small receive buffer.
pub(crate) async fn request_narrow(
    server: SocketAddr,
    line: (&str, &str),
    headers: &[(&str, &str)],
) -> Reply {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(2_048).unwrap();
    let connection = socket.connect(server).await.unwrap();
    exchange(connection, line, headers, b"").await
}

async fn exchange(
    mut connection: TcpStream,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: &[u8],
) -> Reply {
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    connection.write_all(head.as_bytes()).await.unwrap();
    // A server that refuses by the headers need not read the body.
    let _ = connection.write_all(body).await;
    let reply = tokio::time::timeout(GUARD, read_head(connection));
    reply.await.expect("the head of a reply")
}

async fn read_head(connection: TcpStream) -> Reply {
    let mut connection = BufReader::new(connection);
    let mut line = String::new();
    connection.read_line(&mut line).await.unwrap();
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let mut headers = Vec::new();
    loop {
        line.clear();
        connection.read_line(&mut line).await.unwrap();
        let Some((name, value)) = line.trim().split_once(": ") else {
            break;
        };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = match headers.iter().find(|(name, _)| name == "content-length") {
        Some((_, length)) => Length::Known(length.parse().unwrap()),
        None => Length::Chunked,
    };
    Reply {
        status: status.expect("a status line"),
        headers,
        body: Body {
            connection,
            length,
            text: String::new(),
        },
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The whole body as text.
    pub(crate) async fn text(mut self) -> String {
        while self.body.more().await {}
        self.body.text
    }

    /// The JSON-RPC answer: the whole body, or the last event of a stream.
    pub(crate) async fn answer(mut self) -> Value {
        if self.header("content-type") == Some("text/event-stream") {
            let mut last = None;
            while let Some(event) = self.body.event().await {
                if !event.data.is_empty() {
                    last = Some(event.json());
                }
            }
            return last.expect("a stream with an answer");
        }
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }
}

impl Body {
    /// The next event or comment; `None` at the end of the stream.
    pub(crate) async fn event(&mut self) -> Option<Sse> {
        let next = tokio::time::timeout(GUARD, self.next_event());
        next.await.expect("an event, or the end")
    }

    /// The next protocol message of the stream.
    pub(crate) async fn message(&mut self) -> Option<(Option<String>, Value)> {
        loop {
            let event = self.event().await?;
            if !event.comment && !event.data.is_empty() {
                return Some((event.id.clone(), event.json()));
            }
        }
    }

    /// Whether it broke off before its end.
    pub(crate) const fn is_cut(&self) -> bool {
        matches!(self.length, Length::Cut)
    }

    async fn next_event(&mut self) -> Option<Sse> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                return Some(parse(&block));
            }
            if !self.more().await {
                return None;
            }
        }
    }

    /// Reads more of the body; returns false at its end.
    async fn more(&mut self) -> bool {
        let length = match self.length {
            Length::Known(length) => {
                self.length = Length::Ended;
                length
            }
            Length::Chunked => {
                let mut line = String::new();
                let read = self.connection.read_line(&mut line).await;
                if !matches!(read, Ok(read) if read > 0) {
                    self.length = Length::Cut;
                    return false;
                }
                usize::from_str_radix(line.trim(), 16).expect("a chunk's length")
            }
            Length::Ended | Length::Cut => return false,
        };
        let mut bytes = vec![0; length];
        self.connection.read_exact(&mut bytes).await.unwrap();
        self.text.push_str(&String::from_utf8(bytes).unwrap());
        if let Length::Chunked = self.length {
            let mut end = [0; 2];
            self.connection.read_exact(&mut end).await.unwrap();
            if length == 0 {
                self.length = Length::Ended;
            }
        }
        length > 0
    }
}

fn parse(block: &str) -> Sse {
    let mut event = Sse::default();
    for line in block.lines() {
        match line.split_once(':') {
            Some(("", _)) => event.comment = true,
            Some(("id", id)) => event.id = Some(id.trim().to_owned()),
            Some(("data", data)) => {
                event.is_reported = true;
                event.data.push_str(data.trim_start());
            }
            Some(_) | None => {}
        }
    }
    event
}
