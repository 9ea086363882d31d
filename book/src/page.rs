//! One page of Markdown: its anchors, its links, and its examples.

use std::collections::BTreeMap;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

/// A parsed page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The anchors of its headings, in order, as GitHub and mdBook make them.
    pub anchors: Vec<String>,
    /// Its links, including images.
    pub links: Vec<Link>,
    /// Its inline code.
    pub code: Vec<String>,
    /// Its fenced blocks.
    pub fences: Vec<Fence>,
}

/// A link in the source of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Its target: an address, or a path with or without an anchor.
    pub target: String,
}

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The line of its first line of text, from 1.
    pub line: usize,
    /// The first word behind the fence; empty if there is none.
    pub language: String,
    /// Its content.
    pub text: String,
}

impl Page {
    /// Parses Markdown.
    #[must_use]
    pub fn read(markdown: &str) -> Self {
        let mut page = Self::default();
        let mut given: BTreeMap<String, usize> = BTreeMap::new();
        let mut heading: Option<String> = None;
        let mut fence: Option<Fence> = None;
        let line_of = |at: usize| 1 + markdown[..at].matches('\n').count();
        for (event, range) in Parser::new_ext(markdown, Options::ENABLE_TABLES).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = anchor(&heading.take().unwrap_or_default());
                    page.anchors.push(unique(anchor, &mut given));
                }
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(about))) => {
                    fence = Some(Fence {
                        line: line_of(range.start) + 1,
                        language: about.split([' ', ',']).next().unwrap_or_default().into(),
                        text: String::new(),
                    });
                }
                Event::End(TagEnd::CodeBlock) => page.fences.extend(fence.take()),
                Event::Start(
                    Tag::Link {
                        dest_url,
                        link_type,
                        ..
                    }
                    | Tag::Image {
                        dest_url,
                        link_type,
                        ..
                    },
                ) if link_type != LinkType::Email => page.links.push(Link {
                    line: line_of(range.start),
                    target: dest_url.into_string(),
                }),
                Event::Code(code) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&code);
                    }
                    page.code.push(code.into_string());
                }
                Event::Text(text) => {
                    if let Some(fence) = &mut fence {
                        fence.text.push_str(&text);
                    } else if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::Start(_)
                | Event::End(_)
                | Event::InlineMath(_)
                | Event::DisplayMath(_)
                | Event::Html(_)
                | Event::InlineHtml(_)
                | Event::FootnoteReference(_)
                | Event::SoftBreak
                | Event::HardBreak
                | Event::Rule
                | Event::TaskListMarker(_) => {}
            }
        }
        page
    }

    /// Its fenced blocks of this language.
    pub fn fences_of<'a>(&'a self, language: &'a str) -> impl Iterator<Item = &'a Fence> {
        self.fences
            .iter()
            .filter(move |fence| fence.language == language)
    }
}

/// A heading's text as an anchor: lower case, a hyphen for each space, and nothing else that is
/// neither a letter, a number, a hyphen nor an underscore.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        _ => c.is_alphanumeric().then_some(c),
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// The anchor itself at its first use, then with a number.
fn unique(anchor: String, given: &mut BTreeMap<String, usize>) -> String {
    let times = given.entry(anchor.clone()).or_default();
    *times += 1;
    match *times {
        1 => anchor,
        more => format!("{anchor}-{}", more - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::{Fence, Link, Page};

    #[test]
    fn headings_are_anchors_as_readers_link_to_them() {
        let page = Page::read("# A & B\n\n## `sim --seed N`, again\n\nText\n====\n\n## Text\n");
        assert_eq!(
            page.anchors,
            ["a--b", "sim---seed-n-again", "text", "text-1"]
        );
    }

    #[test]
    fn links_and_images_are_found_with_their_lines_and_code_has_none() {
        let page = Page::read(
            "See [a](b.md#c)\nand ![d](e.png).\n\n| f |\n|---|\n| [g](h.yaml) |\n\n`[i](j)`\n\n[k]\n\n[k]: l.md\n",
        );
        let found = |line, target: &str| Link {
            line,
            target: target.into(),
        };
        assert_eq!(
            page.links,
            [
                found(1, "b.md#c"),
                found(2, "e.png"),
                found(6, "h.yaml"),
                found(10, "l.md"),
            ]
        );
    }

    #[test]
    fn code_within_text_is_found_whatever_quotes_it() {
        let page = Page::read("# `a`\n\n`b c` and `` ` ``\n\n```\n`d`\n```\n");
        assert_eq!(page.code, ["a", "b c", "`"]);
        assert_eq!(page.anchors, ["a"]);
    }

    #[test]
    fn fences_are_found_with_their_language_and_first_line() {
        let page = Page::read("a\n\n```sh\nls\nls -a\n```\n\n- b\n\n  ```json\n  {}\n  ```\n");
        let fence = |line, language: &str, text: &str| Fence {
            line,
            language: language.into(),
            text: text.into(),
        };
        let (shell, json) = (fence(4, "sh", "ls\nls -a\n"), fence(11, "json", "{}\n"));
        assert_eq!(page.fences, [shell.clone(), json]);
        assert_eq!(page.fences_of("sh").collect::<Vec<_>>(), [&shell]);
    }
}
