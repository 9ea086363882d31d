//! Checks that the files of a release say the same: versions, names, addresses, arguments.

use std::fs;

use book::pages::root;
use clap::Parser as _;
use serde_json::Value;
use server_settings::cli::{Cli, Command};

use crate::text;

fn json(path: &str) -> Value {
    serde_json::from_str(&text(path)).expect(path)
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&text(path)).expect(path)
}

/// A text of the workspace's manifest.
fn of_workspace(key: &str) -> String {
    let manifest = text("Cargo.toml");
    let wanted = format!("{key} = \"");
    let mut lines = manifest.lines();
    let value = lines.find_map(|line| line.strip_prefix(&wanted));
    value.expect(key).trim_end_matches('"').to_owned()
}

#[test]
fn the_registry_and_the_bundle_have_the_version_and_the_name_of_the_package() {
    let (version, address) = (of_workspace("version"), of_workspace("repository"));
    let server = json("deploy/server.json");
    let package = &server["packages"][0];
    let bundle = json("deploy/mcpb/manifest.json");
    for found in [&server["version"], &package["version"], &bundle["version"]] {
        assert_eq!(found, &version);
    }
    for found in [&server["repository"]["url"], &bundle["repository"]["url"]] {
        assert_eq!(found, &address);
    }
    assert_eq!(package["identifier"], "talking-stick");
    assert_eq!(package["registryType"], "cargo");
    // The registry of servers takes no more.
    let about = server["description"].as_str().expect("a text");
    assert!(about.chars().count() <= 100, "{about}");
    // It finds its own name in the text that the package's page shows, where no comment is.
    let name = server["name"].as_str().expect("a name");
    let shown = format!("`mcp-name: {name}`");
    assert!(text("README.md").contains(&shown), "{shown}");
    let owner = address.trim_start_matches("https://github.com/");
    assert_eq!(name, format!("io.github.{owner}"));
    assert!(text("docs/ci.md").contains(&format!("uses: {owner}@v{version}")));
    assert!(text("action.yml").contains(&format!("uses: {owner}@v{version}")));
}

#[test]
fn clients_are_told_arguments_that_the_server_takes() {
    let of_registry = json("deploy/server.json");
    let mut words = vec!["talking-stick".to_owned()];
    let arguments = of_registry["packages"][0]["packageArguments"].as_array();
    for argument in arguments.expect("a list") {
        let part = |key: &str| argument[key].as_str().map(str::to_owned);
        words.extend(["name", "value", "default"].into_iter().filter_map(part));
    }
    let bundle = json("deploy/mcpb/manifest.json");
    let of_bundle = bundle["server"]["mcp_config"]["args"].as_array();
    let of_bundle = of_bundle.expect("a list").iter().map(|word| {
        let word = word.as_str().expect("a text");
        match word.strip_prefix("${user_config.") {
            Some(name) => {
                let name = name.trim_end_matches('}');
                bundle["user_config"][name]["default"].as_str().expect(name)
            }
            None => word,
        }
    });
    let of_bundle: Vec<_> = ["talking-stick"].into_iter().chain(of_bundle).collect();
    for words in [words.iter().map(String::as_str).collect(), of_bundle] {
        let cli = Cli::try_parse_from(&words).expect("the server takes them");
        assert!(matches!(cli.command, Some(Command::Stdio(_))), "{words:?}");
    }
}

#[test]
fn the_action_and_the_workflows_name_files_that_are_there() {
    let action = yaml("action.yml");
    let mut jobs = vec![action["runs"].clone()];
    for path in [".github/workflows/ci.yml", ".github/workflows/release.yml"] {
        let workflow = yaml(path);
        jobs.extend(
            workflow["jobs"]
                .as_object()
                .expect("a map")
                .values()
                .cloned(),
        );
    }
    let steps = jobs
        .iter()
        .flat_map(|job| job["steps"].as_array().expect("a list"));
    let runs: Vec<_> = steps.filter_map(|step| step["run"].as_str()).collect();
    let words = runs.iter().flat_map(|run| run.split([' ', '\n', '"']));
    let scripts = words.filter_map(|word| word.find(".ci/").map(|at| &word[at..]));
    let mut found = 0;
    for script in scripts {
        assert!(root().join(script).is_file(), "{script}");
        found += 1;
    }
    assert!(found >= 4, "only {found} scripts were found in {runs:?}");
    // Inputs that a step reads are declared.
    let inputs = action["inputs"].as_object().expect("a map");
    for name in text("action.yml").split("inputs.").skip(1) {
        let name = name.split([' ', '}']).next().unwrap_or_default();
        assert!(inputs.contains_key(name), "{name}");
    }
}

#[test]
fn the_image_and_its_services_are_made_of_files_that_are_there() {
    let services = yaml("deploy/compose.yaml");
    let build = &services["services"]["server"]["build"];
    let deploy = root().join("deploy");
    let context = deploy.join(build["context"].as_str().expect("a folder"));
    let file = context.join(build["dockerfile"].as_str().expect("a file"));
    let image = fs::read_to_string(&file).expect("the file of the image");
    assert!(image.contains("[\"/usr/local/bin/talking-stick\", \"healthcheck\"]"));
    // The dependencies are a layer of their own, before the code.
    let cooked = image
        .find("cargo chef cook")
        .expect("a layer of dependencies");
    assert!(cooked < image.rfind("COPY . .").expect("the code"));
    let mount = services["services"]["proxy"]["volumes"][0].as_str();
    let mounted = mount.and_then(|mount| mount.split(':').next());
    assert!(deploy.join(mounted.expect("a mount")).is_file());
    assert!(text("deploy/Caddyfile").contains("{$CHAT_SERVER:127.0.0.1:8894}"));
}
