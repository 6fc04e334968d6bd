//! Readers that copy records while they are written know whether what they have is whole.

use std::panic::{AssertUnwindSafe, catch_unwind};

use loom::sync::Arc;
use loom::thread;
use mpitrace_format::layout::NOT_RETURNED;
use mpitrace_models::chunk::{Chunk, Copied, OWN, Protocol};
use mpitrace_models::word::Without;

/// All words of a record are of one call. One that has returned may still be without its exit.
fn assert_is_of_one_call(copied: Copied) {
    let Copied { enter, ticks, position, repetition, operation, .. } = copied;
    assert_eq!([position, repetition, operation].map(u64::from), [enter; 3], "{copied:?}");
    assert!(ticks.is_none_or(|ticks| u64::from(ticks) == enter), "{copied:?}");
}

/// A call begins and returns.
fn a_call(protocol: Protocol) {
    loom::model(move || {
        let chunk = Arc::new(Chunk::drawn(protocol));
        let writer = thread::spawn({
            let chunk = chunk.clone();
            move || {
                chunk.begin(7);
                chunk.end(7);
            }
        });
        chunk.copy().into_iter().for_each(assert_is_of_one_call);
        writer.join().unwrap();
        assert_eq!(chunk.copy().map(|copied| copied.ticks), Some(Some(7)));
    });
}

/// A call fails, and the next one takes its place.
fn a_call_that_is_taken_back(protocol: Protocol) {
    loom::model(move || {
        let chunk = Arc::new(Chunk::drawn(protocol));
        let writer = thread::spawn({
            let chunk = chunk.clone();
            move || {
                chunk.begin(7);
                chunk.take_back();
                chunk.begin(8);
            }
        });
        chunk.copy().into_iter().for_each(assert_is_of_one_call);
        writer.join().unwrap();
        assert_eq!(chunk.copy().map(|copied| copied.enter), Some(8));
    });
}

/// A chunk is drawn again while it is read: what is taken for the first draw's is the first draw's.
fn a_chunk_that_is_drawn_again(protocol: Protocol) {
    loom::model(move || {
        let chunk = Arc::new(Chunk::drawn(protocol));
        chunk.begin(7);
        chunk.end(7);
        let writer = thread::spawn({
            let chunk = chunk.clone();
            move || {
                chunk.draw_again(2);
                chunk.begin(8);
            }
        });
        if let Some(copied) = chunk.copy() {
            assert_is_of_one_call(copied);
            assert_eq!(copied.enter, if copied.draw == 1 { 7 } else { 8 }, "{copied:?}");
        }
        writer.join().unwrap();
        assert_eq!(chunk.copy().map(|copied| (copied.draw, copied.enter, copied.ticks)), Some((2, 8, None)));
    });
}

/// A request is completed by another thread than the one that draws its chunk again: the call that has taken the place
/// of its record does not get its exit.
fn a_request_whose_chunk_is_drawn_again(protocol: Protocol) {
    loom::model(move || {
        let chunk = Arc::new(Chunk::drawn(protocol));
        chunk.begin(7);
        let writer = thread::spawn({
            let chunk = chunk.clone();
            move || {
                chunk.draw_again(2);
                chunk.begin(8);
            }
        });
        chunk.complete(1, 7);
        writer.join().unwrap();
        assert_eq!(chunk.duration(), NOT_RETURNED);
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
    let taken_back: fn(Protocol) = a_call_that_is_taken_back;
    let without = |without: Without| Protocol { without, ..OWN };
    let weaker = [
        ("withdraw, no fence: a record", without(Without::FenceOfWriter), taken_back),
        ("withdraw, no fence: a chunk", without(Without::FenceOfWriter), a_chunk_that_is_drawn_again),
        ("publish, relaxed", without(Without::Release), a_call),
        ("read, no fence: a call", without(Without::FencesOfReader), a_call),
        ("read, no fence: a record", without(Without::FencesOfReader), taken_back),
        ("read, not looked at again", without(Without::Look), taken_back),
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
