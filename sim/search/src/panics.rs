//! Catches panics that are findings: a broken invariant of the core panics.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function that may panic, and returns the panic's message if it does. A hook installed by
/// [`silence_caught_panics`] prints nothing meanwhile.
///
/// # Errors
/// The message of the panic.
pub fn catch_panic<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    let before = EXPECTED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    EXPECTED.set(before);
    result.map_err(|payload| words(payload.as_ref()))
}

/// Keeps panics that [`catch_panic`] expects from the standard error: the caller reports them, and
/// shrinking repeats one hundreds of times.
pub fn silence_caught_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !EXPECTED.get() {
            usual(info);
        }
    }));
}

/// The message of a panic.
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
    fn a_caught_panic_returns_its_message() {
        assert_eq!(catch_panic(|| 7), Ok(7));
        let index = std::hint::black_box(3);
        assert_eq!(
            catch_panic(|| assert_eq!(index, 4, "no {index}")),
            Err("assertion `left == right` failed: no 3\n  left: 3\n right: 4".to_owned())
        );
        assert_eq!(
            catch_panic(|| panic!("plain")),
            Err::<(), _>("plain".to_owned())
        );
    }
}
