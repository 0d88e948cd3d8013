//! A simulated disk that knows what was synced, file contents and names, and can lose everything else.
//! Guarantees that a crash leaves any subset of the unsynced sectors, and any subset of the name changes.
//! Must never keep data of a failed sync, whatever is synced later: no operating system promises that.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use pintle_storage::{Storage, StorageFile};

use super::Random;

const SECTOR: usize = 512;

/// Called before each operation that changes something, with its number.
pub type Hook = Box<dyn FnMut(&Disk, u64) + Send>;

#[derive(Clone)]
pub struct Sim(pub Arc<Mutex<Disk>>);

#[derive(Default)]
pub struct Disk {
    files: Vec<Inode>,
    names: BTreeMap<PathBuf, Node>,
    durable_names: BTreeMap<PathBuf, Node>,
    /// Unsynced changes of names, in order.
    pending: Vec<Change>,
    operations: u64,
    pub hook: Option<Hook>,
    /// Which operations fail.
    pub fault: Option<Fault>,
    /// The size of the disk in bytes, of which files take whole sectors.
    pub capacity: Option<u64>,
    /// How often each operation was called.
    pub calls: BTreeMap<&'static str, u64>,
    /// Violations that must never happen.
    pub violations: Vec<String>,
}

/// Operations that fail.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The first one, and how many fail.
    pub first: u64,
    pub count: u64,
    /// How much of its effect takes place nevertheless, in eighths.
    pub eighths: usize,
    pub kind: io::ErrorKind,
}

#[derive(Clone, Copy, PartialEq)]
enum Node {
    Directory,
    File(usize),
}

#[derive(Clone)]
enum Change {
    Make(PathBuf, Node),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf, Node),
}

#[derive(Clone, Default)]
struct Inode {
    durable: Vec<u8>,
    current: Vec<u8>,
    /// Sectors that a failed sync lost: the system considers them written.
    lost: BTreeSet<usize>,
    failed: bool,
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<PathBuf, Node>) {
        match self {
            Change::Make(path, node) => drop(names.insert(path.clone(), *node)),
            Change::Remove(path) => drop(names.remove(path)),
            Change::Rename(from, to, node) => {
                names.remove(from);
                names.insert(to.clone(), *node);
            }
        }
    }

    fn is_in(&self, directory: &Path) -> bool {
        let (Change::Make(path, _) | Change::Remove(path) | Change::Rename(path, ..)) = self;
        path.parent() == Some(directory)
    }
}

impl Inode {
    fn sync(&mut self) {
        let mut durable = self.current.clone();
        for sector in &self.lost {
            let range = sector * SECTOR..((sector + 1) * SECTOR).min(durable.len());
            for at in range {
                durable[at] = self.durable.get(at).copied().unwrap_or(0);
            }
        }
        self.durable = durable;
    }

    fn lose(&mut self) {
        for at in 0..self.current.len() {
            if self.durable.get(at) != self.current.get(at) {
                self.lost.insert(at / SECTOR);
            }
        }
    }

    /// The possible states after a crash.
    fn crashed(&self, random: &mut Random) -> Inode {
        let (short, long) = (self.durable.len(), self.current.len());
        let length = match random.below(3) {
            0 => short,
            1 => long,
            _ => short + random.below((long.saturating_sub(short) + 1) as u64) as usize,
        };
        let mut found = self.durable.clone();
        found.resize(length.max(short), 0);
        let mode = random.below(4);
        for sector in 0..found.len().div_ceil(SECTOR) {
            let written = match mode {
                0 => false,
                1 => true,
                _ => random.below(2) == 0,
            };
            if written && !self.lost.contains(&sector) {
                let end = ((sector + 1) * SECTOR).min(found.len()).min(long);
                if let (Some(to), Some(from)) =
                    (found.get_mut(sector * SECTOR..end), self.current.get(sector * SECTOR..end))
                {
                    to.copy_from_slice(from);
                }
            }
        }
        Inode { durable: found.clone(), current: found, ..Inode::default() }
    }
}

fn error(kind: io::ErrorKind) -> io::Error {
    kind.into()
}

impl Disk {
    /// The possible states after a power loss now.
    pub fn crashed(&self, random: &mut Random) -> Sim {
        let mut names = self.durable_names.clone();
        let all = random.below(3);
        for change in &self.pending {
            if all == 0 || (all == 1 && random.below(2) == 0) {
                change.apply(&mut names);
            }
        }
        let known = names.clone();
        names.retain(|path, _| {
            path.parent().is_none_or(|parent| parent == Path::new("/") || known.contains_key(parent))
        });
        let files = self.files.iter().map(|file| file.crashed(random)).collect();
        let capacity = self.capacity;
        Sim(Arc::new(Mutex::new(Disk {
            files,
            names: names.clone(),
            durable_names: names,
            capacity,
            ..Disk::default()
        })))
    }

    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// The same disk after the process was killed: what was written is there, synced or not.
    pub fn killed(&self) -> Sim {
        let files = self.files.iter().map(|file| Inode { failed: false, ..file.clone() }).collect();
        Sim(Arc::new(Mutex::new(Disk {
            files,
            names: self.names.clone(),
            durable_names: self.durable_names.clone(),
            pending: self.pending.clone(),
            capacity: self.capacity,
            ..Disk::default()
        })))
    }

    /// The free space in bytes.
    pub fn free(&self) -> u64 {
        let Some(capacity) = self.capacity else { return u64::MAX };
        let sectors = |file: &Inode| (file.current.len().div_ceil(SECTOR).max(1) * SECTOR) as u64;
        let used: u64 = self
            .names
            .values()
            .map(|node| match node {
                Node::File(number) => sectors(&self.files[*number]),
                Node::Directory => SECTOR as u64,
            })
            .sum();
        capacity.saturating_sub(used)
    }

    /// Counts an operation. Returns the fault if it fails.
    fn step(&mut self, name: &'static str) -> Option<Fault> {
        *self.calls.entry(name).or_default() += 1;
        if let Some(mut hook) = self.hook.take() {
            hook(self, self.operations);
            self.hook = Some(hook);
        }
        let number = self.operations;
        self.operations += 1;
        self.fault.filter(|fault| (fault.first..fault.first.saturating_add(fault.count)).contains(&number))
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.names);
        self.pending.push(change);
    }
}

impl Sim {
    pub fn new() -> Sim {
        Sim(Arc::default())
    }

    pub fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The current files by name.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let disk = self.disk();
        let file = |(path, node): (&PathBuf, &Node)| match node {
            Node::File(file) => Some((path.clone(), disk.files[*file].current.clone())),
            Node::Directory => None,
        };
        disk.names.iter().filter_map(file).collect()
    }

    /// A disk with these files, all durable.
    pub fn of(files: &[(PathBuf, Vec<u8>)]) -> Sim {
        let mut disk = Disk::default();
        for (path, bytes) in files {
            for above in path.ancestors().skip(1).filter(|path| *path != Path::new("/")) {
                disk.names.insert(above.to_owned(), Node::Directory);
            }
            disk.names.insert(path.clone(), Node::File(disk.files.len()));
            disk.files.push(Inode { durable: bytes.clone(), current: bytes.clone(), ..Inode::default() });
        }
        disk.durable_names = disk.names.clone();
        Sim(Arc::new(Mutex::new(disk)))
    }

    fn file(&self, number: usize) -> Arc<dyn StorageFile> {
        Arc::new(SimFile { sim: self.clone(), number })
    }
}

impl Fault {
    fn error(self) -> io::Error {
        self.kind.into()
    }

    /// Whether an effect that cannot be partial takes place.
    fn has_effect(self) -> bool {
        self.eighths >= 4
    }
}

/// Performs a change of names, unless it fails without effect.
fn change(disk: &mut Disk, fault: Option<Fault>, change: Change) -> io::Result<()> {
    if fault.is_none_or(Fault::has_effect) {
        disk.change(change);
    }
    fault.map_or(Ok(()), |fault| Err(fault.error()))
}

impl Storage for Sim {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        let above: Vec<PathBuf> = path.ancestors().filter(|path| *path != Path::new("/")).map(Path::to_owned).collect();
        for path in above.into_iter().rev() {
            if !disk.names.contains_key(&path) {
                let fault = disk.step("create_dir");
                change(&mut disk, fault, Change::Make(path, Node::Directory))?;
            }
        }
        Ok(())
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        let mut disk = self.disk();
        let fault = disk.step("create");
        if disk.names.contains_key(path) {
            return Err(error(io::ErrorKind::AlreadyExists));
        }
        if disk.free() < SECTOR as u64 {
            return Err(error(io::ErrorKind::StorageFull));
        }
        let number = disk.files.len();
        disk.files.push(Inode::default());
        change(&mut disk, fault, Change::Make(path.to_owned(), Node::File(number)))?;
        Ok(self.file(number))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        match self.disk().names.get(path) {
            Some(Node::File(number)) => Ok(self.file(*number)),
            _ => Err(error(io::ErrorKind::NotFound)),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        let fault = disk.step("rename");
        let node = *disk.names.get(from).ok_or(error(io::ErrorKind::NotFound))?;
        change(&mut disk, fault, Change::Rename(from.to_owned(), to.to_owned(), node))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        if !disk.names.contains_key(path) {
            return Err(error(io::ErrorKind::NotFound));
        }
        let fault = disk.step("remove");
        change(&mut disk, fault, Change::Remove(path.to_owned()))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        let below: Vec<PathBuf> = disk.names.keys().filter(|known| known.starts_with(path)).cloned().collect();
        for path in below.into_iter().rev() {
            let fault = disk.step("remove");
            change(&mut disk, fault, Change::Remove(path))?;
        }
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let disk = self.disk();
        let below = disk.names.keys().filter(|known| known.parent() == Some(path));
        Ok(below.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(path == Path::new("/") || self.disk().names.contains_key(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        let fault = disk.step("sync_dir");
        let pending = std::mem::take(&mut disk.pending);
        // A sync that fails may have made the first changes durable.
        let own = pending.iter().filter(|change| change.is_in(path)).count();
        let mut left = fault.map_or(own, |fault| own * fault.eighths / 8);
        for change in pending {
            if change.is_in(path) && left > 0 {
                change.apply(&mut disk.durable_names);
                left -= 1;
            } else {
                disk.pending.push(change);
            }
        }
        fault.map_or(Ok(()), |fault| Err(fault.error()))
    }

    fn lock(&self, _: &Path) -> io::Result<Box<dyn Send + Sync>> {
        Ok(Box::new(()))
    }
}

struct SimFile {
    sim: Sim,
    number: usize,
}

impl StorageFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let disk = self.sim.disk();
        let bytes = disk.files[self.number].current.get(offset as usize..).unwrap_or_default();
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        Ok(length)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut disk = self.sim.disk();
        let fault = disk.step("write");
        let free = disk.free();
        let offset = offset as usize;
        let file = &mut disk.files[self.number];
        // The head is overwritten in place and never synced, and proves nothing by itself.
        let head = file.current.len() == 1024 && offset < 1024;
        let wrong = file.failed && !head;
        let written = fault.map_or(bytes.len(), |fault| bytes.len() * fault.eighths / 8);
        let room = (file.current.len().div_ceil(SECTOR).max(1) * SECTOR) as u64;
        let room = usize::try_from(room.saturating_add(free)).unwrap_or(usize::MAX).saturating_sub(offset);
        let fault = match fault {
            None if room < bytes.len() => Some(io::ErrorKind::StorageFull),
            fault => fault.map(|fault| fault.kind),
        };
        let whole = bytes;
        let bytes = &bytes[..written.min(room)];
        if !bytes.is_empty() {
            file.current.resize(file.current.len().max(offset + bytes.len()), 0);
            file.current[offset..offset + bytes.len()].copy_from_slice(bytes);
            for sector in offset / SECTOR..=(offset + bytes.len() - 1) / SECTOR {
                file.lost.remove(&sector);
            }
        }
        // Zeros behind the last frame mean nothing, however many of them are there.
        file.failed |= fault.is_some() && whole.iter().any(|byte| *byte != 0);
        if wrong {
            let reported = format!("operation {}: written to after a failure", disk.operations);
            disk.violations.push(reported);
        }
        fault.map_or(Ok(()), |kind| Err(error(kind)))
    }

    fn sync(&self) -> io::Result<()> {
        let mut disk = self.sim.disk();
        let fault = disk.step("sync");
        let file = &mut disk.files[self.number];
        let Some(fault) = fault else {
            file.sync();
            return Ok(());
        };
        if fault.eighths < 8 {
            file.lose();
        } else {
            file.sync();
        }
        file.failed = true;
        Err(fault.error())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut disk = self.sim.disk();
        let fault = disk.step("set_len");
        if fault.is_none_or(Fault::has_effect) {
            disk.files[self.number].current.truncate(bytes as usize);
        }
        fault.map_or(Ok(()), |fault| Err(fault.error()))
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.sim.disk().files[self.number].current.len() as u64)
    }
}
