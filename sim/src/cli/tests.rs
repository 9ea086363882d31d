use super::*;

fn read(line: &str) -> Result<Invocation, clap::Error> {
    parse(line.split_whitespace().map(OsString::from))
}

fn run_args(line: &str) -> RunArgs {
    match read(line).unwrap() {
        Invocation::Run(run) => run,
        other @ (Invocation::Validate(_)
        | Invocation::Schema
        | Invocation::Exhaust(_)
        | Invocation::Compare(_)) => panic!("{other:?}"),
    }
}

fn refused(line: &str) -> String {
    let error = read(line).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{line}");
    error.to_string()
}

#[test]
fn the_word_run_may_be_left_out() {
    let rest = "a.yaml b.yaml --seed 7 --seeds 20 --jobs 2 --json r.json --junit r.xml --quiet";
    let run = run_args(&format!("sim {rest}"));
    assert_eq!(run, run_args(&format!("sim run {rest}")));
    assert_eq!(
        run.files,
        [PathBuf::from("a.yaml"), PathBuf::from("b.yaml")]
    );
    assert_eq!(run.seed, Some(7));
    assert_eq!(run.seeds, NonZeroU64::new(20));
    assert_eq!(run.jobs, NonZeroUsize::new(2));
    assert!(run.quiet && !run.verbose);
    assert_eq!(
        run_args("sim --seed 1 a.yaml").files,
        [PathBuf::from("a.yaml")]
    );
}

#[test]
fn the_other_commands() {
    assert_eq!(
        read("sim validate a.yaml").unwrap(),
        Invocation::Validate(ValidateArgs {
            files: vec![PathBuf::from("a.yaml")]
        })
    );
    assert_eq!(read("sim schema").unwrap(), Invocation::Schema);
    let Invocation::Exhaust(exhaust) = read("sim exhaust --world room --jobs 2").unwrap() else {
        panic!("no search");
    };
    assert_eq!((exhaust.users, exhaust.depth), (3, 7));
    assert_eq!(
        (exhaust.world, exhaust.jobs),
        (Which::Room, NonZeroUsize::new(2))
    );
}

#[test]
fn what_is_followed_is_a_user_or_a_room() {
    use crate::protocol::{Room, User};
    let follow =
        |what: &str| run_args(&format!("sim a.yaml --trace t.jsonl --follow {what}")).follow;
    assert_eq!(follow("user_7"), Some(Follow::User(User(7))));
    assert_eq!(follow("room_3"), Some(Follow::Room(Room(3))));
    assert!(refused("sim a.yaml --trace t.jsonl --follow 7").contains("such as user_7 or room_3"));
    assert!(refused("sim a.yaml --follow user_7").contains("--trace"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (line, says) in [
        ("sim", "required"),
        ("sim run", "required"),
        ("sim validate", "required"),
        ("sim a.yaml --seeds 0", "--seeds"),
        ("sim a.yaml --jobs 0", "--jobs"),
        ("sim a.yaml --seed -1", "-1"),
        ("sim a.yaml --quiet --verbose", "cannot be used with"),
        (
            "sim a.yaml --trace t --seeds 2",
            "leave --seeds (or SIM_SEEDS) at 1",
        ),
        ("sim a.yaml b.yaml --trace t", "name one scenario file"),
        ("sim a.yaml --junit -", "only --json"),
        ("sim a.yaml --trace -", "only --json"),
        ("sim a.yaml --json x --junit x", "name the same file"),
        ("sim a.yaml --unheard-of", "unexpected argument"),
        ("sim exhaust --users 1", "2..=5"),
        ("sim compare a.json", "<B.json>"),
        ("sim compare a.json b.json --noise 200%", "below 100%"),
        ("sim exhaust --world lobby", "line, room, all"),
        (
            "sim explore a.yaml --for 10m",
            "`sim explore` is not available yet",
        ),
        (
            "sim shrink a.yaml --seed 7 -o b.yaml",
            "`sim shrink` is not available yet",
        ),
        (
            "sim a.yaml --report r.html",
            "`--report` is not available yet",
        ),
        (
            "sim run a.yaml --target http://localhost",
            "`--target` is not available yet",
        ),
        (
            "sim a.yaml --no-shrink",
            "`--no-shrink` is not available yet",
        ),
    ] {
        let text = refused(line);
        assert!(text.contains(says), "{line}: {text}");
    }
}

fn help(line: &str) -> String {
    let error = read(line).unwrap_err();
    assert_eq!(error.exit_code(), 0);
    error.to_string()
}

#[test]
fn help_of_the_program() {
    insta::assert_snapshot!(help("sim --help"));
}

#[test]
fn help_of_run() {
    insta::assert_snapshot!(help("sim run --help"));
}

#[test]
fn help_of_validate() {
    insta::assert_snapshot!(help("sim validate --help"));
}

#[test]
fn help_of_schema() {
    insta::assert_snapshot!(help("sim schema --help"));
}

#[test]
fn help_of_exhaust() {
    insta::assert_snapshot!(help("sim exhaust --help"));
}

#[test]
fn help_of_compare() {
    insta::assert_snapshot!(help("sim compare --help"));
}

#[test]
fn help_is_no_wider_than_the_page_and_promises_nothing() {
    for line in [
        "sim --help",
        "sim -h",
        "sim run --help",
        "sim validate --help",
        "sim schema --help",
        "sim exhaust --help",
        "sim compare --help",
    ] {
        let text = help(line);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        for coming in COMING_COMMANDS.iter().chain(&COMING_OPTIONS) {
            assert!(!text.contains(coming), "{coming} in {text}");
        }
    }
}
