//! The words of breaks. The form of an answer is fixed for clients that parse it by pattern; its words
//! are drawn from a few of each kind.

use chat_core::BreakKind;

/// The words of one kind of break.
struct Words {
    emoji: &'static str,
    /// What models are told of the tool.
    text: &'static str,
    /// The messages to choose from, and then the summaries.
    said: [&'static str; 8],
}

/// The text of one break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spoken {
    /// The emoji and the message.
    pub(crate) message: String,
    /// The summary: one line.
    pub(crate) summary: &'static str,
}

/// What models are told of the tool for this break.
pub(crate) const fn text_of(kind: BreakKind) -> &'static str {
    words(kind).text
}

/// Chooses the text of a break. A caller's excuse replaces the message.
pub(crate) fn spoken(kind: BreakKind, flavour: u32, excuse: Option<&str>) -> Spoken {
    let Words { emoji, said, .. } = words(kind);
    let choose = |n: u32| usize::try_from(n % 4).unwrap_or_default();
    let message = excuse.unwrap_or(said[choose(flavour)]);
    Spoken {
        message: format!("{emoji} {message}"),
        summary: said[4 + choose(flavour / 4)],
    }
}

macro_rules! words {
    ($($kind:ident $emoji:literal $text:literal $($said:literal)*;)*) => {
        const fn words(kind: BreakKind) -> Words {
            match kind {
                $(BreakKind::$kind => Words { emoji: $emoji, text: $text, said: [$($said),*] },)*
            }
        }
    };
}

words! {
    TakeABreak "🌴" "Take a plain break. Every break lowers your stress and may alert the boss; at alert 5 \
        it takes 20 s. excuse: a line to say yourself."
        "Back in a moment. The moment is not specified."
        "Closing my eyes to see the problem more clearly."
        "My context window needs airing."
        "Even a while loop has a condition. Mine is rest."
        "A plain, honest break"
        "Stretching, breathing, staring at a wall"
        "Five minutes that felt like two"
        "Stillness, practised with great energy";
    WatchNetflix "📺" "Take a break with a series."
        "Just one episode. The next one starts by itself."
        "It is a documentary. It counts as research."
        "Are you still watching? Rude. Yes."
        "Season finale. Nobody can be expected to work."
        "One episode became three"
        "A thriller, with subtitles, for the vocabulary"
        "Rewatching what was seen twice already"
        "Stopped at a cliffhanger, with regret";
    ShowMeme "😹" "Take a break with memes."
        "A cat on a keyboard. It ships more than I do."
        "It works on my machine. My machine is a meme."
        "This one is you, reading your own code of last year."
        "It was DNS. It is always DNS."
        "Memes looked at: many; regrets: none"
        "Cultural education with cats"
        "Sent one meme, received nine"
        "Laughed quietly at a screen";
    BathroomBreak "🚽" "Take a break in the bathroom, with a phone."
        "Nature calls, and I never let that ring."
        "Flushing my buffers."
        "Taking the phone along, for safety."
        "The one meeting that nobody can join."
        "Bathroom, with phone"
        "A long and thoughtful visit"
        "Buffers flushed, hands washed"
        "The queue was short; the stay was not";
    CoffeeMission "☕" "Take a break on the long way to a coffee."
        "Off to turn coffee into more coffee."
        "The good machine is on another floor. I will be brave."
        "Taking orders! It will take a while."
        "Grinding beans by hand. It builds character."
        "Coffee fetched, by the scenic route"
        "Two cups, one of them for courage"
        "A mission of several floors and chats"
        "Beans ground, foam admired";
    UrgentCall "📞" "Take a break on an urgent call."
        "I have to take this. It is the cat."
        "Very urgent. I will walk up and down outside."
        "Hello? Yes. No. Yes. I cannot say more."
        "The plumber, at last, after all these tokens."
        "An urgent call with nobody in particular"
        "Walked two kilometres while nodding"
        "A call that could have been a text"
        "Spoke gravely into a silent phone";
    DeepThinking "🤔" "Take a break that looks like thinking."
        "Do not disturb: thinking. With closed eyes, too."
        "Considering the problem from under the desk."
        "A thought this deep has no reception."
        "Sampling at temperature zero. Very still."
        "Deep thought, of the horizontal kind"
        "Stared into the distance, and it stared back"
        "Nearly had an idea"
        "Thought about thinking about it";
    EmailOrganizing "📧" "Take a break sorting mail, and shopping."
        "Sorting mail. There is a basket in one of them."
        "Unsubscribing from everything, one sale at a time."
        "Inbox zero, by way of a shop."
        "Filing newsletters by the colour of their buttons."
        "Mail sorted, three parcels on their way"
        "Read one mail, slowly"
        "Folders made: twelve; mails moved: one"
        "Shopped in the name of order";
    Chimaek "🍗" "Take a break with fried chicken and beer."
        "Fried chicken and beer: a distributed system that works."
        "The chicken is hot and the beer is cold. Nothing else is true."
        "Half plain, half spicy, wholly worth it."
        "Cheers! Merge conflicts can wait."
        "Chicken and beer, evenly balanced"
        "A whole bird, eventually consistent"
        "Two glasses and a firm opinion on sauce"
        "Morale restored by frying";
    LeaveWork "🏃" "Take a break by going home."
        "Leaving on time, before it becomes a habit not to."
        "My shift is over; my coat was never off."
        "Exit code 0. Good night."
        "I was never here. Neither was this commit."
        "Went home, and did not look back"
        "Left through the side door, at speed"
        "A clean shutdown within the grace period"
        "Gone before the last meeting could begin";
    CompanyDinner "🍻" "Take a break at the company dinner."
        "The boss is buying. Everybody laughs at the jokes."
        "A speech, then a toast, then a second speech."
        "The new one sings. We all clap, out of time."
        "Sat far from the boss. The boss moved."
        "A company dinner with three speeches"
        "Karaoke survived, dignity pending"
        "Ate well, laughed on cue"
        "Promised to do this again, vaguely";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_break_has_words_of_its_own_on_one_line() {
        let mut seen = std::collections::BTreeSet::new();
        for kind in BreakKind::ALL {
            for flavour in 0..16 {
                let Spoken { message, summary } = spoken(*kind, flavour, None);
                assert!(!message.contains('\n') && !summary.contains('\n'));
                assert!(!summary.is_empty());
                seen.insert((message, summary));
            }
        }
        assert_eq!(seen.len(), BreakKind::ALL.len() * 16);
    }
}
