//! An HTTP/1.1 client that implements only what the tests need.

#[cfg(target_os = "linux")]
use std::net::Ipv4Addr;
use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
#[cfg(target_os = "linux")]
use tokio::net::TcpSocket;
use tokio::net::TcpStream;

use crate::stage::within;

/// A connection.
#[derive(Debug)]
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    host: String,
}

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let named = |(key, _): &&(String, String)| key == name;
        self.headers.iter().find(named).map(|(_, value)| &**value)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    /// The error code of a refusal.
    pub(crate) fn code(&self) -> String {
        let json = self.json();
        assert_eq!(self.header("content-type"), Some("application/json"));
        let error = &json["error"];
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{json}"
        );
        error["code"].as_str().expect("a code").to_owned()
    }

    /// Checks that it is a refusal with this status and code.
    #[track_caller]
    pub(crate) fn refuses(&self, status: u16, code: &str) {
        let refused = (self.status, &*self.code());
        assert_eq!(refused, (status, code), "{}", self.text());
    }
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = within(TcpStream::connect(address)).await;
        Self::over(stream.expect("it listens"), address)
    }

    /// Connects from this address of the machine.
    #[cfg(target_os = "linux")]
    pub(crate) async fn connect_from(from: Ipv4Addr, address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        let bound = socket.bind((from, 0).into());
        bound.expect("an address of this machine");
        let stream = within(socket.connect(address)).await;
        Self::over(stream.expect("it listens"), address)
    }

    pub(crate) fn over(stream: TcpStream, address: SocketAddr) -> Self {
        stream.set_nodelay(true).expect("a socket");
        Self {
            stream: BufReader::new(stream),
            host: address.to_string(),
        }
    }

    /// Sends these bytes unchanged.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        // The server may have closed the connection already; its response decides.
        let _ = within(self.stream.get_mut().write_all(bytes)).await;
    }

    /// Sends a request with these headers and this body.
    pub(crate) async fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let head = self.head(method, path, headers, Some(body.len()));
        self.write(&[head.as_bytes(), body].concat()).await;
        self.answer(method).await
    }

    pub(crate) fn head(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        length: Option<usize>,
    ) -> String {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            head += &format!("Host: {}\r\n", self.host);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if let Some(length) = length.filter(|length| *length > 0 || method == "POST") {
            head += &format!("Content-Length: {length}\r\n");
        }
        head + "\r\n"
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.request("GET", path, &[], b"").await
    }

    pub(crate) async fn post(&mut self, path: &str, handle: Option<&str>, body: &Value) -> Answer {
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend(handle.map(|handle| ("Chat-Handle", handle)));
        let body = body.to_string();
        self.request("POST", path, &headers, body.as_bytes()).await
    }

    /// Reads a response.
    pub(crate) async fn answer(&mut self, method: &str) -> Answer {
        within(self.read(method)).await
    }

    async fn read(&mut self, method: &str) -> Answer {
        let (status, headers) = self.read_head().await;
        let mut answer = Answer {
            status,
            headers,
            body: Vec::new(),
        };
        let length = answer
            .header("content-length")
            .map(|text| text.parse().expect("a length"));
        match length {
            Some(length) if method != "HEAD" => {
                answer.body = self.exact(length).await.expect("the body is whole");
            }
            Some(_) | None => {}
        }
        answer
    }

    pub(crate) async fn read_head(&mut self) -> (u16, Vec<(String, String)>) {
        let status = self.line().await;
        let status = status
            .split(' ')
            .nth(1)
            .unwrap_or_else(|| panic!("no status: {status:?}"));
        let status = status.parse().expect("a status is a number");
        let mut headers = Vec::new();
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(": ") else {
                return (status, headers);
            };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
    }

    /// A line without its end; empty when the connection ended.
    async fn line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.stream.read_line(&mut line).await;
        line.trim_end().to_owned()
    }

    /// Reads so many bytes; `None` when the connection ended first.
    pub(crate) async fn exact(&mut self, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).await.ok()?;
        Some(bytes)
    }

    /// Reads one chunk (RFC 9112, section 7.1), of which the last one is empty; `None` when the
    /// connection ended first.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line().await, 16).ok()?;
        let mut chunk = self.exact(length + 2).await?;
        chunk.truncate(length);
        Some(chunk)
    }

    /// Reads at most so many bytes, and returns how many came; `None` when the server closed the
    /// connection.
    pub(crate) async fn some(&mut self, most: usize) -> Option<usize> {
        let mut bytes = vec![0; most];
        // A connection that is cut may also end with an error.
        let read = within(self.stream.read(&mut bytes)).await.unwrap_or(0);
        (read > 0).then_some(read)
    }

    /// Reads everything until the server closes the connection.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A connection that is cut may also end with an error.
        let _ = within(self.stream.read_to_end(&mut rest)).await;
        rest
    }

    /// Opens an event stream.
    pub(crate) async fn events(mut self, path: &str, headers: &[(&str, &str)]) -> Events {
        let head = self.head("GET", path, headers, None);
        self.write(head.as_bytes()).await;
        let (status, headers) = within(self.read_head()).await;
        assert_eq!(status, 200, "{path}");
        let kind = ("content-type".to_owned(), "text/event-stream".to_owned());
        assert!(headers.contains(&kind), "{headers:?}");
        Events {
            client: self,
            text: String::new(),
        }
    }
}

/// An open event stream.
#[derive(Debug)]
pub(crate) struct Events {
    client: Client,
    text: String,
}

/// One block of the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) id: Option<u64>,
    pub(crate) event: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) comments: Vec<String>,
}

impl Block {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.data.as_ref().expect("it has data")).expect("data is JSON")
    }

    pub(crate) fn is(&self, kind: &str) -> bool {
        self.event.as_deref() == Some(kind)
    }
}

impl Events {
    /// The next block; `None` at the end of the stream.
    pub(crate) async fn block(&mut self) -> Option<Block> {
        within(async {
            loop {
                if let Some((block, rest)) = self.text.split_once("\n\n") {
                    let (block, rest) = (parsed(block), rest.to_owned());
                    self.text = rest;
                    return Some(block);
                }
                let chunk = self.client.chunk().await.unwrap_or_default();
                if chunk.is_empty() {
                    assert_eq!(self.text, "", "the stream ended in the middle of a block");
                    return None;
                }
                self.text += std::str::from_utf8(&chunk).expect("chunks are whole characters here");
            }
        })
        .await
    }

    /// The next event; comments and the opening block are skipped.
    pub(crate) async fn event(&mut self) -> Option<Block> {
        within(async {
            loop {
                match self.block().await {
                    Some(block) if block.event.is_none() => {}
                    other => return other,
                }
            }
        })
        .await
    }

    /// The next event of this kind; others are skipped.
    pub(crate) async fn until(&mut self, kind: &str) -> Block {
        loop {
            let event = self.event().await.expect("it is open");
            if event.is(kind) {
                return event;
            }
        }
    }
}

fn parsed(text: &str) -> Block {
    let mut block = Block::default();
    for line in text.split('\n') {
        match line.split_once(": ").expect("a field or a comment") {
            ("", comment) => block.comments.push(comment.into()),
            ("id", id) => block.id = Some(id.parse().expect("ids are seqs")),
            ("event", kind) => block.event = Some(kind.into()),
            ("data", data) => block.data = Some(data.into()),
            ("retry", ms) => assert!(ms.parse::<u64>().is_ok()),
            (other, _) => panic!("no field of events: {other}"),
        }
    }
    block
}
