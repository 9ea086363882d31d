//! The lines of a client on stdin, each of which should be a JSON text. One that is none is answered
//! with an error, and the conversation goes on. The library would leave it without an answer.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rmcp::RoleServer;
use rmcp::model::ErrorData;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

/// The largest line in bytes; a line is a message of a local client.
const MAX_LINE: usize = 1 << 20;

/// The most bytes that are read at a time.
const PIECE: usize = 8 * 1_024;

/// Standard input without the lines that are no JSON. It reports its end.
struct CheckedInput<R> {
    inner: R,
    ended: CancellationToken,
    /// The incomplete line.
    line: Vec<u8>,
    /// Whether that line is too long: the rest of it is dropped.
    is_too_long: bool,
    /// Whole lines that are not taken yet.
    checked: Vec<u8>,
    /// Receives what is wrong with each other line.
    broken: UnboundedSender<String>,
}

impl<R> CheckedInput<R> {
    /// Takes these bytes. Returns whether a line among them is broken.
    fn take(&mut self, bytes: &[u8]) -> bool {
        let mut is_broken = false;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let mut why = None;
            if !self.is_too_long && self.line.len() + piece.len() > MAX_LINE {
                self.is_too_long = true;
                self.line = Vec::new();
                why = Some(format!("a line has more than {MAX_LINE} bytes"));
            }
            if !self.is_too_long {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") && !std::mem::take(&mut self.is_too_long) {
                let line = std::mem::take(&mut self.line);
                match check(&line) {
                    Ok(()) => self.checked.extend_from_slice(&line),
                    Err(wrong) => why = Some(wrong),
                }
            }
            if let Some(why) = why {
                is_broken = true;
                // The reader is there as long as this end.
                let _ = self.broken.send(why);
            }
        }
        is_broken
    }
}

/// Whether a line is one JSON text, or blank.
fn check(line: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(line).map_err(|_| "a line is not text in UTF-8")?;
    let text = text.trim_start_matches('\u{feff}').trim();
    let parsed = serde_json::from_str::<IgnoredAny>(text);
    match parsed {
        Err(error) if !text.is_empty() => Err(format!("a line is no JSON: {error}")),
        Ok(_) | Err(_) => Ok(()),
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for CheckedInput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        while self.checked.is_empty() {
            let mut piece = [0; PIECE];
            let mut read = ReadBuf::new(&mut piece);
            let polled = ready!(Pin::new(&mut self.inner).poll_read(context, &mut read));
            if polled.is_err() || read.filled().is_empty() {
                self.ended.cancel();
                return Poll::Ready(polled);
            }
            if self.take(read.filled()) {
                // The answer comes before the next line is read.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        let taken = self.checked.len().min(into.remaining());
        into.put_slice(&self.checked[..taken]);
        self.checked.drain(..taken);
        Poll::Ready(Ok(()))
    }
}

/// The conversation with a client.
pub(super) struct Lines<T> {
    inner: T,
    broken: UnboundedReceiver<String>,
    /// An answer to a broken line that is being written.
    answer: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

/// Reads lines from `input`, whose end cancels `ended`, and writes to `output`.
pub(super) fn lines<R, W>(
    (input, output): (R, W),
    ended: CancellationToken,
) -> Lines<impl Transport<RoleServer, Error = std::io::Error>>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (report, broken) = unbounded_channel();
    let input = CheckedInput {
        inner: input,
        ended,
        line: Vec::new(),
        is_too_long: false,
        checked: Vec::new(),
        broken: report,
    };
    Lines {
        inner: AsyncRwTransport::new(input, output),
        broken,
        answer: None,
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Lines<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // What polls this may stop at any time, and call it again.
            if let Some(answer) = &mut self.answer {
                answer.await;
                self.answer = None;
            }
            tokio::select! {
                biased;
                Some(why) = self.broken.recv() => {
                    let error = ErrorData::parse_error(why, None);
                    let sent = self.inner.send(TxJsonRpcMessage::<RoleServer>::error(error, None));
                    self.answer = Some(Box::pin(async move {
                        // An output that cannot be written ends the conversation by itself.
                        let _ = sent.await;
                    }));
                }
                message = self.inner.receive() => return message,
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex, split};

    use super::*;

    #[tokio::test]
    async fn what_is_no_json_is_answered_and_the_next_line_is_taken() {
        let (client, server) = duplex(4 * MAX_LINE);
        let ended = CancellationToken::new();
        let mut served = lines(split(server), ended.clone());
        let (read, mut write) = split(client);
        let mut answers = BufReader::new(read).lines();
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        let long = vec![b'x'; MAX_LINE + 9];
        for broken in [&b"hello"[..], b"{\"a\":", b"\xff", b"\"\xff\"", b"[", &long] {
            write.write_all(b"\n \r\n").await.unwrap();
            write.write_all(broken).await.unwrap();
            write
                .write_all(format!("\n{ping}").as_bytes())
                .await
                .unwrap();
            assert!(served.receive().await.is_some());
            let answer = answers.next_line().await.unwrap().unwrap();
            let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
            assert_eq!(answer["error"]["code"], -32_700, "{answer}");
            assert_eq!(answer.get("id"), None, "{answer}");
        }
        assert!(!ended.is_cancelled());
        write.shutdown().await.unwrap();
        assert!(served.receive().await.is_none() && ended.is_cancelled());
    }
}
