//! Measures what a cluster costs: sends at one server and at members, by different doors, in turns, and
//! the processor time that each process needs for a send.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::process::{Child, Command};

use crate::durable::folder;
use crate::server::Server;
use crate::turns::{Load, Turns, both, senders};
use crate::wire::{Connection, request};
use crate::{Outcome, median};

/// The program of the log's servers, below the build folder.
const NATS: &str = "nats-server-2.15.1/bin/nats-server";

/// The metric of the member that takes calls.
const LEASE: &str = "talking_stick_cluster_lease{realm=";

/// How long a member has until it owns its log.
const OWNED: Duration = Duration::from_secs(30);

#[derive(Debug, clap::Args)]
pub(crate) struct ClusterArgs {
    /// Connections, each with one request in flight
    #[arg(long, default_value_t = 96)]
    connections: usize,
    #[command(flatten)]
    turns: Turns,
    /// The folder for the journals and the log: its file system is measured
    #[arg(long, value_name = "DIR", default_value = "target/load")]
    folder: PathBuf,
}

/// Servers of a log. They are killed on drop.
struct Nats {
    addresses: Vec<String>,
    children: Vec<Child>,
}

pub(crate) async fn run(args: &ClusterArgs) -> Outcome<()> {
    let folder = folder(&args.folder)?;
    let data = folder.path().join("alone").to_string_lossy().into_owned();
    let alone = Server::start(&["--data", &data]).await?;
    let single = Nats::start(1, &folder.path().join("single")).await?;
    let three = Nats::start(3, &folder.path().join("three")).await?;
    let one = members(&single, "main", 1).await?;
    let all = members(&three, "main", 3).await?;
    let mut realms = Vec::new();
    for realm in ["one", "two", "three"] {
        realms.extend(members(&three, realm, 1).await?);
    }
    let mut loads = vec![
        loaded("one server, fsync", &[&alone], Vec::new(), args).await?,
        loaded("one member, one NATS", &[&one[0]], single.named(), args).await?,
    ];
    loads.extend(by_doors(&all, &three, args).await?);
    let doors: Vec<_> = realms.iter().collect();
    loads.push(loaded("three realms, three owners", &doors, three.named(), args).await?);
    for _ in 0..args.turns.rounds {
        for load in &mut loads {
            load.saturate(args.turns.span()).await?;
            load.quiet(args.turns.span()).await?;
        }
    }
    println!(
        "\n{:<28}{:>8}{:>21}{:>21}  processor time of a send",
        "", "sends/s", "saturated p50, p99", "quiet p50, p99"
    );
    for load in &loads {
        let cost =
            |(what, costs): (&&str, &Vec<f64>)| format!("{what} {:.0} µs", median(costs.clone()));
        let costs: Vec<_> = load.costs.iter().map(cost).collect();
        let (name, rate, costs) = (load.name, load.rate(), costs.join(", "));
        let [busy, _, quiet] = load.waits.each_ref().map(both);
        println!("{name:<28}{rate:>8.0}{busy:>21}{quiet:>21}  {costs}");
    }
    Ok(())
}

/// The loads of three members of one realm: by the owner's door, by another one, and by all.
async fn by_doors(members: &[Server], nats: &Nats, args: &ClusterArgs) -> Outcome<Vec<Load>> {
    let owner = owner_of(members).await?;
    let order = [owner, (owner + 1) % 3, (owner + 2) % 3];
    let [owner, second, third] = order.map(|number| &members[number]);
    let mut processes = nats.named();
    let doors = [("doors", second.id()?), ("doors", third.id()?)];
    processes.extend([("owner", owner.id()?)].into_iter().chain(doors));
    // A handle of one door is valid at each.
    let requests = senders(owner, args.connections).await?;
    let mut loads = Vec::new();
    for (name, doors) in [
        ("three, by the owner", &[owner][..]),
        ("three, by one follower", &[second]),
        ("three, by all", &[owner, second, third]),
    ] {
        let doors = doors.iter().map(|door| door.address).cycle();
        let requests = doors.zip(requests.iter().map(|(_, request)| request.clone()));
        loads.push(Load {
            processes: processes.clone(),
            ..Load::new(name, requests.collect())?
        });
    }
    Ok(loads)
}

/// A load whose connections are spread over these servers, each with participants of its own.
async fn loaded(
    name: &'static str,
    servers: &[&Server],
    mut processes: Vec<(&'static str, u32)>,
    args: &ClusterArgs,
) -> Outcome<Load> {
    let each = args.connections / servers.len();
    let mut requests = Vec::new();
    for server in servers {
        requests.extend(senders(server, each).await?);
        processes.push(("owner", server.id()?));
    }
    Ok(Load {
        processes,
        ..Load::new(name, requests)?
    })
}

/// Starts this many members of a realm. One of them owns its log, so all are ready to take calls.
async fn members(nats: &Nats, realm: &str, count: usize) -> Outcome<Vec<Server>> {
    let servers = nats.addresses.join(",");
    let mut members = Vec::new();
    for number in 0..count {
        let name = format!("{realm}-{number}");
        let flags = [
            &["--cluster", &servers, "--cluster-trust-servers"][..],
            &["--cluster-realm", realm, "--cluster-member", &name],
        ];
        members.push(Server::start(&flags.concat()).await?);
    }
    owner_of(&members).await?;
    Ok(members)
}

/// Waits until one of them is the owner; returns its number.
async fn owner_of(members: &[Server]) -> Outcome<usize> {
    let began = Instant::now();
    while began.elapsed() < OWNED {
        for (number, member) in members.iter().enumerate() {
            let mut connection = Connection::open(member.address).await?;
            let asked = request("GET /metrics", &[], &Value::Null);
            let answer = connection.exchange(&asked).await?;
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            let mut lines = text.lines();
            if lines.any(|line| line.starts_with(LEASE) && line.ends_with(" 1")) {
                return Ok(number);
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err("no member owns the log".into())
}

impl Nats {
    /// Starts this many servers, which form a cluster unless there is one.
    async fn start(count: usize, folder: &Path) -> Outcome<Self> {
        let program = std::env::current_exe()?;
        let program = program.ancestors().map(|folder| folder.join(NATS));
        let program = { program }.find(|path| path.exists()).ok_or_else(|| {
            format!("{NATS} is not there: `cargo xtask test --only cluster` installs it")
        })?;
        fs::create_dir_all(folder)?;
        let ports = free_ports(2 * count)?;
        let routes = ports[count..].iter();
        let routes: Vec<_> = routes
            .map(|port| format!("nats-route://127.0.0.1:{port}"))
            .collect();
        let (mut addresses, mut children) = (Vec::new(), Vec::new());
        for number in 0..count {
            let (port, route) = (ports[number], ports[count + number]);
            let store = folder.join(format!("n{number}"));
            let mut text = format!(
                "server_name: n{number}\nlisten: 127.0.0.1:{port}\nmax_payload: 9MB\n\
                 jetstream {{ store_dir: {store:?}\n sync_interval: always }}\n"
            );
            if count > 1 {
                let routes = routes.join(", ");
                text += &format!(
                    "cluster {{ name: ts\n listen: 127.0.0.1:{route}\n routes: [{routes}] }}\n"
                );
            }
            let settings = store.with_extension("conf");
            fs::write(&settings, text)?;
            let mut command = Command::new(&program);
            command.arg("--config").arg(&settings).kill_on_drop(true);
            command.stdin(Stdio::null()).stderr(Stdio::null());
            children.push(command.spawn()?);
            addresses.push(format!("nats://127.0.0.1:{port}"));
        }
        Ok(Self {
            addresses,
            children,
        })
    }

    fn named(&self) -> Vec<(&'static str, u32)> {
        let ids = self.children.iter().filter_map(Child::id);
        ids.map(|id| ("NATS", id)).collect()
    }
}

fn free_ports(count: usize) -> std::io::Result<Vec<u16>> {
    let bound = (0..count).map(|_| TcpListener::bind("127.0.0.1:0"));
    let bound: Vec<_> = bound.collect::<Result<_, _>>()?;
    let ports = bound.iter().map(|socket| Ok(socket.local_addr()?.port()));
    ports.collect()
}
