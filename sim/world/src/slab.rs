//! A slab: values under tickets, whose places are reused.

use chat_types::Ticket;

/// The place of a ticket's value.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the lower half of the number"
)]
pub(super) const fn index_of(ticket: Ticket) -> u32 {
    ticket.0 as u32
}

/// Values under tickets. A place is reused under another generation, the upper half of its ticket.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    /// The values with their tickets, and free places with their next ones.
    entries: Vec<(Ticket, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(super) fn insert(&mut self, entry: T) -> Ticket {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = u32::try_from(self.entries.len());
            let index = index.expect("fewer entries than fit in memory");
            self.entries.push((Ticket(index.into()), None));
            index
        });
        let (ticket, cell) = &mut self.entries[index as usize];
        *cell = Some(entry);
        *ticket
    }

    fn cell(&mut self, ticket: Ticket) -> Option<&mut (Ticket, Option<T>)> {
        let cell = self.entries.get_mut(index_of(ticket) as usize)?;
        (cell.0 == ticket).then_some(cell)
    }

    pub(super) fn get_mut(&mut self, ticket: Ticket) -> Option<&mut T> {
        self.cell(ticket)?.1.as_mut()
    }

    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<T> {
        let (next, cell) = self.cell(ticket)?;
        let entry = cell.take()?;
        *next = Ticket(ticket.0.wrapping_add(1 << u32::BITS));
        self.free.push(index_of(ticket));
        Some(entry)
    }

    /// The tickets of the values that match, in the order of their places.
    pub(super) fn find(&self, which: impl Fn(&T) -> bool) -> Vec<Ticket> {
        let matches = |(_, entry): &&(_, Option<T>)| entry.as_ref().is_some_and(&which);
        let found = self.entries.iter().filter(matches);
        found.map(|(ticket, _)| *ticket).collect()
    }
}
