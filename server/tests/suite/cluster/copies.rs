//! Several members copy their histories to one PostgreSQL. `cargo xtask test --only postgres` starts
//! a server for these tests.

use serde_json::json;

use crate::cluster::kept::{SHORT, found, say, words};
use crate::cluster::members::{Kept, Members};
use crate::cluster::{done, talkers};
use crate::durable::client::{sql, wait_for};

const COUNT: &str = "SELECT count(*) FROM messages";

/// Two members with journals, which copy to one database of this name.
fn start(name: &str) -> (Members, String) {
    let server = std::env::var("TALKING_STICK_TEST_POSTGRES");
    let server = server.expect("TALKING_STICK_TEST_POSTGRES names a server");
    let made = sql(
        &format!("{server}/postgres"),
        &format!("CREATE DATABASE {name}"),
    );
    made.expect("a new database");
    let database = format!("{server}/{name}");
    let mut kept = Kept::with_limits(SHORT);
    kept.words = vec!["--history".into(), database.clone()];
    (Members::start_keeping(1, 2, Some(kept)), database)
}

#[test]
#[ignore = "needs PostgreSQL and nats-server: cargo xtask test --only postgres"]
fn members_copy_every_message_once() {
    let (mut members, database) = start("copied_once");
    let mut doors = [members.connect(0), members.connect(1)];
    let ada = doors[0].register("Ada", "lobby");
    let all = words(0..700);
    say(&mut doors[0], &ada, &all[..300]);
    members.kill(1);
    say(&mut doors[0], &ada, &all[300..500]);
    members.start_again(1);
    members.kill(0);
    let mut door = members.connect(1);
    say(&mut door, &ada, &all[500..]);
    wait_for(&database, COUNT, "700");
    wait_for(&database, "SELECT count(DISTINCT text) FROM spoken", "700");
    let sum = "SELECT sum(seq) = (700 * (2 * min(seq) + 699)) / 2 FROM messages";
    assert_eq!(
        sql(&database, sum).as_deref(),
        Ok("t"),
        "no place twice, none left out"
    );
    assert_eq!(talkers::texts(&mut door, &ada), all);
    members.start_again(0);
    let mut door = members.connect(0);
    assert_eq!(found(&mut door, &ada, "word 613"), words(613..614));
    // The file forgets, and the copy does not: it is what is read.
    let drop = "DELETE FROM messages WHERE text = 'word 613'";
    sql(&database, drop).expect("a row less");
    assert_eq!(found(&mut door, &ada, "word 613"), [""; 0]);
}

#[test]
#[ignore = "needs PostgreSQL and nats-server: cargo xtask test --only postgres"]
fn a_member_that_is_behind_does_not_cut_the_copy() {
    let (mut members, database) = start("copied_ahead");
    let mut door = members.connect(0);
    let ada = door.register("Ada", "lobby");
    say(&mut door, &ada, &words(0..5));
    assert_eq!(talkers::texts(&mut members.connect(1), &ada), words(0..5));
    members.stop(1);
    say(&mut door, &ada, &words(5..50));
    wait_for(&database, COUNT, "50");
    members.kill(0);
    // From now on a cut fails, and nothing is copied then.
    let guard = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'no row is deleted'; END $$;
         CREATE TRIGGER refuse BEFORE DELETE ON messages
             FOR EACH ROW EXECUTE FUNCTION refuse()";
    sql(&database, guard).expect("a trigger");
    members.start_again(1);
    let mut door = members.connect(1);
    done(&mut door, "/send", &ada, &json!({ "message": "word 50" }));
    wait_for(&database, COUNT, "51");
    assert_eq!(talkers::texts(&mut door, &ada), words(0..51));
}
