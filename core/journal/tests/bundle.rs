//! A bundle gives the journal that it was made of, and any change of it is noticed.

use std::ops::ControlFlow;

use chat_core::Position;
use chat_journal::{Bundle, BundleWriter, Checkpoint, Identity, Store as _};

fn identity() -> Identity {
    Identity {
        realm: 1 << 100,
        seed: 7,
        secret: [3; 32],
    }
}

fn written() -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = BundleWriter::begin(&identity().origin(), &mut out);
    writer.marks(b"marks", &mut out);
    writer.snapshot(Position(4), b"older", &mut out);
    writer.snapshot(Position(9), b"newer", &mut out);
    let checkpoint = Checkpoint {
        position: Position(9),
        digest: u64::MAX - 1,
    };
    writer.checkpoint(checkpoint, &mut out);
    writer.record(Position(5), b"first", &mut out);
    writer.record(Position(10), b"", &mut out);
    writer.end(&mut out);
    out
}

#[test]
fn a_bundle_has_what_was_written() {
    let file = written();
    let mut bundle = Bundle::read(&file).unwrap();
    assert_eq!(bundle.origin, identity().origin());
    assert_eq!(bundle.checkpoints.len(), 1);
    assert_eq!(bundle.checkpoints[0].digest, u64::MAX - 1);
    let files = &mut bundle.files;
    assert_eq!(files.marks().unwrap(), b"marks");
    assert_eq!(files.snapshot(0).unwrap().unwrap(), b"newer");
    assert_eq!(files.snapshot(1).unwrap().unwrap(), b"older");
    assert_eq!(files.snapshot(2).unwrap(), None);
    let mut records = Vec::new();
    let mut all = |first: Position, record: &[u8]| {
        records.push((first.0, record.to_vec()));
        ControlFlow::Continue(())
    };
    files.records(Position(0), &mut all).unwrap();
    assert_eq!(records, [(5, b"first".to_vec()), (10, Vec::new())]);
    let secret = identity().secret;
    assert!(file.windows(8).all(|bytes| bytes != &secret[..8]));
}

#[test]
fn a_bundle_that_was_cut_or_changed_is_refused() {
    let whole = written();
    for length in 0..whole.len() {
        assert!(Bundle::read(&whole[..length]).is_err(), "{length}");
    }
    for byte in 0..whole.len() {
        for bit in 0..8 {
            let mut file = whole.clone();
            file[byte] ^= 1 << bit;
            assert!(Bundle::read(&file).is_err(), "bit {bit} of byte {byte}");
        }
    }
    let mut longer = whole.clone();
    longer.push(0);
    assert_eq!(Bundle::read(&longer).unwrap_err(), "its checksum is wrong");
    let why = Bundle::read(b"something else").unwrap_err();
    assert_eq!(why, "it is no journal that `talking-stick records` wrote");
}
