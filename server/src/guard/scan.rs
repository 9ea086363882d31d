//! Limits on JSON before it is parsed: the number of values, and their depth.
//!
//! A parsed value takes a hundred times the bytes of its text, so a limit on bytes is not enough.
//! The scan reads the bytes once and stores nothing. It counts separators and opening brackets
//! outside of strings, which is never less than the number of values in valid JSON. The parser
//! refuses invalid JSON later.

use super::http_error::Fault;

/// The largest number of values of a body, including names of members.
const MAX_VALUES: usize = 2_048;

/// The largest depth of values.
const MAX_DEPTH: usize = 32;

/// A generous cost of one parsed value besides its bytes.
const VALUE: usize = 256;

/// The number of bytes of a body and its parsed values.
///
/// # Errors
/// The body has too many values, or they are nested too deeply.
pub fn cost(body: &[u8]) -> Result<usize, Fault> {
    let values = scan(body, MAX_VALUES)?;
    Ok(values.saturating_mul(VALUE).saturating_add(body.len()))
}

/// Whether JSON has at most so many values, none of them too deep.
#[must_use]
pub fn has_few_values(json: &[u8], limit: usize) -> bool {
    scan(json, limit).is_ok()
}

/// The number of values in a body, which is at most `limit`.
fn scan(body: &[u8], limit: usize) -> Result<usize, Fault> {
    let (mut values, mut depth) = (1_usize, 0_usize);
    let mut bytes = body.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'{' | b'[' => {
                depth += 1;
                values += 1;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' | b':' => values += 1,
            _ => {}
        }
        if depth > MAX_DEPTH {
            let why = format!("the body nests values more than {MAX_DEPTH} deep");
            return Err(Fault::BodyUnread(why));
        }
        if values > limit {
            return Err(Fault::TooManyValues { limit });
        }
    }
    Ok(values)
}

/// Advances past the end of a string.
fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        assert_eq!(scan(b"{}", MAX_VALUES), Ok(2));
        assert_eq!(scan(br#"{"a":[1,2],"b":"[,:{\"["}"#, MAX_VALUES), Ok(7));
        assert_eq!(scan(b"", MAX_VALUES), Ok(1));
        assert_eq!(scan(br#""never ends \"#, MAX_VALUES), Ok(1));
    }

    #[test]
    fn too_many_values_and_too_deep_nesting_are_refused() {
        let many = format!("[{}1]", "1,".repeat(MAX_VALUES));
        assert_eq!(
            scan(many.as_bytes(), MAX_VALUES),
            Err(Fault::TooManyValues { limit: MAX_VALUES })
        );
        let deep = |depth| scan("[".repeat(depth).as_bytes(), MAX_VALUES);
        assert!(deep(MAX_DEPTH).is_ok());
        assert!(matches!(deep(MAX_DEPTH + 1), Err(Fault::BodyUnread(_))));
    }
}
