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
    Ok(scan(body)?.saturating_mul(VALUE).saturating_add(body.len()))
}

/// The number of values in a body.
fn scan(body: &[u8]) -> Result<usize, Fault> {
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
        if values > MAX_VALUES {
            return Err(Fault::TooManyValues { limit: MAX_VALUES });
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
        assert_eq!(scan(b"{}"), Ok(2));
        assert_eq!(scan(br#"{"a":[1,2],"b":"[,:{\"["}"#), Ok(7));
        assert_eq!(scan(b""), Ok(1));
        assert_eq!(scan(br#""never ends \"#), Ok(1));
    }

    #[test]
    fn too_many_values_and_too_deep_nesting_are_refused() {
        let many = format!("[{}1]", "1,".repeat(MAX_VALUES));
        assert_eq!(
            scan(many.as_bytes()),
            Err(Fault::TooManyValues { limit: MAX_VALUES })
        );
        let deep = |depth| scan("[".repeat(depth).as_bytes());
        assert!(deep(MAX_DEPTH).is_ok());
        assert!(matches!(deep(MAX_DEPTH + 1), Err(Fault::BodyUnread(_))));
    }
}
