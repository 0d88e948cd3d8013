//! A wall clock that a test sets forward and back, for programs that it starts. Guarantees that the program itself is
//! unmodified: only the time returned by the system's library is shifted. Must never affect the monotonic clock; setting a real
//! clock does not either.

use super::Scratch;
use std::process::Command;

pub struct WallClock {
    scratch: Scratch,
}

impl WallClock {
    /// A clock with the correct time.
    pub fn new() -> WallClock {
        let scratch = Scratch::new();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/whole_server/common/wall_clock.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(scratch.path().join("clock.so"));
        let compiled = compiler.arg(source).status().expect("the compiler that links this test");
        assert!(compiled.success(), "{source}");
        let clock = WallClock { scratch };
        clock.set_ahead(0);
        clock
    }

    /// Has a program go by this clock.
    pub fn rule(&self, command: &mut Command) {
        command.env("LD_PRELOAD", self.scratch.path().join("clock.so"));
        command.env("WALL_CLOCK_OFFSET", self.scratch.path().join("offset"));
    }

    /// Sets the clock so many seconds ahead of the correct time; negative: behind.
    pub fn set_ahead(&self, seconds: i64) {
        let draft = self.scratch.path().join("draft");
        std::fs::write(&draft, seconds.to_string()).expect("an offset");
        // Replaced atomically, so that no reader sees half of it.
        std::fs::rename(draft, self.scratch.path().join("offset")).expect("the offset");
    }
}
