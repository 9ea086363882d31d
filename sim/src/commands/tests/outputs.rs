//! Tests of outputs: files, followed users, and a standard output that fails.

use super::*;

#[test]
fn junit_and_trace_are_written_to_their_paths() {
    let folder = TestFolder::new();
    let line = "sim burst.yaml --junit new/j.xml --trace new/t.jsonl --follow user_7";
    let printed = folder.sim(line);
    assert_eq!((printed.code, printed.err.as_str()), (0, ""));
    has(&folder.read("new/j.xml"), "<testsuite name=\"burst\"");
    let trace = folder.read("new/t.jsonl");
    assert_eq!(trace.lines().count(), 20);
    let first = r#"{"t_ms":0.0,"agent":0,"name":"penpal#0","user":"user_7""#;
    begins(&trace, first);
    let printed = folder.sim("sim burst.yaml --trace t.jsonl --follow room_3");
    let told = "error: --follow: the run had no room_3: none at all\n";
    assert_eq!((printed.code, printed.err.as_str()), (2, told));
    assert_eq!(folder.read("t.jsonl"), "");
}

#[test]
fn an_unknown_user_is_refused_before_the_run() {
    let folder = TestFolder::new();
    let line = "sim burst.yaml --trace t.jsonl --follow";
    let follow = |whom: &str| folder.sim(&format!("{line} {whom}"));
    let printed = follow("penpl#3");
    assert_eq!((printed.code, printed.out.as_str()), (2, ""));
    assert_eq!(
        printed.err,
        "error: --follow: burst has no user or room `penpl#3`; did you mean `penpal#3`?\n  \
         write user_7, penpal#12 or room_3\n"
    );
    assert!(follow("7").err.contains("no user or room `7`"));
    assert_eq!(follow("penpal#0").code, 0);
    assert!(folder.read("t.jsonl").contains("\"agent\":0"));
}

/// A pipe that its reader closed, or a full disk.
struct Broken(ErrorKind);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_result_that_cannot_be_written_is_an_error_and_a_page_cut_short_is_none() {
    let folder = TestFolder::new();
    let code = |line: &str, kind| {
        let mut err = Vec::new();
        let run = (&run_seed as RunSeed<'_>, &Interrupt::default());
        let code = folder.execute(line, run, (&mut Broken(kind), &mut err));
        (code, String::from_utf8(err).unwrap())
    };
    let cut_short = code("sim burst.yaml", ErrorKind::BrokenPipe);
    assert_eq!(cut_short, (0, String::new()));
    for (line, kind) in [
        ("sim burst.yaml", ErrorKind::StorageFull),
        ("sim burst.yaml --json -", ErrorKind::BrokenPipe),
        ("sim schema", ErrorKind::StorageFull),
    ] {
        let (exit, err) = code(line, kind);
        assert_eq!(exit, 2, "{line}");
        has(&err, "error: cannot write the standard output: ");
    }
}

#[test]
fn a_turn_of_a_recipe_that_the_run_does_not_reach_is_refused() {
    let folder = TestFolder::new();
    let printed = folder.sim("sim burst.yaml --recipe s5:1,s10:2");
    assert_eq!((printed.code, printed.err.as_str()), (0, ""));
    let printed = folder.sim("sim burst.yaml --recipe s5:1,s11:2");
    assert_eq!((printed.code, printed.out.as_str()), (2, ""));
    let said = "error: --recipe: the run ended after step 10, before its turn s11:2\n";
    begins(&printed.err, said);
    // What is violated is more important.
    let printed = folder.sim("sim unsafe.yaml --seed 44 --no-shrink --recipe s11:2");
    assert_eq!(printed.code, 1, "{}", printed.err);
}

#[test]
fn a_file_that_cannot_be_written_is_found_before_the_run() {
    let folder = TestFolder::new();
    fs::write(folder.path("kept.json"), "kept").unwrap();
    for line in [
        "sim burst.yaml --json kept.json --junit wrong.yaml/x.xml",
        "sim exhaust --world cluster --depth 1 --json wrong.yaml/x.json",
        "sim explore burst.yaml --seeds 1 --json wrong.yaml/x.json",
        "sim exhaust --depth 1 --json wrong.yaml/x.json",
    ] {
        let printed = folder.sim(line);
        assert_eq!((printed.code, printed.out.as_str()), (2, ""), "{line}");
        has(&printed.err, "cannot write ");
    }
    assert_eq!(folder.read("kept.json"), "kept");
}
