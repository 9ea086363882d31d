//! HTTP as bytes on a connection, so that a test sees exactly what the server sends.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::net::TcpSocket;

use crate::http::client::Client;
use crate::stage::within;

/// A response whose body is not read yet.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
}

/// The unread body of a response.
pub(crate) struct Body {
    client: Client,
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
    let client = Client::connect(server).await;
    exchange(client, (method, path), headers, body).await
}

/// Like `request`, on a connection with a very small receive buffer.
pub(crate) async fn request_narrow(
    server: SocketAddr,
    line: (&str, &str),
    headers: &[(&str, &str)],
) -> Reply {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(2_048).unwrap();
    let client = Client::over(socket.connect(server).await.unwrap(), server);
    exchange(client, line, headers, b"").await
}

async fn exchange(
    mut client: Client,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: &[u8],
) -> Reply {
    let head = client.head(method, path, headers, Some(body.len()));
    client.write(&[head.as_bytes(), body].concat()).await;
    let (status, headers) = within(client.read_head()).await;
    let length = match headers.iter().find(|(name, _)| name == "content-length") {
        Some((_, length)) => Length::Known(length.parse().unwrap()),
        None => Length::Chunked,
    };
    Reply {
        status,
        headers,
        body: Body {
            client,
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
        within(self.next_event()).await
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

    /// The next protocol message of a stream that goes on.
    pub(crate) async fn pushed(&mut self) -> Value {
        self.message().await.expect("the stream stays open").1
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
        let bytes = match self.length {
            Length::Known(length) => {
                self.length = Length::Ended;
                self.client.exact(length).await
            }
            Length::Chunked => self.client.chunk().await,
            Length::Ended | Length::Cut => return false,
        };
        let Some(bytes) = bytes else {
            self.length = Length::Cut;
            return false;
        };
        let is_last = bytes.is_empty();
        self.text.push_str(&String::from_utf8(bytes).unwrap());
        if is_last {
            self.length = Length::Ended;
        }
        !is_last
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
