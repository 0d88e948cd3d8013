//! Files and directories that only their owner may read: keys, certificates, kubeconfigs, the data directory. Guarantees that
//! they are private from their creation on, that a file is replaced whole or not at all, and that writes are on disk, including
//! the directory entry, when a call returns. Must never change the permissions of existing files: a warning names them instead.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The permission bits of group and others.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// How many loose files of a directory are listed one by one.
const MAX_WARNINGS: usize = 8;
/// The maximum number of directory entries that are checked, and the depth: more than a data directory has.
const LOOKED_AT: usize = 4096;
const DEPTH: usize = 4;

/// Creates a directory and its missing parents with private permissions. Existing ones are kept unchanged.
///
/// # Errors
/// It cannot be created.
pub fn create_directory(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> =
        path.ancestors().filter(|path| !path.as_os_str().is_empty()).take_while(|path| !path.exists()).collect();
    for directory in missing.into_iter().rev() {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(directory) {
            // Another process was faster.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            outcome => outcome?,
        }
        sync_directory(parent(directory))?;
    }
    match path.as_os_str().is_empty() || path.is_dir() {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::NotADirectory, "is not a directory")),
    }
}

/// Replaces a file, with private permissions.
///
/// # Errors
/// It cannot be written; the previous file is kept.
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    // Left by a process of the same number that was killed.
    match std::fs::remove_file(&temporary) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    // Never opens a file that another user has created, nor follows a symbolic link.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    let written = file.write_all(contents).and_then(|()| file.sync_all());
    let written = written.and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        // Best effort: the error that matters is the first one.
        let _ = std::fs::remove_file(&temporary);
    }
    written.and_then(|()| sync_directory(parent(path)))
}

/// The directory that a path is in.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the entries of a directory durable.
fn sync_directory(path: &Path) -> io::Result<()> {
    match File::open(path).and_then(|directory| directory.sync_all()) {
        // A directory that may be written and not read, and systems that sync no directories.
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidInput) => Ok(()),
        outcome => outcome,
    }
}

/// A warning with the path and mode of a file or directory that is accessible to others; `None` otherwise.
pub fn warning(path: &Path) -> Option<String> {
    let mode = mode_for_others(path)?;
    let (what, right) = if path.is_dir() { ("directory", "0700") } else { ("file", "0600") };
    Some(format!(
        "{what} {} has mode {mode:04o}: others than its owner may use it; {right} keeps them out",
        path.display()
    ))
}

/// The same for a directory and its content except one path, if others can reach it: one sentence each, up to a bound.
pub fn warnings_within(directory: &Path, but: Option<&Path>) -> Vec<String> {
    // Without access to the directory nothing in it can be reached.
    let Some(own) = warning(directory) else { return Vec::new() };
    let mut loose = Vec::new();
    gather(directory, but, DEPTH, &mut LOOKED_AT.clone(), &mut loose);
    loose.sort();
    let more = loose.len().saturating_sub(MAX_WARNINGS);
    let mut warnings = vec![own];
    warnings.extend(loose.iter().take(MAX_WARNINGS).filter_map(|path| warning(path)));
    if more > 0 {
        warnings.push(format!("{} has {more} more files and directories that others may use", directory.display()));
    }
    warnings
}

/// Collects entries below a directory that are accessible to others.
fn gather(directory: &Path, but: Option<&Path>, depth: usize, left: &mut usize, loose: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        *left = left.saturating_sub(1);
        if *left == 0 {
            return;
        }
        let path = entry.path();
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if is_link || Some(path.as_path()) == but || mode_for_others(&path).is_none() {
            continue;
        }
        if depth > 0 && path.is_dir() {
            gather(&path, but, depth - 1, left, loose);
        }
        loose.push(path);
    }
}

/// The permissions of a path, if they allow others anything.
#[cfg(unix)]
fn mode_for_others(path: &Path) -> Option<u32> {
    let mode = std::os::unix::fs::MetadataExt::mode(&path.metadata().ok()?) & 0o7777;
    (mode & OTHERS != 0).then_some(mode)
}

#[cfg(not(unix))]
fn mode_for_others(_: &Path) -> Option<u32> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("pintle-private-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).expect("made");
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).expect("there").permissions().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
    }

    #[test]
    fn new_files_are_private_and_existing_ones_kept() {
        let scratch = Scratch::new("made");
        let deep = scratch.0.join("a/b/c");
        create_directory(&deep).expect("made");
        create_directory(&deep).expect("there");
        assert_eq!(["a", "a/b", "a/b/c"].map(|path| mode(&scratch.0.join(path))), [0o700; 3]);
        let loose = scratch.0.join("loose");
        std::fs::create_dir(&loose).expect("made");
        set_mode(&loose, 0o755);
        create_directory(&loose.join("new")).expect("made");
        assert_eq!((mode(&loose), mode(&loose.join("new"))), (0o755, 0o700));

        let file = deep.join("key");
        write(&file, b"one").expect("written");
        assert_eq!((mode(&file), std::fs::read(&file).expect("read")), (0o600, b"one".to_vec()));
        assert!(create_directory(&file).is_err() && create_directory(&file.join("below")).is_err());
    }

    #[test]
    fn symlinks_of_others_are_not_followed() {
        let scratch = Scratch::new("links");
        let (file, victim) = (scratch.0.join("key"), scratch.0.join("victim"));
        std::fs::write(&victim, "theirs").expect("written");
        // The final path, and the temporary one.
        let temporary = scratch.0.join(format!("key.{}.tmp", std::process::id()));
        for link in [&file, &temporary] {
            symlink(&victim, link).expect("linked");
        }
        write(&file, b"secret").expect("written");
        assert_eq!(std::fs::read_to_string(&victim).expect("read"), "theirs");
        let metadata = std::fs::symlink_metadata(&file).expect("there");
        assert!(metadata.is_file() && !temporary.exists());
        assert_eq!(mode(&file), 0o600);
        // A leftover of a killed process does not expose the new key.
        std::fs::write(&temporary, "half").expect("written");
        set_mode(&temporary, 0o666);
        write(&file, b"again").expect("written");
        assert_eq!((mode(&file), temporary.exists()), (0o600, false));
    }

    #[test]
    fn files_open_to_others_are_reported_with_their_mode() {
        let scratch = Scratch::new("loose");
        set_mode(&scratch.0, 0o700);
        let inner = scratch.0.join("inner");
        create_directory(&inner).expect("made");
        for (name, mode) in [("tight", 0o600), ("group", 0o640), ("all", 0o604)] {
            let file = inner.join(name);
            std::fs::write(&file, "x").expect("written");
            set_mode(&file, mode);
            let warnings = warning(&file);
            assert_eq!(warnings.is_some(), mode != 0o600, "{name}");
            assert!(warnings.is_none_or(|text| text.contains(&format!("file {} has mode {mode:04o}", file.display()))));
        }
        assert_eq!(warnings_within(&scratch.0, None), Vec::<String>::new(), "nobody gets in");
        set_mode(&scratch.0, 0o711);
        assert_eq!(warnings_within(&scratch.0, None).len(), 1, "nobody gets further");
        set_mode(&inner, 0o755);
        let warnings = warnings_within(&scratch.0, None);
        for (line, expected) in
            warnings.iter().zip(["loose", "inner has mode 0755", "all has mode 0604", "group has mode 0640"])
        {
            assert!(line.contains(expected), "{line}");
        }
        assert_eq!(warnings.len(), 4);
        for number in 0..20 {
            std::fs::write(inner.join(format!("more-{number}")), "x").expect("written");
            set_mode(&inner.join(format!("more-{number}")), 0o644);
        }
        let warnings = warnings_within(&scratch.0, None);
        assert_eq!(warnings.len(), MAX_WARNINGS + 2);
        assert!(warnings.last().is_some_and(|last| last.contains("15 more")), "{warnings:?}");
        assert_eq!(warnings_within(&scratch.0, Some(&inner)).len(), 1, "somebody else tells of what is in there");
        assert_eq!(warning(&scratch.0.join("missing")), None);
    }
}
