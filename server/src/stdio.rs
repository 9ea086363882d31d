//! One client on stdin and stdout: joined to a server, or served here.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use chat_core::Address;
use rmcp::ServiceExt as _;
use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

use crate::cli::{Connect, StdioArgs};
use crate::mcp;
use crate::relay::{Relay, Upstream, UpstreamError};
use crate::serve::{Core, ServeError};
use crate::settings::{DEFAULT_LISTEN, Settings};
use crate::tools::of_toolsets;

/// How long a server on the default address may take to say that it is there.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long calls may take that the client had sent before it left. Then those that still wait, for
/// events or under the eyes of the boss, are answered as they are.
const PARTING: Duration = Duration::from_millis(250);

/// How long the driver may take to end once the client is gone.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// Why a client on stdio is not served, or not any more.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message says what the fields are")]
pub enum StdioError {
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    #[error("the client's first words are no MCP: {0}")]
    Handshake(String),
    #[error("the conversation with the client broke off: {0}")]
    Broken(String),
}

/// Serves the client until it closes stdin.
///
/// # Errors
/// When it cannot be served.
pub async fn run(args: &StdioArgs, settings: &Settings) -> Result<(), StdioError> {
    match server(args).await? {
        Some(upstream) => joined(upstream, settings).await,
        None => alone(settings).await,
    }
}

/// The server to join; none when the client is served here.
async fn server(args: &StdioArgs) -> Result<Option<Upstream>, StdioError> {
    let token = args.token.as_deref();
    match &args.connect {
        Connect::Never => Ok(None),
        Connect::Url(url) => Ok(Some(Upstream::at(url, token)?)),
        Connect::Auto if args.serve.says_anything() => Ok(None),
        Connect::Auto => {
            let default = Upstream::at(&format!("http://{DEFAULT_LISTEN}"), token)?;
            Ok(default.is_there(PATIENCE).await.then_some(default))
        }
    }
}

async fn joined(upstream: Upstream, settings: &Settings) -> Result<(), StdioError> {
    tracing::info!(server = upstream.base(), "this client joins a server");
    let relay = Relay::new(upstream, of_toolsets(&settings.toolsets));
    let parting = relay.clone();
    let ended = converse(relay.clone(), move || parting.part()).await;
    relay.clean_up().await;
    ended
}

async fn alone(settings: &Settings) -> Result<(), StdioError> {
    tracing::info!(
        "this client is served here, alone: no other will meet it. Start `talking-stick`, and \
         clients on stdio join it"
    );
    let Core { service, running } = Core::start(settings)?;
    let options = mcp::Options::new(
        std::sync::Arc::new(|_| mcp::Caller::default()),
        CancellationToken::new(),
    );
    let caller = mcp::Caller {
        address: Address(0),
        seat: Some(std::sync::Arc::default()),
    };
    let tools = of_toolsets(&settings.toolsets);
    let chat = mcp::Chat::over_stdio(service.clone(), tools, &options, caller);
    let parting = service.clone();
    let stop = move || parting.node().stop(Instant::now() + LAST_MOMENT);
    let ended = converse(chat, stop).await;
    service.node().stop(Instant::now() + LAST_MOMENT);
    running.ended().await.map_err(ServeError::from)?;
    ended
}

/// Speaks MCP on stdin and stdout until stdin closes, and then ends by `part` what still waits.
async fn converse<H: rmcp::ServerHandler>(
    handler: H,
    part: impl FnOnce() + Send + 'static,
) -> Result<(), StdioError> {
    let (stdin, stdout) = rmcp::transport::io::stdio_pipes();
    let ended = CancellationToken::new();
    let stdin = Watched {
        inner: stdin,
        ended: ended.clone(),
    };
    tokio::spawn(async move {
        ended.cancelled().await;
        tokio::time::sleep(PARTING).await;
        part();
    });
    let serving = match handler.serve((stdin, stdout)).await {
        Ok(serving) => serving,
        // It left before it said anything, which is its right.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(StdioError::Handshake(error.to_string())),
    };
    match serving.waiting().await {
        Ok(_) => Ok(()),
        Err(error) => Err(StdioError::Broken(error.to_string())),
    }
}

/// Standard input, which tells when it has ended.
struct Watched<R> {
    inner: R,
    ended: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, into);
        let is_over = match &polled {
            Poll::Ready(Ok(())) => into.remaining() > 0 && into.filled().len() == before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if is_over {
            self.ended.cancel();
        }
        polled
    }
}
