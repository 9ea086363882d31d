//! Panics that are expected now and then: a broken invariant of the core is one, and a finding.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs something that may panic, and returns the panic's words if it does. A hook that was
/// installed by [`stay_silent`] prints nothing meanwhile.
///
/// # Errors
/// The words of the panic.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    let before = EXPECTED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    EXPECTED.set(before);
    result.map_err(|payload| words(payload.as_ref()))
}

/// Lets panics that [`caught`] waits for pass without a word on the standard error: whoever asked
/// tells of them, and shrinking makes the same one happen hundreds of times.
pub fn stay_silent() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !EXPECTED.get() {
            usual(info);
        }
    }));
}

/// What a panic said.
fn words(payload: &(dyn Any + Send)) -> String {
    let said = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    said.unwrap_or("a panic without words").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_words() {
        assert_eq!(caught(|| 7), Ok(7));
        let index = std::hint::black_box(3);
        assert_eq!(
            caught(|| assert_eq!(index, 4, "no {index}")),
            Err("assertion `left == right` failed: no 3\n  left: 3\n right: 4".to_owned())
        );
        assert_eq!(caught(|| panic!("plain")), Err::<(), _>("plain".to_owned()));
    }
}
