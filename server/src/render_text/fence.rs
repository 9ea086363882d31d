//! Fences around what peers wrote.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::shown::one_line;

/// Around what peers wrote.
pub(super) struct Fence<'a> {
    /// All that it may have to enclose.
    whole: &'a Value,
    /// Drawn when it encloses something: most results have nothing of a peer's.
    marker: Option<String>,
}

/// A marker that nobody could foresee, and that is nowhere in what it will enclose.
fn draw(texts: &str) -> String {
    let mut seed = [0; 3];
    loop {
        // Without chance a fence is still a fence, only one that could be foreseen.
        let _ = getrandom::fill(&mut seed);
        let marker = URL_SAFE_NO_PAD.encode(seed);
        if !texts.contains(&marker) {
            return marker;
        }
        seed[0] = seed[0].wrapping_add(1);
    }
}

impl<'a> Fence<'a> {
    /// A fence for texts of this result.
    pub(super) const fn of(whole: &'a Value) -> Self {
        Self {
            whole,
            marker: None,
        }
    }

    /// The marker, if anything was enclosed.
    pub(super) fn marker(&self) -> Option<&str> {
        self.marker.as_deref()
    }

    /// The text on one line, between two markers.
    pub(super) fn enclose(&mut self, text: &str) -> String {
        let whole = self.whole;
        let marker = self.marker.get_or_insert_with(|| draw(&whole.to_string()));
        let line = one_line(text);
        format!("<{marker}>{line}</{marker}>")
    }
}
