//! Links of the sources: every link must lead to an existing file and heading, and every page in
//! `docs/` must be in the table of contents.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ::book::page::Page;
use ::book::pages::{self, CONTENTS, Named, resolve};

use crate::outcome::Outcome;

/// The folder whose pages must be in the table of contents.
const PAGES: &str = "docs";

/// Checks every link.
pub(super) fn check(root: &Path) -> Outcome {
    let (pages, files) = match (pages::read(root), markdown_in(root)) {
        (Ok(pages), Ok(files)) => (pages, files),
        (Err(error), _) | (_, Err(error)) => return Outcome::Failed(error.to_string()),
    };
    let kind = |path: &str| {
        let path = root.join(path);
        match (path.is_file(), path.is_dir()) {
            (true, _) => Target::File,
            (_, true) => Target::Folder,
            _ => Target::Nothing,
        }
    };
    let mut found = findings(&pages, kind);
    found.extend(left_out(&pages, &files));
    Outcome::of_findings(&found)
}

/// The pages in `docs/`, without the table of contents.
fn markdown_in(root: &Path) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(PAGES))? {
        let name = entry?.file_name();
        let path = format!("{PAGES}/{}", name.to_string_lossy());
        if path.ends_with(".md") && path != CONTENTS {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn left_out(pages: &[Named], files: &[String]) -> Vec<String> {
    let is_there = |file: &&String| !pages.iter().any(|named| named.path == **file);
    let left_out = files.iter().filter(is_there);
    left_out
        .map(|file| format!("{CONTENTS} does not name {file}"))
        .collect()
}

/// The target of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    File,
    Folder,
    Nothing,
}

/// The broken links.
fn findings(pages: &[Named], kind: impl Fn(&str) -> Target) -> Vec<String> {
    let by_path: BTreeMap<&str, &Page> = pages
        .iter()
        .map(|named| (named.path.as_str(), &named.page))
        .collect();
    let mut found = Vec::new();
    for Named { path, page } in pages {
        for link in &page.links {
            if is_elsewhere(&link.target) {
                continue;
            }
            let (target, anchor) = match link.target.split_once('#') {
                Some((target, anchor)) => (target, Some(anchor)),
                None => (link.target.as_str(), None),
            };
            let target = match target {
                "" => path.clone(),
                _ => resolve(path, target),
            };
            let why = match (by_path.get(&*target), kind(&target)) {
                (Some(page), _) => wrong_anchor(page, anchor),
                (None, Target::File) if target.ends_with(".md") => {
                    Some(format!("{target} is no page of the book"))
                }
                (None, Target::File) => anchor.map(|_| format!("{target} has no headings")),
                (None, Target::Folder) => Some(format!("{target} is a folder: link to a file")),
                (None, Target::Nothing) => Some(format!("{target} does not exist")),
            };
            found.extend(why.map(|why| format!("{path}:{}: {why}", link.line)));
        }
    }
    found
}

fn wrong_anchor(page: &Page, anchor: Option<&str>) -> Option<String> {
    let anchor = anchor?;
    let has = page.anchors.iter().any(|one| one == anchor);
    (!has).then(|| format!("no heading is #{anchor}"))
}

/// Whether a link leads to another site, or is not a path.
pub(super) fn is_elsewhere(target: &str) -> bool {
    target
        .split(['/', '#'])
        .next()
        .is_some_and(|first| first.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::{Target, findings, left_out};
    use ::book::page::Page;
    use ::book::pages::Named;

    fn found(markdown: &str) -> Vec<String> {
        let page = |path: &str, text: &str| Named {
            path: path.into(),
            page: Page::read(text),
        };
        let pages = [page("docs/a.md", markdown), page("B.md", "# One two\n")];
        findings(&pages, |path| match path {
            "c.yaml" | "docs/lost.md" => Target::File,
            "docs" => Target::Folder,
            _ => Target::Nothing,
        })
    }

    #[test]
    fn valid_links_have_no_findings() {
        let text = "# A\n\n[a](#a) [b](../B.md) [b](../B.md#one-two) [c](../c.yaml) <https://x.example/y#z>\n";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn broken_links_are_found_with_their_lines() {
        let text = "# A\n\n[a](#b)\n[b](B.md)\n[b](../B.md#one)\n[c](../c.yaml#d)\n[d](../docs)\n[e](lost.md)\n![f](f.png)\n";
        assert_eq!(
            found(text),
            [
                "docs/a.md:3: no heading is #b",
                "docs/a.md:4: docs/B.md does not exist",
                "docs/a.md:5: no heading is #one",
                "docs/a.md:6: c.yaml has no headings",
                "docs/a.md:7: docs is a folder: link to a file",
                "docs/a.md:8: docs/lost.md is no page of the book",
                "docs/a.md:9: docs/f.png does not exist",
            ]
        );
    }

    #[test]
    fn a_page_that_the_contents_leave_out_is_found() {
        let files = ["docs/lost.md".to_owned()];
        assert_eq!(
            left_out(&[], &files),
            ["docs/SUMMARY.md does not name docs/lost.md"]
        );
    }
}
