//! Fences around what peers wrote.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Around what peers wrote.
pub(super) struct Fence {
    pub(super) marker: String,
    pub(super) used: bool,
}

impl Fence {
    /// A marker that nobody could foresee, and that is nowhere in what it will enclose.
    pub(super) fn draw(texts: &str) -> Self {
        let mut seed = [0; 3];
        loop {
            // Without chance a fence is still a fence, only one that could be foreseen.
            let _ = getrandom::fill(&mut seed);
            let marker = URL_SAFE_NO_PAD.encode(seed);
            if !texts.contains(&marker) {
                return Self {
                    marker,
                    used: false,
                };
            }
            seed[0] = seed[0].wrapping_add(1);
        }
    }

    /// The text on one line, between two markers.
    pub(super) fn enclose(&mut self, text: &str) -> String {
        self.used = true;
        let marker = &self.marker;
        let line = one_line(text);
        format!("<{marker}>{line}</{marker}>")
    }
}

/// Line breaks and other steering characters are shown, not obeyed.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => line.push_str("\\n"),
            '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                // Writing to a string cannot fail.
                let _ = write!(line, "\\u{:04x}", u32::from(c));
            }
            c if c.is_control() => {
                let _ = write!(line, "\\u{:04x}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line
}
