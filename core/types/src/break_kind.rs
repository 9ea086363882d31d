//! The breaks that one can take, by name.

use serde::{Deserialize, Serialize};

crate::listed! {
    /// The breaks that one can take. All follow the same rules, and differ in what is said.
    #[derive(Serialize, Deserialize)]
    BreakKind {
        /// Nothing in particular.
        TakeABreak "take_a_break",
        /// A series.
        WatchNetflix "watch_netflix",
        /// Something funny.
        ShowMeme "show_meme",
        /// With a phone.
        BathroomBreak "bathroom_break",
        /// A long way round for a coffee.
        CoffeeMission "coffee_mission",
        /// Of the family, or so.
        UrgentCall "urgent_call",
        /// Eyes closed.
        DeepThinking "deep_thinking",
        /// Shopping, in fact.
        EmailOrganizing "email_organizing",
        /// Fried chicken and beer.
        Chimaek "chimaek",
        /// At once.
        LeaveWork "leave_work",
        /// With the whole team.
        CompanyDinner "company_dinner",
    }
}

impl BreakKind {
    /// The break of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}
