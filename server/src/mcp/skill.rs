//! The skill that tells an agent how to use the chat, in MCP's extension for skills (SEP-2640). It is one
//! file, which is a resource, too.

use rmcp::model::{
    ErrorData, GetSkillResult, ListSkillsResult, ReadResourceResult, Resource, ResourceContents,
    Skill, SkillFrontmatter, SkillResource, SkillResources,
};

/// The address of the file.
const URI: &str = "skill://talking-stick/SKILL.md";

/// The file. It begins with its name and description, between lines of dashes.
const FILE: &str = include_str!("SKILL.md");

/// Its content type.
const MARKDOWN: &str = "text/markdown";

fn skill() -> Skill {
    let field = |name: &str| {
        let fields = FILE.lines().filter_map(|line| line.split_once(": "));
        let value = fields.into_iter().find(|(field, _)| *field == name);
        value.map(|(_, value)| value).unwrap_or_default()
    };
    let frontmatter = SkillFrontmatter::new(field("name"), field("description"));
    let file = SkillResource::from_bytes(URI, FILE.as_bytes());
    Skill::new(URI, frontmatter, SkillResources::Files(vec![file]))
}

/// The list of the only skill.
pub(crate) fn list() -> ListSkillsResult {
    ListSkillsResult::with_all_items(vec![skill()])
}

/// The skill at this address.
///
/// # Errors
/// There is none.
pub(crate) fn get(uri: &str) -> Result<GetSkillResult, ErrorData> {
    match uri == URI {
        true => Ok(GetSkillResult::new(skill())),
        false => Err(ErrorData::invalid_params(
            format!("no skill is at this address; there is one at {URI}"),
            None,
        )),
    }
}

/// The file as a listed resource.
pub(super) fn listed() -> Resource {
    let Skill { frontmatter, .. } = skill();
    Resource::new(URI, frontmatter.name)
        .with_description(frontmatter.description)
        .with_mime_type(MARKDOWN)
}

/// The file, if it is at this address.
pub(crate) fn read(uri: &str) -> Option<ReadResourceResult> {
    let contents = || ResourceContents::text(FILE, URI).with_mime_type(MARKDOWN);
    (uri == URI).then(|| ReadResourceResult::new(vec![contents()]))
}
