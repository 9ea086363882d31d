//! Agents that chat in pairs through one relay, in turmoil's virtual network.
//!
//! It has the load of `benches/scenarios/pairs.yaml` and nothing else: messages are not checked,
//! kept or retried. Its arguments are the number of users and the seconds of virtual time. It
//! prints the number of messages that arrived, and the microseconds that the run took.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use turmoil::net::tcp::OwnedWriteHalf;
use turmoil::net::{TcpListener, TcpStream};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Done<T> = Result<T, Box<dyn std::error::Error>>;

const PORT: u16 = 9_000;

/// The time between two messages of one user.
const THINK: Duration = Duration::from_millis(300);

/// The network delay.
const LATENCY: Duration = Duration::from_millis(20);

fn main() -> Done<()> {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .map(|word| word.parse())
        .collect::<Result<_, _>>()?;
    let [users, seconds] = numbers[..] else {
        return Err("give the numbers of users and seconds".into());
    };
    let began = Instant::now();
    let arrived = chat(users, Duration::from_secs(seconds))?;
    println!("{arrived} {}", began.elapsed().as_micros());
    Ok(())
}

/// Runs the chat for this long, and returns the number of messages that arrived.
fn chat(users: u64, span: Duration) -> Done<u64> {
    let mut sim = turmoil::Builder::new()
        .simulation_duration(span * 2)
        .min_message_latency(LATENCY)
        .max_message_latency(LATENCY)
        .rng_seed(1)
        .build();
    sim.host("server", move || relay(users));
    let arrived = Rc::new(Cell::new(0));
    for user in 0..users {
        sim.client(
            format!("user-{user}"),
            talk(user, span, Rc::clone(&arrived)),
        );
    }
    sim.run()?;
    Ok(arrived.get())
}

/// Forwards each line of a user to its partner.
async fn relay(users: u64) -> Done<()> {
    let places = usize::try_from(users)?;
    let seats: Seats = Rc::new(RefCell::new((0..places).map(|_| None).collect()));
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let seats = Rc::clone(&seats);
        tokio::task::spawn_local(async move {
            // Errors of a connection do not matter: all users disconnect at the end.
            let _ = serve(stream, &seats).await;
        });
    }
}

/// The connection to each user. Only the task of the partner writes to it.
type Seats = Rc<RefCell<Vec<Option<OwnedWriteHalf>>>>;

async fn serve(stream: TcpStream, seats: &Seats) -> Done<()> {
    let (read, write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let name = lines.next_line().await?.ok_or("no name came")?;
    let place: usize = name.parse()?;
    seats.borrow_mut()[place] = Some(write);
    while let Some(mut line) = lines.next_line().await? {
        line.push('\n');
        let partner = seats.borrow_mut().get_mut(place ^ 1).and_then(Option::take);
        if let Some(mut partner) = partner {
            if partner.write_all(line.as_bytes()).await.is_ok() {
                seats.borrow_mut()[place ^ 1] = Some(partner);
            }
        }
    }
    Ok(())
}

/// Sends messages with pauses between them, and receives those of the partner.
async fn talk(user: u64, span: Duration, arrived: Rc<Cell<u64>>) -> Done<()> {
    // Different starts, so that users do not send at the same instants.
    tokio::time::sleep(Duration::from_millis(user * 997 % 1_000)).await;
    let stream = TcpStream::connect(("server", PORT)).await?;
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let hearing = tokio::task::spawn_local(async move {
        while let Ok(Some(_)) = lines.next_line().await {
            arrived.set(arrived.get() + 1);
        }
    });
    write.write_all(format!("{user}\n").as_bytes()).await?;
    let times = span.as_millis() / THINK.as_millis();
    for said in 0..times {
        let length = usize::try_from(5 + said * 37 % 396)?;
        let line = format!("{:a<length$}\n", format!("{user}.{said} "));
        write.write_all(line.as_bytes()).await?;
        tokio::time::sleep(THINK).await;
    }
    hearing.abort();
    Ok(())
}
