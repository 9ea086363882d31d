//! Scripts for the hard rules.
