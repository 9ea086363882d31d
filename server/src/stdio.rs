//! One client on stdin and stdout: relayed to a server, or served here.

mod lines;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::service::DynService;
use rmcp::{RoleServer, ServiceExt as _};
use server_chat::scope::CallerScope;
use server_chat::service::RequestOrigin;
use server_chat::task;
use server_chat::tools::of_toolsets;
use server_settings::cli::StdioArgs;
use server_settings::{DEFAULT_LISTEN, Settings};
use tokio_util::sync::CancellationToken;

use crate::mcp;
use crate::relay::{Relay, ServerKind, Upstream};
use crate::serve::{Core, ServeError};

use lines::lines;

/// How long a server on the default address may take to answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long calls may take that the client sent before it left. Then waiting checks and delayed
/// answers are answered as they are.
const PARTING: Duration = Duration::from_millis(250);

/// How long the driver may take to end after the client is gone.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// Why a client on stdio cannot be served.
type StdioError = Box<dyn std::error::Error>;

/// Serves the client until it closes stdin.
///
/// # Errors
/// It cannot be served.
pub async fn run(args: &StdioArgs, settings: &Settings) -> Result<(), StdioError> {
    match server(args, DEFAULT_LISTEN).await? {
        Some(upstream) => joined(upstream, settings).await,
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
                    "the server at {base} asks for a token, and a token is sent to no server that \
                     was only found there: name it with --connect {base}, and give the token in \
                     TALKING_STICK_TOKEN"
                )
                .into()),
                ServerKind::Nothing => Ok(None),
            }
        }
        url => Ok(Some(Upstream::at(url, args.token.as_deref())?)),
    }
}

async fn joined(upstream: Upstream, settings: &Settings) -> Result<(), StdioError> {
    tracing::info!(server = upstream.base, "this client joins a server");
    let tools = of_toolsets(&settings.toolsets);
    let relay = Relay::new(upstream, tools, settings.output_schemas);
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
        output_schemas: settings.output_schemas,
        silence: mcp::silence(&settings.limits),
        ..mcp::McpOptions::new(
            Arc::new(|_| RequestOrigin::default()),
            CancellationToken::new(),
        )
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
    let conversation = lines((stdin, stdout), ended.clone(), unheard.clone());
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
                return Err(format!("the client's first words are no MCP: {error}").into());
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use server_settings::cli::{Cli, Command};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
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
}
