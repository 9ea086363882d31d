//! Streams of events of limited size: a faulty server cannot exhaust memory.

use std::io;

use axum::body::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use sse_stream::{Error, Sse, SseStream};

/// The events of a server.
pub(super) type Events = BoxStream<'static, Result<Sse, Error>>;

/// The events in this body. One that has more than `most` bytes ends them with an error.
pub(super) fn events<E>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    most: usize,
) -> Events
where
    E: std::error::Error + Send + Sync + 'static,
{
    let mut sizes = Sizes::new(most);
    let bytes = body.map(move |bytes| {
        let bytes = bytes.map_err(io::Error::other)?;
        match sizes.has_short_events(&bytes) {
            true => Ok(bytes),
            false => {
                let why = format!("an event has more than {most} bytes");
                Err(io::Error::new(io::ErrorKind::InvalidData, why))
            }
        }
    });
    SseStream::from_bytes_stream(bytes).boxed()
}

/// The sizes of the events in bytes that come in pieces.
#[derive(Debug)]
struct Sizes {
    most: usize,
    /// The size of the incomplete event.
    event: usize,
    /// Whether the line is empty so far.
    is_blank: bool,
}

impl Sizes {
    const fn new(most: usize) -> Self {
        Self {
            most,
            event: 0,
            is_blank: true,
        }
    }

    /// Whether all events are short enough after these bytes. A blank line ends an event (HTML
    /// Living Standard, 9.2).
    fn has_short_events(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            self.event += 1;
            match byte {
                b'\n' if self.is_blank => self.event = 0,
                b'\n' => self.is_blank = true,
                b'\r' => {}
                _ => self.is_blank = false,
            }
            if self.event > self.most {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_counted_up_to_its_blank_line() {
        let mut body = Sizes::new(10);
        for _ in 0..3 {
            assert!(body.has_short_events(b"data: 1\r\n\r\n"));
            assert!(body.has_short_events(b"a\nb\n") && body.has_short_events(b"\n"));
        }
        assert!(body.has_short_events(b"12345\n1234") && !body.has_short_events(b"5"));
        let mut line = Sizes::new(10);
        assert!(!line.has_short_events(&[b'x'; 11]));
    }
}
