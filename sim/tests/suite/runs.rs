//! Tests of many runs: exploring, shrinking, exhausting and comparing.

mod breaks;
mod compare;
mod exhaust;
mod explore;
mod guided;
mod journal;
mod shown;
mod shrink;
mod witness;
