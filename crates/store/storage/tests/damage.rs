//! Damages every byte of every file: flipped, zeroed, or truncated.
//! Guarantees that a store either contains everything acknowledged or fails to start with the location of the damage.
//! Must never accept a lost write.

mod support;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pintle_storage::Revision;
use support::Random;
use support::script::{Kind, Script, commit, open};
use support::sim::Sim;

/// The files of a store with several segments, some of them rewritten.
fn filled(script: &Script) -> Vec<(PathBuf, Vec<u8>)> {
    let sim = Sim::new();
    let (store, ..) = open(Kind::Plain, Arc::new(sim.clone())).unwrap();
    for transaction in &script.transactions {
        commit(&*store, transaction).unwrap();
    }
    drop(store);
    let files = sim.files();
    let segments = files.iter().filter(|(path, _)| path.extension().is_some_and(|it| it == "log")).count();
    assert!(segments >= 3, "only {segments} segments");
    files
}

#[derive(Default)]
struct Counts {
    whole: AtomicUsize,
    refused: AtomicUsize,
}

/// Opens a store with one changed file.
fn validate(
    script: &Script,
    files: &[(PathBuf, Vec<u8>)],
    changed: usize,
    bytes: Vec<u8>,
    what: &str,
    counts: &Counts,
) {
    let name = files[changed].0.display();
    let mut files = files.to_vec();
    files[changed].1 = bytes;
    let expected = Revision(script.transactions.len() as u64 + 1);
    let sim = Sim::of(&files);
    match open(Kind::Plain, Arc::new(sim.clone())) {
        Ok((_store, watcher, started)) => {
            assert_eq!(started.current, expected, "{name}, {what}: writes were lost in silence");
            if let Some(wrong) = script.wrong(&watcher.0.lock().unwrap(), started) {
                panic!("{name}, {what}: {wrong}");
            }
            counts.whole.fetch_add(1, Ordering::Relaxed);
        }
        Err(error) => {
            let reported = error.to_string();
            assert!(reported.contains("/data/store/") && reported.contains("at offset"), "{name}, {what}: {reported}");
            assert!(sim.files() == files, "{name}, {what}: a start that was refused has changed something");
            counts.refused.fetch_add(1, Ordering::Relaxed);
        }
    }
}

const FLIPS: [fn(u8) -> u8; 4] = [|byte| byte ^ 1, |byte| byte ^ 0x80, |byte| byte ^ 0xff, |_| 0];

/// Distributes positions over the processors.
fn each(count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < count) {
                    work(at);
                }
            });
        }
    });
}

#[test]
fn every_flip_every_cut_and_every_eight_zeros_of_every_file() {
    let script = Script::new(220, 24, 1);
    let files = filled(&script);
    let counts = Counts::default();
    for changed in 0..files.len() {
        let original = &files[changed].1;
        each(original.len(), |at| {
            for (kind, flip) in FLIPS.iter().enumerate() {
                let mut bytes = original.clone();
                bytes[at] = flip(bytes[at]);
                if bytes != *original {
                    validate(&script, &files, changed, bytes, &format!("flip {kind} of byte {at}"), &counts);
                }
            }
            validate(&script, &files, changed, original[..at].to_vec(), &format!("cut to {at}"), &counts);
            let mut bytes = original.clone();
            bytes.iter_mut().skip(at).take(8).for_each(|byte| *byte = 0);
            validate(&script, &files, changed, bytes, &format!("eight zeros at {at}"), &counts);
        });
        // A missing file.
        let rest: Vec<_> = files.iter().filter(|(path, _)| *path != files[changed].0).cloned().collect();
        match open(Kind::Plain, Arc::new(Sim::of(&rest))) {
            Ok((_, _, started)) => assert_eq!(started.current.0, 221, "without {}", files[changed].0.display()),
            Err(error) => assert!(error.to_string().contains("/data/store/"), "{error}"),
        }
    }
    println!("whole {:?}, refused {:?}", counts.whole, counts.refused);
    assert!(counts.whole.into_inner() > 100 && counts.refused.into_inner() > 10_000);
}

#[test]
fn samples_of_a_larger_store() {
    let script = Script::new(1500, 700, 2);
    let files = filled(&script);
    let counts = Counts::default();
    let mut random = Random(20_260);
    for _ in 0..400 {
        let changed = random.below(files.len() as u64) as usize;
        let mut bytes = files[changed].1.clone();
        if bytes.is_empty() {
            continue;
        }
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(3) {
            0 => bytes.truncate(at),
            1 => bytes.iter_mut().skip(at).take(8).for_each(|byte| *byte = 0),
            _ => bytes[at] ^= 1 << random.below(8),
        }
        validate(&script, &files, changed, bytes, &format!("at {at}"), &counts);
    }
    assert!(counts.refused.into_inner() > 100);
}

/// Two sealed segments swapped, and one of another store.
#[test]
fn segments_in_the_wrong_place() {
    let script = Script::new(220, 24, 1);
    let (files, others) = (filled(&script), filled(&script));
    let logs: Vec<usize> =
        (0..files.len()).filter(|at| files[*at].0.extension().is_some_and(|extension| extension == "log")).collect();
    let counts = Counts::default();
    validate(&script, &files, logs[0], files[logs[1]].1.clone(), "another segment", &counts);
    validate(&script, &files, logs[0], others[logs[0]].1.clone(), "another store's segment", &counts);
    let manifest = files.iter().position(|(path, _)| path.ends_with("manifest")).unwrap();
    validate(&script, &files, manifest, others[manifest].1.clone(), "another store's manifest", &counts);
    assert_eq!(counts.refused.into_inner(), 3);
}
