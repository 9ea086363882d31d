//! A TCP proxy: one edge of the network, which can be cut and slowed in each direction.
//!
//! What a cut holds back is carried when the cut heals, as TCP does after a partition: bytes, the
//! opening of connections and their end.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::{Duration, Instant, timeout_at};

/// The number of bytes that are carried at once.
const CHUNK: usize = 16 << 10;

/// The number of chunks on their way in one direction of a connection.
const ON_THE_WAY: usize = 64;

/// What happens to bytes in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Flow {
    /// They pass at once.
    #[default]
    Open,
    /// Each passes after this time.
    Delayed(Duration),
    /// None passes until it is mended.
    Cut,
    /// None passes, and what came meanwhile is lost with its connection.
    Lost,
}

/// A direction, seen from the side that opens connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Both,
    There,
    Back,
}

impl Way {
    /// This direction, named from the side that accepts connections.
    pub(crate) const fn reversed(self) -> Self {
        match self {
            Self::Both => Self::Both,
            Self::There => Self::Back,
            Self::Back => Self::There,
        }
    }
}

/// A proxy in front of one port. It accepts until its runtime ends.
pub(crate) struct Proxy {
    port: u16,
    there: watch::Sender<Flow>,
    back: watch::Sender<Flow>,
}

impl Proxy {
    /// Starts a proxy in front of a port of this machine.
    pub(crate) fn start(runtime: &Handle, to: u16) -> Self {
        let bound = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = bound.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let ((there, there_now), (back, back_now)) =
            (watch::channel(Flow::Open), watch::channel(Flow::Open));
        let to = SocketAddr::from(([127, 0, 0, 1], to));
        runtime.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, to, there_now.clone(), back_now.clone()));
            }
        });
        Self { port, there, back }
    }

    /// The port on which it listens.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Sets what happens to bytes, also those of open connections.
    pub(crate) fn set(&self, way: Way, flow: Flow) {
        if way != Way::Back {
            self.there.send_replace(flow);
        }
        if way != Way::There {
            self.back.send_replace(flow);
        }
    }
}

/// Carries the bytes of one connection. An end of one direction is passed on; a failure of either
/// ends both connections.
async fn carry(
    client: TcpStream,
    to: SocketAddr,
    mut there: watch::Receiver<Flow>,
    mut back: watch::Receiver<Flow>,
) {
    for flow in [&mut there, &mut back] {
        if pass(flow, Instant::now()).await.is_err() {
            return;
        }
    }
    let Ok(server) = TcpStream::connect(to).await else {
        return;
    };
    if client.set_nodelay(true).is_err() || server.set_nodelay(true).is_err() {
        return;
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let _ = tokio::try_join!(
        pump(from_client, to_server, there),
        pump(from_server, to_client, back)
    );
}

/// The connection has failed.
struct Broken;

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut flow: watch::Receiver<Flow>,
) -> Result<(), Broken> {
    let (give, mut take) = mpsc::channel(ON_THE_WAY);
    let read = async move {
        loop {
            let mut chunk = vec![0; CHUNK];
            let read = from.read(&mut chunk).await;
            let count = read.as_ref().copied().unwrap_or_default();
            chunk.truncate(count);
            let arrived = (Instant::now(), read.map(|_| chunk));
            if give.send(arrived).await.is_err() || count == 0 {
                return Ok(());
            }
        }
    };
    let write = async move {
        while let Some((at, arrived)) = take.recv().await {
            pass(&mut flow, at).await?;
            let chunk: Vec<u8> = arrived.map_err(|_| Broken)?;
            let written = match chunk.is_empty() {
                true => to.shutdown().await,
                false => to.write_all(&chunk).await,
            };
            written.map_err(|_| Broken)?;
        }
        Ok(())
    };
    tokio::try_join!(read, write).map(|_| ())
}

/// Waits until what arrived at this instant passes.
async fn pass(flow: &mut watch::Receiver<Flow>, at: Instant) -> Result<(), Broken> {
    loop {
        let now = *flow.borrow_and_update();
        let changed = match now {
            Flow::Open => return Ok(()),
            Flow::Delayed(delay) => match timeout_at(at + delay, flow.changed()).await {
                Ok(changed) => changed,
                Err(_) => return Ok(()),
            },
            Flow::Cut => flow.changed().await,
            Flow::Lost => {
                // The proxy may be gone meanwhile, too.
                let _ = flow.changed().await;
                return Err(Broken);
            }
        };
        changed.map_err(|_| Broken)?;
    }
}
