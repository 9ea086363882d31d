//! Fences around peers' words.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::shown::one_line;

/// A fence for one result.
pub(super) struct Fence<'a> {
    /// All that it may have to enclose.
    whole: &'a Value,
    /// Drawn at the first use: most results contain no words of peers.
    pub(super) marker: Option<String>,
}

/// An unpredictable marker that does not occur in the texts to enclose.
fn draw(texts: &str) -> String {
    let mut seed = [0; 3];
    loop {
        // Without randomness the fence still works, but is predictable.
        let _ = getrandom::fill(&mut seed);
        let marker = URL_SAFE_NO_PAD.encode(seed);
        if !texts.contains(&marker) {
            return marker;
        }
        seed[0] = seed[0].wrapping_add(1);
    }
}

impl<'a> Fence<'a> {
    /// A fence for the texts of this result.
    pub(super) const fn of(whole: &'a Value) -> Self {
        Self {
            whole,
            marker: None,
        }
    }

    /// The text on one line, between two markers.
    pub(super) fn enclose(&mut self, text: &str) -> String {
        let whole = self.whole;
        let marker = self.marker.get_or_insert_with(|| draw(&whole.to_string()));
        let line = one_line(text);
        format!("<{marker}>{line}</{marker}>")
    }
}
