//! The nemesis of a live run: a program that makes faults of the servers while users call them.
//!
//! It starts with the users. Each line of its standard output is a JSON object: `{"fault": NAME}`
//! when it has made a fault, `{"mended": NAME}` when it has mended it. When its standard input ends,
//! it mends everything and exits with 0. A fault that it has not mended by then ends with it. The
//! rest is its failure: it does not start, exits before, writes another line, exits with another
//! code, or does not exit in time. After a failure nobody knows what still goes wrong, so the run
//! ends.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use chat_types::{Span, Time};
use serde::Deserialize;

use super::clock::Clock;
use sim_model::outcome::{NemesisFailure, NemesisFault, NemesisResult, START};

/// The longest time from the end of its input to its exit.
const MENDS_WITHIN: Span = Span::secs(120);

/// The time between two looks whether it has exited.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// The most faults of a run, and the most bytes of a line and characters of a name.
const MOST_FAULTS: usize = 10_000;
const LONGEST_LINE: u64 = 1_000;
const LONGEST_NAME: usize = 60;

/// A line of its output.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NemesisLine {
    Fault(String),
    Mended(String),
}

/// What its output is: a line, which may be wrong, or its end.
pub(super) type Output = Option<Result<NemesisLine, String>>;

/// A nemesis that was started.
#[derive(Debug)]
pub(super) struct Nemesis {
    child: Child,
    /// None once it is to mend everything.
    input: Option<ChildStdin>,
    /// When it must have exited; none before its input ended.
    ends_by: Option<Time>,
    is_silent: bool,
    pub(super) record: NemesisResult,
}

impl NemesisLine {
    fn parse(line: &[u8]) -> Result<Self, String> {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        let is_named = |name: &str| {
            let length = name.chars().count();
            (1..=LONGEST_NAME).contains(&length) && !name.chars().any(char::is_control)
        };
        match serde_json::from_str::<Self>(text) {
            Ok(line) if is_named(line.name()) => Ok(line),
            Ok(_) => Err(format!(
                "wrote a name that is empty or longer than {LONGEST_NAME} characters"
            )),
            Err(_) => {
                let start: String = text.chars().take(LONGEST_NAME).collect();
                Err(format!(
                    "wrote `{start}`, which is neither {{\"fault\": NAME}} nor {{\"mended\": NAME}}"
                ))
            }
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Fault(name) | Self::Mended(name) => name,
        }
    }
}

/// Takes a line into the record.
///
/// # Errors
/// It contradicts earlier ones.
fn take(record: &mut NemesisResult, line: &NemesisLine, at: Span) -> Result<(), String> {
    let faults = &mut record.faults;
    let is_open = |one: &NemesisFault| one.mended_ms.is_none() && one.fault == line.name();
    let open = faults.iter().rposition(is_open);
    match (line, open) {
        (NemesisLine::Fault(fault), None) if faults.len() < MOST_FAULTS => {
            faults.push(NemesisFault {
                fault: fault.clone(),
                at,
                mended_ms: None,
            });
            Ok(())
        }
        (NemesisLine::Fault(_), None) => Err(format!("made more than {MOST_FAULTS} faults")),
        (NemesisLine::Fault(fault), Some(_)) => Err(format!(
            "made the fault `{fault}` again before it mended it"
        )),
        (NemesisLine::Mended(_), Some(open)) => {
            faults[open].mended_ms = Some(at.0 as f64 / 1_000.0);
            Ok(())
        }
        (NemesisLine::Mended(fault), None) => {
            Err(format!("mended the fault `{fault}`, which it had not made"))
        }
    }
}

/// Mends what is not mended yet. Returns the names of these faults.
pub(super) fn mend_all(record: &mut NemesisResult, at: Span) -> Vec<String> {
    let open = record.faults.iter_mut();
    let open = open.filter(|fault| fault.mended_ms.is_none());
    open.map(|fault| {
        fault.mended_ms = Some(at.0 as f64 / 1_000.0);
        fault.fault.clone()
    })
    .collect()
}

impl Nemesis {
    /// Starts the program of this command line. `tell` receives what it writes.
    ///
    /// # Errors
    /// It does not start.
    pub(super) fn start(command: &str, tell: impl Fn(Output) + Send + 'static) -> io::Result<Self> {
        let mut words = command.split(' ');
        let mut program = Command::new(words.next().unwrap_or_default());
        program
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        // An interrupt of the terminal ends the run, and the nemesis only after it has mended all.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut program, 0);
        let mut child = program.spawn()?;
        if let Some(output) = child.stdout.take() {
            thread::Builder::new()
                .name("sim-nemesis".to_owned())
                .spawn(move || read(output, tell))?;
        }
        Ok(Self {
            input: child.stdin.take(),
            child,
            ends_by: None,
            is_silent: false,
            record: NemesisResult {
                command: command.to_owned(),
                ..NemesisResult::default()
            },
        })
    }

    /// Records a failure. The first one counts.
    pub(super) fn fail(&mut self, at: Span, why: String) {
        self.record.failed.get_or_insert(NemesisFailure { at, why });
    }

    /// Ends its input, after which it has to mend everything and exit.
    pub(super) fn end(&mut self, now: Time) {
        self.input = None;
        self.ends_by.get_or_insert(now + MENDS_WITHIN);
    }

    /// Takes what it wrote.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn take(
        &mut self,
        output: Output,
        now: Time,
    ) -> Result<Option<NemesisLine>, String> {
        let Some(line) = output.transpose()? else {
            self.is_silent = true;
            return Ok(None);
        };
        take(&mut self.record, &line, now.since(START))?;
        Ok(Some(line))
    }

    /// Whether it has exited, after its last line was taken. One that should have exited is killed.
    pub(super) fn has_exited(&mut self, now: Time) -> bool {
        if let Some(by) = self.ends_by
            && now > by
        {
            self.kill(now);
            return true;
        }
        if !self.is_silent {
            return false;
        }
        let wrong = match self.child.try_wait() {
            Ok(None) => return false,
            Ok(Some(status)) => self.wrong_exit(status),
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = wrong {
            self.fail(now.since(START), why);
        }
        true
    }

    /// Lets it mend everything where the run ended before it did, and waits for its exit.
    pub(super) fn dismiss(&mut self, clock: &Clock) {
        self.end(clock.now());
        while let Ok(None) = self.child.try_wait() {
            let now = clock.now();
            if self.ends_by.is_some_and(|by| now > by) {
                self.kill(now);
            }
            thread::park_timeout(LOOKS_EVERY);
        }
    }

    fn kill(&mut self, now: Time) {
        // It may exit in this moment.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let seconds = MENDS_WITHIN.as_secs();
        let why = format!("did not exit within {seconds}s after its input had ended");
        self.fail(now.since(START), why);
    }

    fn wrong_exit(&self, status: ExitStatus) -> Option<String> {
        match (self.ends_by, status.success()) {
            (Some(_), true) => None,
            (Some(_), false) => Some(format!("ended with {status}")),
            (None, _) => Some(format!("ended before its input did, with {status}")),
        }
    }
}

/// Reads all lines, also when nobody wants them any more: a nemesis that cannot write cannot mend.
fn read(output: ChildStdout, tell: impl Fn(Output)) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        let taken = (&mut output)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line);
        if !matches!(taken, Ok(1..)) {
            tell(None);
            return;
        }
        if !line.trim_ascii().is_empty() {
            tell(Some(NemesisLine::parse(&line)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<NemesisLine, String> {
        NemesisLine::parse(line.as_bytes())
    }

    #[test]
    fn a_line_names_a_fault_or_its_end() {
        let line = parsed("{\"fault\": \"owner killed\"}\r\n");
        assert_eq!(line, Ok(NemesisLine::Fault("owner killed".to_owned())));
        let line = parsed("{\"mended\":\"owner killed\"}");
        assert_eq!(line, Ok(NemesisLine::Mended("owner killed".to_owned())));
    }

    #[test]
    fn another_line_is_refused_with_its_beginning() {
        let why = parsed(&format!("killing now {}", "x".repeat(200))).unwrap_err();
        assert!(why.starts_with("wrote `killing now xxx"), "{why}");
        assert!(why.ends_with("neither {\"fault\": NAME} nor {\"mended\": NAME}"));
        assert!(why.len() < 150, "{why}");
        for line in [
            "{}",
            "3",
            "{\"fault\": 3}",
            "{\"healed\": \"x\"}",
            "{\"fault\": \"x\", \"mended\": \"x\"}",
            "{\"fault\": \"\"}",
            "{\"fault\": \"a\\nb\"}",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
        let long = |length: usize| parsed(&format!("{{\"fault\": \"{}\"}}", "é".repeat(length)));
        assert!(long(60).is_ok() && long(61).is_err());
    }

    #[test]
    fn a_fault_is_made_once_until_it_is_mended() {
        let mut record = NemesisResult::default();
        let fault = |name: &str| NemesisLine::Fault(name.to_owned());
        let mended = |name: &str| NemesisLine::Mended(name.to_owned());
        let again = "made the fault `a` again before it mended it";
        let unmade = "mended the fault `a`, which it had not made";
        for (second, line, taken) in [
            (1, fault("a"), Ok(())),
            (2, fault("b"), Ok(())),
            (3, fault("a"), Err(again.to_owned())),
            (4, mended("a"), Ok(())),
            (5, mended("a"), Err(unmade.to_owned())),
            (6, fault("a"), Ok(())),
        ] {
            assert_eq!(take(&mut record, &line, Span::secs(second)), taken);
        }
        assert_eq!(record.times(), [("a", 2), ("b", 1)].into());
        assert_eq!(mend_all(&mut record, Span::secs(7)), ["b", "a"]);
        let ends: Vec<_> = record.faults.iter().map(|fault| fault.mended_ms).collect();
        assert_eq!(ends, [4_000.0, 7_000.0, 7_000.0].map(Some));
    }

    #[test]
    fn the_number_of_faults_is_limited() {
        let mut record = NemesisResult::default();
        let mut take_one = |number: usize| {
            let line = NemesisLine::Fault(number.to_string());
            take(&mut record, &line, Span::ZERO)
        };
        assert!((0..MOST_FAULTS).all(|number| take_one(number).is_ok()));
        assert_eq!(
            take_one(MOST_FAULTS).unwrap_err(),
            format!("made more than {MOST_FAULTS} faults")
        );
    }

    #[test]
    #[cfg(unix)]
    fn a_program_that_does_not_exit_is_killed() {
        let (tell, told) = std::sync::mpsc::channel();
        let command = "tail -f /dev/null";
        let started = Nemesis::start(command, move |output| tell.send(output).unwrap());
        let mut nemesis = started.unwrap();
        nemesis.end(START);
        assert!(!nemesis.has_exited(START + MENDS_WITHIN));
        assert!(nemesis.has_exited(START + MENDS_WITHIN + Span::secs(1)));
        let failed = nemesis.record.failed.as_ref().unwrap();
        assert_eq!(
            failed.why,
            "did not exit within 120s after its input had ended"
        );
        assert_eq!(told.recv(), Ok(None), "its output has ended");
    }
}
