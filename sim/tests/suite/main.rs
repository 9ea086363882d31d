//! The simulator from outside: runs against live servers, reports, and many runs. All tests are one
//! program, which is linked once.

mod live;
mod report;
mod runs;
