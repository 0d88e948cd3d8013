//! CustomResourceDefinitions in files: the resources that a server would serve for them, for the validation of their objects.
//!
//! An invalid definition is reported and has no resources. Other objects in the files are ignored.

use super::lines::documents;
use super::validate::{self, Finding};
use pintle_codec::{Strictness, yaml};
use pintle_resource::Resource;
use pintle_schema::Value;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The definitions in files.
#[derive(Default)]
pub struct Definitions {
    resources: Vec<Arc<Resource>>,
    /// Lines about definitions that are wrong.
    pub wrong: String,
    /// Lines about files that cannot be read.
    pub failed: String,
}

impl Definitions {
    /// Reads the definitions in files, and in all files below directories.
    pub fn load(paths: &[&str]) -> Definitions {
        let mut definitions = Definitions::default();
        for path in paths {
            let mut files = Vec::new();
            if let Err(error) = find_files(Path::new(path), &mut files) {
                _ = writeln!(definitions.failed, "{path}: {error}");
            }
            files.iter().for_each(|file| definitions.read(file));
        }
        definitions
    }

    /// The resource of a kind.
    pub fn find(&self, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.resources.iter().find(|one| one.api_version() == *version && one.kind == kind)
    }

    fn read(&mut self, file: &Path) {
        let name = file.display();
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) => {
                _ = writeln!(self.failed, "{name}: {error}");
                return;
            }
        };
        for document in documents(&text) {
            let bytes = document.text.as_bytes();
            let Ok(head) = yaml::parse(bytes, Strictness::Ignore) else { continue };
            if head.value.str_at(&["kind"]) != "CustomResourceDefinition" {
                continue;
            }
            let (findings, stored) = validate::definition(bytes);
            for Finding { field, text } in findings {
                _ = writeln!(self.wrong, "{name}:{}: {text}", document.line_of(&field));
            }
            self.resources.extend(stored.into_iter().flat_map(served));
        }
    }
}

/// The resources of a definition in its stored form, one for each version that is served.
fn served(mut definition: Value) -> Vec<Arc<Resource>> {
    let names = definition.at(&["spec", "names"]).cloned().unwrap_or_default();
    definition.set_at(&["status", "acceptedNames"], names);
    // Objects are validated in the version that they are written in: nothing is converted.
    definition.set_at(&["spec", "conversion", "strategy"], "None");
    let all = pintle_extensions::resource::resources(&definition, &Default::default());
    all.into_iter().filter(|(_, is_served)| *is_served).map(|(resource, _)| resource).collect()
}

/// A file itself, or the YAML and JSON files below a directory, by name.
fn find_files(path: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        into.push(path.to_owned());
        return Ok(());
    }
    let mut inside = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        // Symbolic links could form a cycle.
        if !entry.file_type()?.is_symlink() {
            inside.push(entry.path());
        }
    }
    inside.sort();
    for path in inside {
        let is_manifest = path.extension().is_some_and(|of| ["yaml", "yml", "json"].iter().any(|known| of == *known));
        if is_manifest || path.is_dir() {
            find_files(&path, into)?;
        }
    }
    Ok(())
}
