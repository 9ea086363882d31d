//! A stream of events of limited size: a faulty server cannot exhaust memory.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Bytes, HttpBody};
use hyper::body::Frame;

/// A body of server-sent events. An event that is too long ends it with an error.
#[derive(Debug)]
pub(super) struct Bounded<B> {
    inner: B,
    most: usize,
    /// The size of the incomplete event.
    event: usize,
    /// Whether the line is empty so far.
    is_blank: bool,
}

impl<B> Bounded<B> {
    /// Wraps a body, with the largest size of an event in bytes.
    pub(super) const fn new(inner: B, most: usize) -> Self {
        Self {
            inner,
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

impl<B> HttpBody for Bounded<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        let Some(frame) = frame.transpose().map_err(io::Error::other)? else {
            return Poll::Ready(None);
        };
        let is_short = frame
            .data_ref()
            .is_none_or(|bytes| self.has_short_events(bytes));
        Poll::Ready(Some(if is_short {
            Ok(frame)
        } else {
            let why = format!("an event has more than {} bytes", self.most);
            Err(io::Error::new(io::ErrorKind::InvalidData, why))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_counted_up_to_its_blank_line() {
        let mut body = Bounded::new((), 10);
        for _ in 0..3 {
            assert!(body.has_short_events(b"data: 1\r\n\r\n"));
            assert!(body.has_short_events(b"a\nb\n") && body.has_short_events(b"\n"));
        }
        assert!(body.has_short_events(b"12345\n1234") && !body.has_short_events(b"5"));
        let mut line = Bounded::new((), 10);
        assert!(!line.has_short_events(&[b'x'; 11]));
    }
}
