//! One client on stdin and stdout: relayed to a server, or served here.
//!
//! Each of its lines should be a JSON text. One that is none is answered with an error, and the
//! conversation goes on. The library would leave it without an answer.

use std::borrow::Cow;
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use rmcp::model::ErrorData;
use rmcp::service::{DynService, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::{AsyncRwTransport, JsonRpcMessageCodec};
use rmcp::{RoleServer, ServiceExt as _};
use serde::de::IgnoredAny;
use server_chat::scope::CallerScope;
use server_chat::service::RequestOrigin;
use server_chat::task;
use server_chat::tools::of_toolsets;
use server_settings::cli::StdioArgs;
use server_settings::{DEFAULT_LISTEN, Settings};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder, FramedRead, LinesCodec, LinesCodecError};
use tokio_util::sync::CancellationToken;

use crate::mcp;
use crate::relay::{Relay, ServerKind, Upstream};
use crate::serve::{Core, ServeError};
use crate::wake::codex::CodexDoor;

/// How long a server on the default address may take to answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long calls may take that the client sent before it left. Then waiting checks and delayed
/// answers are answered as they are.
const PARTING: Duration = Duration::from_millis(250);

/// How long the driver may take to end after the client is gone.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// Why a client on stdio cannot be served.
type StdioError = Box<dyn std::error::Error + Send + Sync>;

/// Serves the client until it closes stdin.
///
/// # Errors
/// It cannot be served.
pub async fn run(args: &StdioArgs, settings: &Settings) -> Result<(), StdioError> {
    match server(args, DEFAULT_LISTEN).await? {
        Some(upstream) => {
            let door = CodexDoor::of(args, &upstream);
            joined(upstream, settings, door).await
        }
        None => alone(settings).await,
    }
}

/// The server to join; none if the client is served here. A program on the `usual` address may be
/// anything: it is identified first, and receives no token.
async fn server(args: &StdioArgs, usual: SocketAddr) -> Result<Option<Upstream>, StdioError> {
    match &*args.connect {
        "never" => Ok(None),
        "auto" if args.serve.says_anything() => Ok(None),
        "auto" => {
            let usual = Upstream::at(&format!("http://{usual}"), None)?;
            let base = &usual.base;
            match usual.find(PATIENCE).await {
                ServerKind::Server => Ok(Some(usual)),
                ServerKind::Guarded => Err(format!(
                    "the server at {base} asks for a token, which is never sent to a server that \
                     was only found: name it with --connect {base}, and give the token in \
                     TALKING_STICK_TOKEN"
                )
                .into()),
                ServerKind::Nothing => Ok(None),
            }
        }
        url => Ok(Some(Upstream::at(url, args.token.as_deref())?)),
    }
}

async fn joined(
    upstream: Upstream,
    settings: &Settings,
    door: Option<CodexDoor>,
) -> Result<(), StdioError> {
    tracing::info!(server = upstream.base, "this client joins a server");
    let tools = of_toolsets(&settings.toolsets);
    let relay = Relay::new(upstream, tools).observed_by(door);
    let _gone = relay.gone.clone().drop_guard();
    let parting = relay.gone.clone();
    converse(relay.into_dyn(), move || parting.cancel()).await
}

async fn alone(settings: &Settings) -> Result<(), StdioError> {
    tracing::info!(
        "this client is served here, alone: no other will meet it. Start `talking-stick`, and \
         clients on stdio join it"
    );
    let Core { service, running } = Core::start(settings)?;
    let options = mcp::McpOptions {
        silence: mcp::silence(&settings.limits),
        ..mcp::McpOptions::default()
    };
    let caller = RequestOrigin {
        token: Some(Arc::new(CallerScope::with_id("stdio"))),
        ..RequestOrigin::default()
    };
    let tools = service.tools(&settings.toolsets);
    let chat = mcp::Chat::over_stdio(service.clone(), tools, options, caller);
    let parting = service.clone();
    let stop = move || parting.node().stop(Instant::now() + LAST_MOMENT);
    let ended = converse(chat.into_dyn(), stop).await;
    service.node().stop(Instant::now() + LAST_MOMENT);
    running.ended().await.map_err(ServeError::from)?;
    ended
}

/// Speaks MCP on stdin and stdout until stdin closes, and then cancels waiting calls by `part`; or
/// until stdout cannot be written, because nobody hears an answer from then on.
async fn converse(
    handler: Box<dyn DynService<RoleServer>>,
    part: impl FnOnce() + Send + 'static,
) -> Result<(), StdioError> {
    let (stdin, stdout) = rmcp::transport::io::stdio_pipes();
    let unheard = CancellationToken::new();
    let ended = CancellationToken::new();
    let conversation = conversation((stdin, stdout), ended.clone(), unheard.clone());
    task::spawn(async move {
        ended.cancelled().await;
        tokio::time::sleep(PARTING).await;
        part();
    });
    let conversed = async {
        let serving = match handler.serve(conversation).await {
            Ok(serving) => serving,
            // The client left before `initialize`, which is no error.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => {
                return Err(format!("the client's first message is not MCP: {error}").into());
            }
        };
        let broken = "the conversation with the client broke off";
        let ended = serving.waiting().await;
        ended
            .map(drop)
            .map_err(|error| format!("{broken}: {error}").into())
    };
    tokio::select! {
        conversed = conversed => conversed,
        () = unheard.cancelled() => Ok(()),
    }
}

/// The largest line in bytes; a line is a message of a local client.
const MAX_LINE: usize = 1 << 20;

/// A message of the client, or what is wrong with its line.
type Read = Result<RxJsonRpcMessage<RoleServer>, ErrorData>;

/// Reads a line. None for a blank line, and for a notification that the library ignores.
fn read(line: &str) -> Option<Read> {
    let text = line.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return None;
    }
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return Some(Err(unreadable(format!("a line is not JSON: {error}"))));
    }
    let mut line = BytesMut::from(&*format!("{text}\n"));
    match JsonRpcMessageCodec::default().decode(&mut line) {
        Ok(message) => message.map(Ok),
        Err(_) => Some(Err(ErrorData::invalid_request("Invalid request", None))),
    }
}

fn unreadable(why: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::parse_error(why, None)
}

/// Reads the messages in lines, and says of a broken line what is wrong with it. That is no error of the
/// input, after which the rest of what was read would wait for more.
struct Lines(LinesCodec);

impl Decoder for Lines {
    type Item = Read;
    type Error = Error;

    fn decode(&mut self, bytes: &mut BytesMut) -> Result<Option<Read>, Error> {
        loop {
            let read = match self.0.decode(bytes) {
                Ok(None) => return Ok(None),
                Ok(Some(line)) => read(&line),
                Err(LinesCodecError::MaxLineLengthExceeded) => {
                    let why = format!("a line has more than {MAX_LINE} bytes");
                    Some(Err(unreadable(why)))
                }
                Err(LinesCodecError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
                    Some(Err(unreadable("a line is not text in UTF-8")))
                }
                Err(LinesCodecError::Io(error)) => return Err(error),
            };
            if read.is_some() {
                return Ok(read);
            }
        }
    }

    /// A last line without an end was cut off: it has no effect.
    fn decode_eof(&mut self, bytes: &mut BytesMut) -> Result<Option<Read>, Error> {
        let read = self.decode(bytes)?;
        if read.is_none() {
            bytes.clear();
        }
        Ok(read)
    }
}

/// The conversation with a client.
struct Conversation<R, T> {
    input: FramedRead<R, Lines>,
    output: T,
    ended: CancellationToken,
    unheard: CancellationToken,
    /// An answer to a broken line that is being written. Until its client has read it, no line is read.
    answer: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

/// Reads lines from `input`, whose end cancels `ended`, and writes to `output`, whose first error cancels
/// `unheard`.
fn conversation<R, W>(
    (input, output): (R, W),
    ended: CancellationToken,
    unheard: CancellationToken,
) -> Conversation<R, impl Transport<RoleServer, Error = Error>>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    // The end of the line counts, too.
    let lines = Lines(LinesCodec::new_with_max_length(MAX_LINE - 1));
    Conversation {
        input: FramedRead::new(input, lines),
        output: AsyncRwTransport::new(tokio::io::empty(), output),
        ended,
        unheard,
        answer: None,
    }
}

impl<R, T> Transport<RoleServer> for Conversation<R, T>
where
    R: AsyncRead + Send + Unpin + 'static,
    T: Transport<RoleServer>,
{
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (sent, unheard) = (self.output.send(message), self.unheard.clone());
        async move {
            let sent = sent.await;
            if sent.is_err() {
                unheard.cancel();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // What polls this may stop at any time, and call it again.
            if let Some(answer) = &mut self.answer {
                answer.await;
                self.answer = None;
            }
            let Some(Ok(read)) = self.input.next().await else {
                self.ended.cancel();
                return None;
            };
            match read {
                Ok(message) => return Some(message),
                Err(error) => {
                    let sent = self.send(TxJsonRpcMessage::<RoleServer>::error(error, None));
                    self.answer = Some(Box::pin(async move {
                        let _ = sent.await;
                    }));
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.output.close().await
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use server_settings::cli::{Cli, Command};
    use tokio::io::{
        AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, duplex, split,
    };
    use tokio::net::TcpListener;

    use super::*;

    fn args(words: &[&str]) -> StdioArgs {
        let words = [&["talking-stick", "stdio"], words].concat();
        match Cli::parse_from(words).command {
            Some(Command::Stdio(args)) => *args,
            other => panic!("{other:?}"),
        }
    }

    /// Runs against a listener that gives this answer; also returns the request that it received.
    async fn asked_of(answer: &'static str) -> (Result<Option<Upstream>, StdioError>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let usual = listener.local_addr().unwrap();
        let sent = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut sent = vec![0; 4_096];
            let length = stream.read(&mut sent).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&sent[..length]).to_lowercase()
        });
        let found = server(&args(&["--token", "sesame"]), usual).await;
        (found, sent.await.unwrap())
    }

    #[tokio::test]
    async fn what_listens_on_the_usual_address_is_sent_no_token() {
        let stranger = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        let (found, sent) = asked_of(stranger).await;
        assert!(matches!(found, Ok(None)), "{found:?}");
        assert!(
            !sent.contains("sesame") && !sent.contains("authorization"),
            "{sent}"
        );
        let guarded = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 35\r\n\r\n\
                       {\"error\":{\"code\":\"token_required\"}}";
        let (found, sent) = asked_of(guarded).await;
        let why = found.unwrap_err().to_string();
        assert!(why.contains("--connect http://127.0.0.1:"), "{why}");
        assert!(!sent.contains("sesame"), "{sent}");
        let ours = "HTTP/1.1 200 OK\r\ncontent-length: 34\r\n\r\n\
                    {\"info\":{\"title\":\"Talking Stick\"}}";
        let (found, sent) = asked_of(ours).await;
        assert!(matches!(found, Ok(Some(_))), "{found:?}");
        assert!(!sent.contains("sesame"), "{sent}");
    }

    #[tokio::test]
    async fn what_is_no_json_is_answered_and_the_next_line_is_taken() {
        let (client, server) = duplex(4 * MAX_LINE);
        let ended = CancellationToken::new();
        let mut served = conversation(split(server), ended.clone(), CancellationToken::new());
        let (read, mut write) = split(client);
        let mut answers = BufReader::new(read).lines();
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        let long = vec![b'x'; MAX_LINE + 9];
        for broken in [&b"hello"[..], b"{\"a\":", b"\xff", b"\"\xff\"", b"[", &long] {
            write.write_all(b"\n \r\n").await.unwrap();
            write.write_all(broken).await.unwrap();
            write
                .write_all(format!("\n{ping}").as_bytes())
                .await
                .unwrap();
            assert!(served.receive().await.is_some());
            let answer = answers.next_line().await.unwrap().unwrap();
            let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
            assert_eq!(answer["error"]["code"], -32_700, "{answer}");
            assert_eq!(answer.get("id"), None, "{answer}");
        }
        assert!(!ended.is_cancelled());
        write.write_all(ping.trim().as_bytes()).await.unwrap();
        write.shutdown().await.unwrap();
        let cut_off = served.receive().await;
        assert!(cut_off.is_none() && ended.is_cancelled());
    }

    #[tokio::test]
    async fn a_client_that_reads_no_answer_is_read_no_further() {
        let (client, server) = duplex(256);
        let never = CancellationToken::new();
        let mut served = conversation(split(server), never.clone(), never);
        let (_unread, mut write) = split(client);
        let mut written = 0;
        // JSON that is no message: the library answers it.
        let writes = async {
            while write.write_all(b"{}\n").await.is_ok() {
                written += 3;
            }
        };
        let turns = async {
            for _ in 0..10_000 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            _ = served.receive() => panic!("there is no message"),
            () = writes => panic!("the server ended"),
            () = turns => {}
        }
        assert!(written < 64 << 10, "{written} bytes were read");
    }
}
