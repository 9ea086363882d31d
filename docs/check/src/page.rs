//! One page of Markdown: its links, its code, and its examples.

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

/// A parsed page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// From the root of the workspace, with `/` between names; empty if it is no file.
    pub path: String,
    /// The targets of its links and images: addresses, and paths with or without an anchor.
    pub links: Vec<String>,
    /// Its inline code.
    pub code: Vec<String>,
    /// Its fenced blocks.
    pub fences: Vec<Fence>,
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
        let mut fence: Option<Fence> = None;
        let line_of = |at: usize| 1 + markdown[..at].matches('\n').count();
        for (event, range) in Parser::new_ext(markdown, Options::ENABLE_TABLES).into_offset_iter() {
            match event {
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
                ) if link_type != LinkType::Email => page.links.push(dest_url.into_string()),
                Event::Code(code) => page.code.push(code.into_string()),
                Event::Text(text) => {
                    if let Some(fence) = &mut fence {
                        fence.text.push_str(&text);
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

#[cfg(test)]
mod tests {
    use super::{Fence, Page};

    #[test]
    fn links_and_images_are_found_and_code_has_none() {
        let page = Page::read(
            "See [a](b.md#c)\nand ![d](e.png).\n\n| f |\n|---|\n| [g](h.yaml) |\n\n`[i](j)`\n\n[k]\n\n[k]: l.md\n",
        );
        assert_eq!(page.links, ["b.md#c", "e.png", "h.yaml", "l.md"]);
    }

    #[test]
    fn code_within_text_is_found_whatever_quotes_it() {
        let page = Page::read("# `a`\n\n`b c` and `` ` ``\n\n```\n`d`\n```\n");
        assert_eq!(page.code, ["a", "b c", "`"]);
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
