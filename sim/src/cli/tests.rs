use super::*;

fn read(line: &str) -> Result<Invocation, clap::Error> {
    parse(line.split_whitespace().map(OsString::from))
}

/// The arguments of a command line of this command.
macro_rules! of {
    ($command:ident, $line:expr) => {
        match read($line).unwrap() {
            Invocation::$command(arguments) => arguments,
            other => panic!("{other:?}"),
        }
    };
}

/// The rows of a table: lines, and what the error of each says.
fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = table.lines().map(str::trim).filter(|row| !row.is_empty());
    rows.map(|row| row.split_once(" => ").expect(row))
}

#[track_caller]
fn refused_with(line: &str, says: &str) -> String {
    let error = read(line).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{line}");
    let told = error.to_string();
    assert!(told.contains(says), "{line}: {told}");
    told
}

#[test]
fn the_run_command_may_be_omitted() {
    let rest = "a.yaml b.yaml --seed 7 --seeds 20 --jobs 2 --json r.json --junit r.xml --quiet";
    let run = of!(Run, &format!("sim {rest}"));
    assert_eq!(run, of!(Run, &format!("sim run {rest}")));
    assert_eq!(run.files, ["a.yaml", "b.yaml"].map(PathBuf::from));
    assert_eq!(run.seed, Some(7));
    assert_eq!(run.seeds, NonZeroU64::new(20));
    assert_eq!(run.jobs, NonZeroUsize::new(2));
    assert!(run.quiet && !run.verbose);
    let after = of!(Run, "sim --seed 1 a.yaml");
    assert_eq!(after.files, [PathBuf::from("a.yaml")]);
}

#[test]
fn commands_parse_their_arguments() {
    let files = vec![PathBuf::from("a.yaml")];
    let shell = Shell::Fish;
    for (line, means) in [
        ("sim validate a.yaml", Invocation::Validate { files }),
        ("sim schema", Invocation::Schema),
        ("sim completions fish", Invocation::Completions { shell }),
    ] {
        assert_eq!(read(line).unwrap(), means);
    }
    let exhaust = of!(Exhaust, "sim exhaust --world room --jobs 2");
    assert_eq!((exhaust.users, exhaust.depth), (3, 7));
    assert_eq!(exhaust.world, WorldChoice::Room);
    assert_eq!(exhaust.jobs, NonZeroUsize::new(2));
}

#[test]
fn explore_takes_a_number_of_seeds_or_a_duration() {
    let line = "sim explore a.yaml b.yaml --seeds 7 --seek stick-wait";
    let some = of!(Explore, line);
    assert_eq!((some.files.len(), some.seed), (2, 1));
    assert_eq!((some.seeds, some.time), (NonZeroU64::new(7), None));
    let line = "sim explore a.yaml --for 10m --keep-going";
    let long = of!(Explore, line);
    assert_eq!(long.time, Some(chat_types::Span::secs(600)));
    assert!(long.keep_going && long.seeds.is_none());
}

/// The words of the standard library and of serde, which name no flag's own values.
const RUST_WORDS: &str = "
    non-zero, digit found, target type, u32, expected a string, invalid type, unknown field, ..";

fn in_plain_words(line: &str, says: &str) {
    let told = refused_with(line, says);
    for word in RUST_WORDS.trim().split(", ") {
        assert!(!told.contains(word), "{line}: {told}");
    }
}

/// Lines, and what the error of each says.
const NUMBERS: &str = "
    sim a.yaml --seed x => write a whole number, 0 or more
    sim a.yaml --seed -1 => write a whole number, 0 or more
    sim a.yaml --seed 18446744073709551616 => the largest number is 18446744073709551615
    sim a.yaml --seeds 0 => write a whole number, 1 or more
    sim a.yaml --jobs 0 => write a whole number from 1 to 1024
    sim explore a.yaml --seeds x => write a whole number, 1 or more
    sim explore a.yaml --seeds 1 --seed 1.5 => write a whole number, 0 or more
    sim exhaust --depth 0 => write a whole number from 1 to 64
    sim exhaust --users 9 => write a whole number from 2 to 5
    sim exhaust --faults -1 => write a whole number from 0 to 255
    sim replay d --until 0 => write a whole number, 1 or more
    sim replay d --last x --to-scenario s => write a whole number from 1 to
    sim shrink a.yaml --property no_lost => 'no_lost_messages'
";

#[test]
fn an_error_says_which_values_a_flag_takes() {
    for (line, says) in rows(NUMBERS) {
        in_plain_words(line, says);
    }
}

/// Values of `--limit`, and what the error of each says.
const LIMITS: &str = "
    x => write a key, `=` and a value, as in stick_lease=60s
    stick_leese=5s => there is no limit `stick_leese`; did you mean `stick_lease`?
    stick_lease=5 => stick_lease cannot be `5`; accepted:
    max_members=x => max_members cannot be `x`; accepted: a whole number, 2 to 65536
    max_members=-1 => max_members cannot be `-1`; accepted: a whole number
    max_members=1 => max_members cannot be `1`; accepted: a whole number
    max_members=[1 => max_members cannot be `[1`; accepted: a whole number
    rate_limit=3 => rate_limit cannot be `3`; accepted: { per_second, burst } or none
";

#[test]
fn an_error_says_which_values_a_limit_takes() {
    for (limit, says) in rows(LIMITS) {
        let line = format!("sim a.yaml --target http://h:1 --limit {limit}");
        in_plain_words(&line, says);
    }
}

#[test]
fn the_arguments_that_name_a_server_again_are_words_of_a_shell() {
    let parsed = |words: &str| parse(words.split(';').map(OsString::from));
    let words = "sim;a.yaml;--target;http://h:1;--nemesis; sh  n.sh ;--journal;a folder;\
                 --limit;rate_limit={per_second: 1, burst: 2}";
    let Ok(Invocation::Run(run)) = parsed(words) else {
        panic!("it is a run");
    };
    let limit = r"--limit rate_limit=\{per_second:\ 1,\ burst:\ 2\}";
    let words = format!(r" --target http://h:1 --nemesis sh\ n.sh --journal a\ folder {limit}");
    assert_eq!(run.live.words(), words);
    let nobody = parsed("sim;a.yaml;--target;http://h:1;--nemesis;  ").unwrap_err();
    assert!(nobody.to_string().contains("name a program"), "{nobody}");
}

#[test]
fn no_output_replaces_an_input_and_no_word_is_taken_for_a_file() {
    let table = "
        sim a.yaml --json a.yaml => --json would overwrite a.yaml
        sim a.yaml b.yaml --report b.yaml => overwrite b.yaml
        sim explore a.yaml --seeds 1 --json a.yaml => overwrite
        sim explore a.yaml --seeds 1 --trace - => only --json
        sim shrink a.yaml --out a.yaml => overwrite a.yaml
        sim compare a.json b.json --json b.json => overwrite b.json
        sim replay a.bundle --to-scenario a.bundle => overwrite
        sim calibrate a.yaml --target http://h --out a.yaml => overwrite
        sim runn a.yaml => no file `runn`; did you mean `run`?
        sim version => no command and no file `version`
        sim a.yaml --seed 18446744073709551615 --seeds 2 => the largest seed
        sim explore a.yaml --seed 18446744073709551615 --seeds 2 => the largest seed
    ";
    for (line, says) in rows(table) {
        refused_with(line, says);
    }
    // Another path of the same file.
    let folder = env!("CARGO_MANIFEST_DIR");
    let line = format!("sim {folder}/Cargo.toml --json {folder}/src/../Cargo.toml");
    refused_with(&line, "would overwrite");
}

#[test]
fn invalid_arguments_are_refused() {
    let table = "
        sim => required
        sim run => required
        sim validate => required
        sim a.yaml --quiet --verbose => cannot be used with
        sim a.yaml b.yaml --recipe s1:2 => --recipe is of one run
        sim a.yaml --seeds 2 --recipe s1:2 => --recipe is of one run
        sim a.yaml --recipe s1:0 => no turn of a recipe
        sim a.yaml --trace t --seeds 2 => leave --seeds (or SIM_SEEDS) at 1
        sim a.yaml b.yaml --trace t => name one scenario file
        sim a.yaml --junit - => only --json
        sim a.yaml --trace - => only --json
        sim a.yaml --json x --junit x => name the same file
        sim a.yaml --unheard-of => unexpected argument
        sim shrink a.yaml --for a-while => invalid value 'a-while'
        sim shrink a.yaml --for -5m => `-5m` is not a duration
        sim explore a.yaml --for -5m => invalid value '-5m'
        sim shrink a.yaml b.yaml => unexpected argument
        sim a.yaml --report - => only --json
        sim a.yaml --report x --json x => name the same file
        sim explore --seeds 7 => required
        sim explore a.yaml => --seeds
        sim explore a.yaml --seeds 7 --for 10m => cannot be used
        sim explore a.yaml --for 10 => a number and a unit
        sim explore a.yaml --for 0s => no time at all
        sim explore a.yaml --seeds 7 --seek luck => stick-wait
        sim exhaust --users 1 => from 2 to 5
        sim compare a.json => <B.json>
        sim compare a.json b.json --noise 200% => below 100%
        sim exhaust --world lobby => queue, room, cluster, all
        sim run a.yaml --target localhost => http://127.0.0.1:8894
        sim run a.yaml --protocol http => --target
        sim run a.yaml --target http://h --protocol mcp => 2026-07-28, 2025-11-25 or http
        sim run a.yaml --target http://h --rate-scale 0 => 0.001
        sim run a.yaml --target http://h --seeds 2 => one seed
        sim run a.yaml b.yaml --target http://h --stages => one file
    ";
    for (line, says) in rows(table) {
        refused_with(line, says);
    }
}

#[test]
fn shrink_takes_one_seed_of_one_file() {
    let shrink = of!(Shrink, "sim shrink a.yaml --seed 7 --out b.yaml --for 2m");
    assert_eq!(shrink.file, Path::new("a.yaml"));
    assert_eq!((shrink.seed, shrink.property), (Some(7), None));
    assert_eq!(shrink.out.as_deref(), Some(Path::new("b.yaml")));
    assert_eq!(shrink.time, Duration::from_secs(120));
}

fn help(line: &str) -> String {
    let error = read(line).unwrap_err();
    assert_eq!(error.exit_code(), 0);
    error.to_string()
}

#[test]
fn calibrate_takes_a_server_and_optionally_a_file_and_rates() {
    let alone = of!(Calibrate, "sim calibrate --target http://h");
    assert_eq!((alone.file.as_ref(), alone.access.protocol), (None, None));
    let loads = |args: &CalibrateArgs| -> Vec<u32> {
        let loads = args.loads().into_iter();
        loads.map(|load| load.as_milli()).collect()
    };
    assert_eq!(loads(&alone), [1_000, 2_000, 4_000, 8_000]);
    let line = "sim calibrate a.yaml --target http://h --scales 8,0.5,8 --seed 3";
    let with = of!(Calibrate, line);
    assert_eq!(with.file.as_deref(), Some(Path::new("a.yaml")));
    assert_eq!((loads(&with), with.seed), (vec![500, 8_000], Some(3)));
}

#[test]
fn invalid_arguments_of_calibrate_are_refused() {
    let table = "
        sim calibrate => --target
        sim calibrate a.yaml --target localhost => 8894
        sim calibrate --target http://h,http://i => one server
        sim calibrate --target http://h --seed 7 => FILE
        sim calibrate a.yaml --target http://h --scales 1,0 => 0.001
        sim calibrate --target http://h --out - => only --json
        sim calibrate --target http://h --out x --json x => same file
        sim calibrate a.yaml --target http://h --limit max_tea=1 => max_tea
    ";
    for (line, says) in rows(table) {
        refused_with(line, says);
    }
}

#[test]
fn replay_parses_its_arguments() {
    let line = "sim replay d --until 7 --follow user_3 --to-scenario s.yaml --last 9";
    let all = of!(Replay, line);
    assert_eq!((all.until, all.last), (Some(7), 9));
    let three = sim_search::replay::FollowTarget::Number(3);
    assert_eq!(all.follow, Some(three));
    assert_eq!(of!(Replay, "sim replay d").last, 200);
    let table = "
        sim replay => JOURNAL
        sim replay d --last 9 => --to-scenario
        sim replay d --to-scenario - => only --json
        sim replay d --json x --to-scenario x => same file
    ";
    for (line, says) in rows(table) {
        refused_with(line, says);
    }
}

#[test]
fn help_of_each_command_fits_the_page() {
    let program = help("sim --help");
    let commands = Cli::command();
    let commands = commands.get_subcommands().map(|command| {
        let name = command.get_name();
        (name.to_owned(), help(&format!("sim {name} --help")))
    });
    let texts: Vec<_> = commands
        .chain([("the_program".to_owned(), program)])
        .collect();
    for (name, text) in texts {
        let fits = text.lines().all(|line| line.chars().count() <= 80);
        assert!(fits, "{text}");
        if !["shrink", "completions", "man"].contains(&name.as_str()) {
            insta::assert_snapshot!(format!("help_of_{name}"), text);
        }
    }
    let short = help("sim -h");
    assert!(short.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn completions_and_manual_pages_are_of_every_command() {
    let script = String::from_utf8(completions(Shell::Bash)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    manual(folder.path()).unwrap();
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        assert!(script.contains(name), "{name}");
        let page = folder.path().join(format!("sim-{name}.1"));
        assert!(page.is_file(), "{}", page.display());
    }
}
