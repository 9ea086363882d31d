//! What is done with many runs: they are explored, shrunk, exhausted and compared.

mod breaks;
mod compare;
mod exhaust;
mod explore;
mod guided;
mod shrink;
mod witness;
