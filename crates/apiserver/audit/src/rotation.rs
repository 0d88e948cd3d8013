//! The file of the audit log: it is renamed when it is full, and old ones are compressed and removed.
//! Guarantees that a line is in a file whole or not at all, also when the disk is full. Must never remove a file that is not its own.

use flate2::Compression;
use flate2::write::GzEncoder;
use pintle_schema::MicroTime;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MEGABYTE: u64 = 1 << 20;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The suffix of a compressed file.
const COMPRESSED: &str = ".gz";

/// When files are renamed and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// A file has at most so many megabytes; 0 is no limit.
    pub max_megabytes: u64,
    /// Old files are removed after so many days; 0 is never.
    pub max_age_days: u64,
    /// So many old files are kept; 0 is all.
    pub max_backups: usize,
    /// Whether old files are compressed.
    pub compress: bool,
}

/// A log file.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    rotation: Rotation,
    file: File,
    size: u64,
}

impl LogFile {
    /// Opens the file, or creates it with its folders.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn open(path: &Path, rotation: Rotation) -> io::Result<LogFile> {
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = open(path)?;
        let size = file.metadata()?.len();
        Ok(LogFile { path: path.to_owned(), rotation, file, size })
    }

    /// Appends lines. Those of the batch that fit into the file go out in one write.
    ///
    /// # Errors
    /// The lines from the returned index on are not in the log.
    pub fn append(&mut self, lines: &[Vec<u8>]) -> Result<(), (usize, io::Error)> {
        let limit = self.rotation.max_megabytes.saturating_mul(MEGABYTE);
        let mut next = 0;
        while next < lines.len() {
            let first = next;
            let mut batch = Vec::new();
            while let Some(line) = lines.get(next) {
                let fits = limit == 0 || self.size + (batch.len() + line.len()) as u64 <= limit;
                if !fits {
                    break;
                }
                batch.extend_from_slice(line);
                next += 1;
            }
            if next == first {
                let length = lines[next].len() as u64;
                if length > limit {
                    let why = format!("write length {length} exceeds maximum file size {limit}");
                    return Err((next, io::Error::other(why)));
                }
                self.rotate(SystemTime::now()).map_err(|error| (next, error))?;
                continue;
            }
            self.write(&batch).map_err(|error| (first, error))?;
        }
        Ok(())
    }

    /// Writes everything or nothing.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            // Part of it may be there: half a line would spoil the one that follows.
            self.file.set_len(self.size)?;
            return Err(error);
        }
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Renames the file by the time, and begins a new one.
    fn rotate(&mut self, now: SystemTime) -> io::Result<()> {
        let mode = self.file.metadata().map_or(0o600, |metadata| metadata.permissions().mode());
        match fs::rename(&self.path, self.backup_name(now)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.file = open(&self.path)?;
        self.file.set_permissions(Permissions::from_mode(mode))?;
        self.size = 0;
        self.clean_up(now);
        Ok(())
    }

    /// `audit-2006-01-02T15-04-05.000.log` for `audit.log`.
    fn backup_name(&self, now: SystemTime) -> PathBuf {
        let (stem, extension) = self.name_parts();
        self.path.with_file_name(format!("{stem}-{}{extension}", timestamp(now)))
    }

    fn name_parts(&self) -> (String, String) {
        let text = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
        let extension = text(self.path.extension()).map(|extension| format!(".{extension}"));
        (text(self.path.file_stem()).unwrap_or_default(), extension.unwrap_or_default())
    }

    /// Removes old files, and compresses those that remain. Failures are retried after the next rotation.
    pub fn clean_up(&self, now: SystemTime) {
        let mut backups = self.backups();
        backups.sort_by(|(a, _), (b, _)| b.cmp(a));
        let mut names: Vec<&str> = backups.iter().map(|(name, _)| name.trim_end_matches(COMPRESSED)).collect();
        names.dedup();
        let Rotation { max_backups, max_age_days, compress, .. } = self.rotation;
        let kept = if max_backups > 0 { max_backups.min(names.len()) } else { names.len() };
        let oldest = now - DAY * u32::try_from(max_age_days).unwrap_or(u32::MAX);
        let oldest = (max_age_days > 0).then(|| timestamp(oldest));
        let (stem, _) = self.name_parts();
        let is_kept = |name: &str| {
            let plain = name.trim_end_matches(COMPRESSED);
            let time = &plain[stem.len() + 1..];
            names[..kept].contains(&plain) && oldest.as_deref().is_none_or(|oldest| time >= oldest)
        };
        for (name, path) in &backups {
            let outcome = match is_kept(name) {
                false => fs::remove_file(path),
                true if compress && !name.ends_with(COMPRESSED) => compress_file(path),
                true => Ok(()),
            };
            if let Err(error) = outcome {
                let err = error.to_string();
                tracing::warn!(err, "{} cannot be removed or compressed", path.display());
            }
        }
    }

    /// Old files by their names.
    fn backups(&self) -> Vec<(String, PathBuf)> {
        let (stem, extension) = self.name_parts();
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let named = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
        let is_own = |name: &str| {
            let time = name.strip_prefix(&stem).and_then(|rest| rest.strip_prefix('-'));
            let time = time.map(|rest| rest.trim_end_matches(COMPRESSED));
            time.and_then(|rest| rest.strip_suffix(&extension)).is_some_and(is_timestamp)
        };
        named.filter(|(name, _)| is_own(name)).collect()
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or_default();
    let text = MicroTime { seconds, nanos: since.subsec_nanos() }.to_rfc3339();
    let milliseconds = text.get(.."2006-01-02T15:04:05.000".len()).unwrap_or(&text);
    milliseconds.replace(':', "-")
}

fn is_timestamp(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00T00-00-00.000";
    let fits = |(byte, shape): (u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == *shape };
    text.len() == SHAPE.len() && text.bytes().zip(SHAPE).all(fits)
}

fn compress_file(path: &Path) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(COMPRESSED);
    let compressed = PathBuf::from(name);
    let mode = fs::metadata(path)?.permissions().mode();
    let out = OpenOptions::new().create(true).truncate(true).write(true).mode(mode).open(&compressed)?;
    let mut encoder = GzEncoder::new(out, Compression::default());
    let copied = io::copy(&mut File::open(path)?, &mut encoder).and_then(|_| encoder.finish().map(drop));
    match copied {
        Ok(()) => fs::remove_file(path),
        Err(error) => {
            fs::remove_file(&compressed)?;
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("pintle-audit-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    const ALL: Rotation = Rotation { max_megabytes: 1, max_age_days: 0, max_backups: 0, compress: false };

    #[test]
    fn a_full_file_is_renamed_and_lines_stay_whole() {
        let folder = folder("full");
        let mut log = LogFile::open(&folder.join("audit.log"), ALL).expect("a log");
        let line = |byte: u8| [vec![byte; 600 << 10], b"\n".to_vec()].concat();
        log.append(&[line(b'a'), line(b'b')]).expect("two lines");
        let backups = log.backups();
        let [(name, path)] = &backups[..] else { panic!("one old file, not {backups:?}") };
        assert!(name.starts_with("audit-20") && name.ends_with(".log"), "{name}");
        assert_eq!(fs::read(path).expect("the old file"), line(b'a'));
        assert_eq!(fs::read(folder.join("audit.log")).expect("the file"), line(b'b'));
        let (index, error) = log.append(&[b"c\n".to_vec(), vec![0; 2 << 20]]).expect_err("too long");
        assert_eq!((index, error.to_string().contains("exceeds maximum file size")), (1, true));
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn old_files_are_removed_by_number_and_age_and_compressed() {
        let folder = folder("old");
        let log = |rotation| LogFile::open(&folder.join("audit.log"), rotation).expect("a log");
        let names = || {
            let entries = fs::read_dir(&folder).expect("the folder").filter_map(Result::ok);
            let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        };
        drop(log(ALL));
        for day in 1..=4 {
            fs::write(folder.join(format!("audit-2024-01-0{day}T00-00-00.000.log")), "x\n").expect("an old file");
        }
        fs::write(folder.join("audit-other.log"), "").expect("another file");
        let now = UNIX_EPOCH + Duration::from_secs(1_704_412_800); // 2024-01-05
        log(Rotation { max_backups: 3, ..ALL }).clean_up(now);
        assert_eq!(names().len(), 5, "{:?}", names());
        log(Rotation { max_age_days: 2, compress: true, ..ALL }).clean_up(now);
        let left = [
            "audit-2024-01-03T00-00-00.000.log.gz",
            "audit-2024-01-04T00-00-00.000.log.gz",
            "audit-other.log",
            "audit.log",
        ];
        assert_eq!(names(), left);
        let _ = fs::remove_dir_all(&folder);
    }

    /// `/dev/full` takes nothing, as a full disk.
    #[test]
    fn a_full_disk_is_an_error_that_loses_no_line_of_before() {
        let folder = folder("disk");
        let mut log = LogFile::open(&folder.join("audit.log"), ALL).expect("a log");
        log.append(&[b"a\n".to_vec()]).expect("a line");
        let good =
            std::mem::replace(&mut log.file, OpenOptions::new().append(true).open("/dev/full").expect("a device"));
        assert!(log.append(&[b"b\n".to_vec()]).is_err());
        log.file = good;
        log.append(&[b"c\n".to_vec()]).expect("a line");
        assert_eq!(fs::read(folder.join("audit.log")).expect("the file"), b"a\nc\n");
        let _ = fs::remove_dir_all(&folder);
    }
}
