//! The pages that mdBook wrote: every link must lead to a written file, and to an id in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use ::book::pages::resolve;

use super::links::is_elsewhere;
use crate::outcome::Outcome;

/// Checks every link of every page below `folder`.
pub(super) fn check(folder: &Path) -> Outcome {
    match read(folder, "") {
        Ok(written) => Outcome::of_findings(&findings(&written)),
        Err(error) => Outcome::Failed(format!("cannot read the book: {error}")),
    }
}

/// All files by path: a page with its text, any other file with `None`.
type Written = BTreeMap<String, Option<String>>;

fn read(root: &Path, folder: &str) -> io::Result<Written> {
    let mut written = Written::new();
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = format!("{folder}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            written.extend(read(root, &format!("{path}/"))?);
        } else if path.ends_with(".html") {
            written.insert(path, Some(fs::read_to_string(entry.path())?));
        } else {
            written.insert(path, None);
        }
    }
    Ok(written)
}

fn findings(written: &Written) -> Vec<String> {
    let pages = || {
        written
            .iter()
            .filter_map(|(path, text)| Some((path, text.as_deref()?)))
    };
    let ids: BTreeMap<&String, BTreeSet<&str>> = pages()
        .map(|(path, text)| (path, values(text, "id").collect()))
        .collect();
    let mut found = BTreeSet::new();
    for (path, text) in pages() {
        for link in values(text, "href").chain(values(text, "src")) {
            if is_elsewhere(link) {
                continue;
            }
            let (target, id) = link.split_once('#').unwrap_or((link, ""));
            let target = match target {
                "" => path.clone(),
                _ => resolve(path, target),
            };
            if !written.contains_key(&target) {
                found.insert(format!("{path}: {link}: no such file"));
            } else if !id.is_empty() && !ids.get(&target).is_some_and(|ids| ids.contains(id)) {
                found.insert(format!("{path}: {link}: no such id"));
            }
        }
    }
    found.into_iter().collect()
}

/// The values of an attribute. Quotes in a page's text are escaped.
fn values<'a>(html: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let begin = format!(" {attribute}=\"");
    let mut rest = html;
    std::iter::from_fn(move || {
        let (_, behind) = rest.split_once(&*begin)?;
        let (value, behind) = behind.split_once('"')?;
        rest = behind;
        Some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::{Written, findings};

    fn found(files: &[(&str, Option<&str>)]) -> Vec<String> {
        let written = files
            .iter()
            .map(|(path, text)| ((*path).into(), text.map(Into::into)));
        findings(&written.collect::<Written>())
    }

    #[test]
    fn links_to_files_and_ids_that_are_there_have_no_findings() {
        let a =
            "<a href=\"docs/b.html#c\"></a><img src=\"d.png\"><a href=\"https://x.example\"></a>";
        let b = "<h2 id=\"c\"><a class=\"header\" href=\"#c\"></a></h2><a href=\"../a.html\"></a>";
        let files = [
            ("a.html", Some(a)),
            ("docs/b.html", Some(b)),
            ("d.png", None),
        ];
        assert_eq!(found(&files), [""; 0]);
    }

    #[test]
    fn broken_links_in_html_are_found() {
        let a = "<a href=\"b.html\"></a><a href=\"a.html#e\"></a><img alt=\"f\" src=\"f.png\">";
        assert_eq!(
            found(&[("a.html", Some(a))]),
            [
                "a.html: a.html#e: no such id",
                "a.html: b.html: no such file",
                "a.html: f.png: no such file",
            ]
        );
    }
}
