//! `log_progress`: with several servers, what a server appends to their log is in it in time, and a
//! batch that is due precedes every other record.

use super::Rule;
use crate::comparison::Comparison;
use crate::difference::Difference;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::LogProgress,
    counts: &[Comparison::LogRecord],
    breaks: |difference, _| matches!(difference, Difference::Overtaken { .. }),
};
