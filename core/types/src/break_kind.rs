//! The kinds of breaks.

use serde::{Deserialize, Serialize};

crate::listed! {
    /// The kinds of breaks. All follow the same rules, and differ only in the texts of their
    /// answers.
    #[derive(Serialize, Deserialize)]
    BreakKind {
        /// A break without a stated purpose.
        TakeABreak "take_a_break",
        /// Watching a series.
        WatchNetflix "watch_netflix",
        /// Looking at a meme.
        ShowMeme "show_meme",
        /// A bathroom break, with a phone.
        BathroomBreak "bathroom_break",
        /// A long walk to fetch a coffee.
        CoffeeMission "coffee_mission",
        /// A private phone call that passes for an urgent one.
        UrgentCall "urgent_call",
        /// Eyes closed, as if in thought.
        DeepThinking "deep_thinking",
        /// Online shopping that passes for sorting mail.
        EmailOrganizing "email_organizing",
        /// Fried chicken and beer.
        Chimaek "chimaek",
        /// Leaving work at once.
        LeaveWork "leave_work",
        /// A dinner with the whole team.
        CompanyDinner "company_dinner",
    }
}
