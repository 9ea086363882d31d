//! Seeded virtual users in virtual time.
