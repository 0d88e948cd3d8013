//! Tests of the engine's set-up: the way back after a failed write.
//! Guarantees that what was answered with an error does not come back.
//! Must never need a disk that really fails.

use super::*;
use bytes::Bytes;

struct Nothing;

impl Observer for Nothing {
    fn replay(&mut self, _: Record, _: bool) {}
    fn publish(&mut self, _: &[Record], _: Revision) {}
}

struct Keys(Vec<(u64, String)>);

impl Observer for Keys {
    fn replay(&mut self, record: Record, _: bool) {
        self.0.push((record.revision.0, record.key.to_string()));
    }
    fn publish(&mut self, _: &[Record], _: Revision) {}
}

fn step<'a>(base: u64, records: &'a [Record]) -> Step<'a> {
    Step { base: Revision(base), records, removal: None, marks: None }
}

fn record(revision: u64, key: &str) -> Record {
    Record { revision: Revision(revision), key: key.into(), value: Some(Bytes::from_static(b"v")) }
}

#[test]
fn after_a_failure_what_was_not_acknowledged_is_removed() {
    let directory = std::env::temp_dir().join(format!("pintle-engine-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let mut engine = Engine::open(directory.clone(), limits::ENGINE_MEMTABLE_BYTES).unwrap();
    engine.replay(&mut Nothing).unwrap();
    engine.persist(&step(1, &[record(2, "/kept")])).unwrap();
    // These reach the disk, but the writer is told otherwise.
    engine.persist(&step(2, &[record(3, "/lost"), record(3, "/lost too"), record(4, "/lost")])).unwrap();
    let error: BackendError = Arc::new(std::io::Error::other("no space left"));
    engine.state = State::Failed { since: Instant::now(), error: error.clone() };
    assert!(engine.persist(&step(2, &[record(3, "/early")])).is_err(), "the disk is left in peace at first");
    let since = Instant::now().checked_sub(REOPEN_AFTER).unwrap();
    engine.state = State::Failed { since, error };
    engine.persist(&step(2, &[record(3, "/second")])).unwrap();
    drop(engine);

    let mut keys = Keys(Vec::new());
    Engine::open(directory.clone(), limits::ENGINE_MEMTABLE_BYTES).unwrap().replay(&mut keys).unwrap();
    assert_eq!(keys.0, [(2, "/kept".to_owned()), (3, "/second".to_owned())]);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn of_an_engine_that_has_failed_the_disk_tells_why() {
    let directory = std::env::temp_dir().join(format!("pintle-engine-why-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let engine = Engine::open(directory.clone(), limits::ENGINE_MEMTABLE_BYTES).unwrap();
    let told = |outcome| engine.explained::<()>(outcome).map_err(|error| error.to_string());
    let poisoned = || Ok(Err(fjall::Error::Poisoned));
    assert_eq!(told(poisoned()), Err("FjallError: Poisoned".to_owned()), "nothing is wrong with the disk");
    assert!(!directory.join("probe").exists());
    std::fs::remove_dir_all(&directory).unwrap();
    let missing = io::Error::from_raw_os_error(2).to_string();
    assert_eq!(told(poisoned()), Err(missing.clone()));
    let io = io::Error::from_raw_os_error(2);
    assert_eq!(told(Ok(Err(fjall::Error::Io(io)))), Err(missing));
    assert_eq!(told(guarded(|| panic!("as it is meant to"))), Err("the engine gave up: as it is meant to".to_owned()));
}
