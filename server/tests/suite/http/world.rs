//! A server in this process, on a port of its own.

use std::net::SocketAddr;
use std::sync::Arc;

use chat_core::config::{Limit, RateLimit, StickRule};
use chat_core::{Attendance, Config};
use serde_json::{Value, json};
use server::{guard, http, listener, web};
use server_chat::capacity::{self, Capacity};
use server_chat::driver::Running;
use server_chat::service::Service;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::http::client::{Answer, Client, Events};
use crate::stage::{self, within};

/// The configuration of a server.
#[derive(Debug, Default)]
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) http: http::HttpOptions,
    pub(crate) guard: guard::GuardOptions,
    pub(crate) limits: listener::ConnectionLimits,
    pub(crate) capacity: capacity::Limits,
}

impl Setup {
    /// A server with an optional stick, without a rate limit and a turn limit.
    pub(crate) fn free() -> Self {
        Self {
            config: Config {
                rate_limit: RateLimit::None,
                stick: StickRule::Optional,
                turn_limit: Limit::None,
                inbox_limit: 4_000,
                ..Config::default()
            },
            ..Self::default()
        }
    }
}

/// A running server.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) service: Service,
    pub(crate) closing: CancellationToken,
    pub(crate) running: Running,
    pub(crate) connections: JoinHandle<()>,
}

impl World {
    /// A server with a changed default setup.
    pub(crate) async fn with(change: impl FnOnce(&mut Setup)) -> Self {
        let mut setup = Setup::default();
        change(&mut setup);
        Self::start(setup).await
    }

    /// A server with a changed free setup.
    pub(crate) async fn free(change: impl FnOnce(&mut Setup)) -> Self {
        let mut setup = Setup::free();
        change(&mut setup);
        Self::start(setup).await
    }

    pub(crate) async fn start(setup: Setup) -> Self {
        let (service, running) = stage::service(setup.config);
        let service = service.within(Arc::new(Capacity::new(&setup.capacity)));
        let app = http::router(service.clone(), &setup.http).merge(web::router());
        let app = guard::wrap(app, service.clone(), setup.guard);
        let socket = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = socket.local_addr().expect("it is bound");
        let closing = setup.http.closing.clone();
        let connections = listener::serve(
            socket,
            app,
            (service.clone(), setup.limits),
            closing.clone(),
        );
        Self {
            address,
            service,
            closing,
            running,
            connections: tokio::spawn(connections),
        }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    /// Sends a request with this token, and a body unless it is null.
    pub(crate) async fn ask_as(&self, token: &str, line: (&str, &str), body: Value) -> Answer {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("Authorization", &*bearer),
            ("Content-Type", "application/json"),
        ];
        let body = match body.is_null() {
            true => String::new(),
            false => body.to_string(),
        };
        let mut client = self.client().await;
        client
            .request(line.0, line.1, &headers, body.as_bytes())
            .await
    }

    /// Gets a page with this token.
    pub(crate) async fn get_as(&self, token: &str, path: &str) -> Answer {
        self.ask_as(token, ("GET", path), Value::Null).await
    }

    /// Posts with this token.
    pub(crate) async fn post_as(&self, token: &str, path: &str, body: Value) -> Answer {
        self.ask_as(token, ("POST", path), body).await
    }

    /// Opens a session of the page with this token; returns its cookie and its proof.
    pub(crate) async fn session_as(&self, token: &str) -> (String, String) {
        let opened = self.post_as(token, "/session", Value::Null).await;
        let cookie = opened.header("set-cookie").expect("a cookie");
        let cookie = cookie.split(';').next().expect("a pair").to_owned();
        let proof = opened.json()["proof"].as_str().expect("a proof").to_owned();
        (cookie, proof)
    }

    /// Registers, and returns the content of the answer.
    pub(crate) async fn register(&self, name: &str) -> Registered {
        let mut client = self.client().await;
        let body = json!({ "username": name });
        let answer = client.post("/register", None, &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let text = |field: &str| answer.json()[field].as_str().expect(field).to_owned();
        Registered {
            handle: text("handle"),
            reader: text("reader_id"),
            user: text("user_id"),
            room: text("room_id"),
            client,
        }
    }

    /// Opens a stream that resumes after `after`.
    pub(crate) async fn events(&self, handle: &str, after: Option<u64>) -> Events {
        let path = after.map_or_else(
            || "/events".into(),
            |after| format!("/events?after={after}"),
        );
        let client = self.client().await;
        client.events(&path, &[("Chat-Handle", handle)]).await
    }

    /// Waits until so many checks wait.
    pub(crate) async fn until_parked(&self, wanted: usize) {
        let parked = async || self.service.node().look(|node| node.load().parked).await;
        within(async { while parked().await != Ok(wanted) {} }).await;
    }

    /// Waits until the participant has this presence and this number of streams.
    pub(crate) async fn until(&self, user: &str, presence: Attendance, streams: u32) {
        within(async {
            loop {
                let id = user.to_owned();
                let view = self.service.node().look(move |node| {
                    let user = node.hub.user_by_public_id(&id)?;
                    node.hub.participant_view(user)
                });
                let view = view.await.ok().flatten().expect("it is registered");
                if (view.presence, view.streams) == (presence, streams) {
                    break;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

/// A registered participant.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) handle: String,
    pub(crate) reader: String,
    pub(crate) user: String,
    pub(crate) room: String,
    pub(crate) client: Client,
}

impl Registered {
    pub(crate) async fn post(&mut self, path: &str, body: Value) -> Answer {
        let handle = self.handle.clone();
        self.client.post(path, Some(&handle), &body).await
    }

    /// Sends a message, which must be accepted.
    pub(crate) async fn say(&mut self, message: &str) {
        let answer = self.post("/send", json!({ "message": message })).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}
