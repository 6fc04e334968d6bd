//! Readers that copy records while they are written know whether what they have is whole.

use std::panic::{AssertUnwindSafe, catch_unwind};

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::thread;
use mpitrace_models::chunk::{Chunk, Copied, OWN, Protocol};

/// All words of a record are of one call. One that has returned may still be without its exit.
fn assert_is_of_one_call(copied: Copied) {
    let Copied { enter, exit, position, operation, .. } = copied;
    assert_eq!((position, operation), (enter, enter), "{copied:?}");
    assert!(exit == 0 || exit == enter, "{copied:?}");
}

/// A call begins and returns.
fn a_call(protocol: Protocol) {
    loom::model(move || {
        let chunk = Arc::new(Chunk::drawn(protocol));
        let writer = thread::spawn({
            let chunk = chunk.clone();
            move || {
                chunk.begin(0, 7);
                chunk.end(0, 7);
            }
        });
        chunk.copy(0).into_iter().for_each(assert_is_of_one_call);
        writer.join().unwrap();
        assert_eq!(chunk.copy(0).map(|copied| copied.exit), Some(7));
    });
}

/// A call fails, and the next one takes its place.
fn a_call_that_is_taken_back(protocol: Protocol) {
    loom::model(move || {
        let chunk = Arc::new(Chunk::drawn(protocol));
        let writer = thread::spawn({
            let chunk = chunk.clone();
            move || {
                chunk.begin(0, 7);
                chunk.take_back(0);
                chunk.begin(0, 8);
            }
        });
        chunk.copy(0).into_iter().for_each(assert_is_of_one_call);
        writer.join().unwrap();
        assert_eq!(chunk.copy(0).map(|copied| copied.enter), Some(8));
    });
}

/// A chunk is drawn again while it is read: what is taken for the first draw's is the first draw's.
fn a_chunk_that_is_drawn_again(protocol: Protocol) {
    loom::model(move || {
        let chunk = Arc::new(Chunk::drawn(protocol));
        chunk.begin(0, 7);
        chunk.end(0, 7);
        let writer = thread::spawn({
            let chunk = chunk.clone();
            move || {
                chunk.draw_again(2);
                chunk.begin(0, 8);
            }
        });
        if let Some(copied) = chunk.copy(0) {
            assert_is_of_one_call(copied);
            assert_eq!(copied.enter, if copied.draw == 1 { 7 } else { 8 }, "{copied:?}");
        }
        writer.join().unwrap();
        assert_eq!(chunk.copy(0).map(|copied| (copied.draw, copied.enter, copied.exit)), Some((2, 8, 0)));
    });
}

/// A request is completed by another thread than the one that draws its chunk again: the call that has taken the place
/// of its record does not get its exit.
fn a_request_whose_chunk_is_drawn_again(protocol: Protocol) {
    loom::model(move || {
        let chunk = Arc::new(Chunk::drawn(protocol));
        chunk.begin(0, 7);
        let writer = thread::spawn({
            let chunk = chunk.clone();
            move || {
                chunk.draw_again(2);
                chunk.begin(0, 8);
            }
        });
        chunk.complete(1, 0, 7);
        writer.join().unwrap();
        assert_eq!(chunk.exit(0), 0);
    });
}

#[test]
fn a_record_that_counts_is_whole() {
    a_call(OWN);
}

#[test]
fn a_record_in_the_place_of_another_is_not_mixed_with_it() {
    a_call_that_is_taken_back(OWN);
}

#[test]
fn records_of_two_draws_are_not_mixed() {
    a_chunk_that_is_drawn_again(OWN);
}

#[test]
fn an_exit_does_not_come_into_the_record_of_another_draw() {
    a_request_whose_chunk_is_drawn_again(OWN);
}

/// The models above see each of these: else they would prove nothing.
#[test]
fn a_weaker_order_is_found() {
    fn plain_withdraw(word: &AtomicU64) {
        word.store(0, Ordering::Relaxed);
    }
    fn plain_publish(word: &AtomicU64, value: u64) {
        word.store(value, Ordering::Relaxed);
    }
    fn plain_read(word: &AtomicU64) -> u64 {
        word.load(Ordering::Relaxed)
    }
    fn plain_is_unchanged(word: &AtomicU64, value: u64) -> bool {
        word.load(Ordering::Relaxed) == value
    }
    fn always_unchanged(_: &AtomicU64, _: u64) -> bool {
        fence(Ordering::Acquire);
        true
    }
    let taken_back: fn(Protocol) = a_call_that_is_taken_back;
    let weaker = [
        ("withdraw, no fence: a record", Protocol { withdraw: plain_withdraw, ..OWN }, taken_back),
        ("withdraw, no fence: a chunk", Protocol { withdraw: plain_withdraw, ..OWN }, a_chunk_that_is_drawn_again),
        ("publish, relaxed", Protocol { publish: plain_publish, ..OWN }, a_call),
        ("read, relaxed", Protocol { read: plain_read, ..OWN }, a_call),
        ("is_unchanged, no fence", Protocol { is_unchanged: plain_is_unchanged, ..OWN }, taken_back),
        ("is_unchanged, not asked", Protocol { is_unchanged: always_unchanged, ..OWN }, taken_back),
        (
            "drawn while a request is completed",
            Protocol { keeps_from_drawing: false, ..OWN },
            a_request_whose_chunk_is_drawn_again,
        ),
    ];
    for (what, protocol, model) in weaker {
        assert!(catch_unwind(AssertUnwindSafe(|| model(protocol))).is_err(), "not found: {what}");
    }
}
