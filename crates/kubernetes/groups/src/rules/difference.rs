//! The line-by-line difference of two values in messages about fields that must not change.
//!
//! Common lines are found as kube-apiserver's diff library does: the longest run first, then those before and after it.

use pintle_schema::Value;
use std::collections::HashMap;
use std::fmt::Write;

/// Common lines that are shown around different ones.
const CONTEXT: usize = 3;

/// From this many lines on, those that are frequent begin no run.
const LONG: usize = 200;

/// How many pairs of equal lines are looked at, some milliseconds' worth; what is left then counts as replaced. Objects that people write
/// stay far below; one made to cost time must not.
const MOST_STEPS: usize = 1 << 20;

/// A run of lines that both texts have.
#[derive(Clone, Copy)]
struct Run {
    old: usize,
    new: usize,
    length: usize,
}

/// The lines that went and came, with some that stayed around them; "" when nothing differs.
pub fn difference(old: &Value, new: &Value) -> String {
    let (old, new) = (lines(old), lines(new));
    let mut matcher = Matcher { old: &old, new: &new, places: places(&new), steps: MOST_STEPS, runs: Vec::new() };
    matcher.common((0, old.len()), (0, new.len()));
    let mut runs = matcher.runs;
    runs.push(Run { old: old.len(), new: new.len(), length: 0 });
    let mut changes: Vec<[usize; 4]> = Vec::new();
    let (mut at_old, mut at_new) = (0, 0);
    for run in runs {
        if run.old > at_old || run.new > at_new {
            changes.push([at_old, run.old, at_new, run.new]);
        }
        (at_old, at_new) = (run.old + run.length, run.new + run.length);
    }
    let mut text = String::new();
    for hunk in changes.chunk_by(|before, after| after[0] - before[1] <= 2 * CONTEXT) {
        write_hunk(hunk, &old, &new, &mut text);
    }
    text
}

fn write_hunk(hunk: &[[usize; 4]], old: &[String], new: &[String], text: &mut String) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
    let before = first[0].min(CONTEXT);
    let after = (old.len() - last[1]).min(CONTEXT);
    let range = |start: usize, end: usize| match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    };
    let was = range(first[0] - before, last[1] + after);
    let is = range(first[2] - before, last[3] + after);
    _ = writeln!(text, "@@ -{was} +{is} @@");
    let mut put = |mark: char, lines: &[String]| lines.iter().for_each(|line| _ = writeln!(text, "{mark}{line}"));
    let mut at = first[0] - before;
    for [old_start, old_end, new_start, new_end] in hunk.iter().copied() {
        put(' ', &old[at..old_start]);
        put('-', &old[old_start..old_end]);
        put('+', &new[new_start..new_end]);
        at = old_end;
    }
    put(' ', &old[at..last[1] + after]);
}

/// Where in the new text each line is. As in kube-apiserver's library, a line that makes up more than a hundredth of a long text begins
/// no run; it only lengthens those that others begin.
fn places(new: &[String]) -> HashMap<&str, Vec<usize>> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in new.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }
    if new.len() >= LONG {
        places.retain(|_, at| at.len() <= new.len() / 100 + 1);
    }
    places
}

struct Matcher<'a> {
    old: &'a [String],
    new: &'a [String],
    places: HashMap<&'a str, Vec<usize>>,
    /// How much may still be compared.
    steps: usize,
    runs: Vec<Run>,
}

impl Matcher<'_> {
    /// Finds the runs that two stretches have in common, in their order.
    fn common(&mut self, of_old: (usize, usize), of_new: (usize, usize)) {
        // Not by recursion: every run of a long text may split it near its end.
        let mut waiting = vec![(of_old, of_new)];
        while let Some((of_old, of_new)) = waiting.pop() {
            let longest = self.longest(of_old, of_new);
            if longest.length == 0 {
                continue;
            }
            self.runs.push(longest);
            waiting.push(((of_old.0, longest.old), (of_new.0, longest.new)));
            waiting.push(((longest.old + longest.length, of_old.1), (longest.new + longest.length, of_new.1)));
        }
        self.runs.sort_unstable_by_key(|run| run.old);
        self.runs.dedup_by(|run, before| {
            let adjoins = before.old + before.length == run.old && before.new + before.length == run.new;
            before.length += if adjoins { run.length } else { 0 };
            adjoins
        });
    }

    /// The longest common run of two stretches, of several the first; none when there is no time left to look.
    fn longest(&mut self, of_old: (usize, usize), of_new: (usize, usize)) -> Run {
        let mut best = Run { old: of_old.0, new: of_new.0, length: 0 };
        // How long a run ends at the lines of the new text that equal the old line before.
        let (mut ending, mut now) = (HashMap::new(), HashMap::new());
        for at_old in of_old.0..of_old.1 {
            let places = self.places.get(self.old[at_old].as_str()).map_or(&[][..], Vec::as_slice);
            let first = places.partition_point(|at| *at < of_new.0);
            for at_new in places[first..].iter().copied().take_while(|at| *at < of_new.1) {
                let before = at_new.checked_sub(1).and_then(|before| ending.get(&before));
                let length = before.copied().unwrap_or(0) + 1;
                now.insert(at_new, length);
                if length > best.length {
                    best = Run { old: at_old + 1 - length, new: at_new + 1 - length, length };
                }
            }
            let Some(left) = self.steps.checked_sub(now.len() + 1) else {
                return Run { length: 0, ..best };
            };
            self.steps = left;
            std::mem::swap(&mut ending, &mut now);
            now.clear();
        }
        self.lengthen(best, of_old, of_new)
    }

    /// Adds the equal lines around a run, which may be such as begin none.
    fn lengthen(&self, mut run: Run, of_old: (usize, usize), of_new: (usize, usize)) -> Run {
        while run.old > of_old.0 && run.new > of_new.0 && self.old[run.old - 1] == self.new[run.new - 1] {
            run = Run { old: run.old - 1, new: run.new - 1, length: run.length + 1 };
        }
        let end = |run: Run| (run.old + run.length, run.new + run.length);
        while end(run).0 < of_old.1 && end(run).1 < of_new.1 && self.old[end(run).0] == self.new[end(run).1] {
            run.length += 1;
        }
        run
    }
}

/// A value as JSON of many lines.
fn lines(value: &Value) -> Vec<String> {
    let mut lines = vec![String::new()];
    write(value, 0, &mut lines);
    lines
}

fn write(value: &Value, depth: usize, lines: &mut Vec<String>) {
    let count = match value {
        Value::Map(map) => map.len(),
        Value::List(items) => items.len(),
        _ => 0,
    };
    let more = |index: usize| if index + 1 < count { "," } else { "" };
    let begin = |lines: &mut Vec<String>| lines.push(" ".repeat(depth + 1));
    match value {
        Value::Map(map) if count > 0 => {
            put(lines, "{");
            for (index, (key, value)) in map.iter().enumerate() {
                begin(lines);
                put(lines, &pintle_codec::json::to_string(&Value::String(key.clone())));
                put(lines, ": ");
                write(value, depth + 1, lines);
                put(lines, more(index));
            }
            lines.push(" ".repeat(depth));
            put(lines, "}");
        }
        Value::List(items) if count > 0 => {
            put(lines, "[");
            for (index, value) in items.iter().enumerate() {
                begin(lines);
                write(value, depth + 1, lines);
                put(lines, more(index));
            }
            lines.push(" ".repeat(depth));
            put(lines, "]");
        }
        scalar => put(lines, &pintle_codec::json::to_string(scalar)),
    }
}

fn put(lines: &mut [String], text: &str) {
    if let Some(line) = lines.last_mut() {
        line.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::difference;
    use pintle_schema::{Value, value};

    #[test]
    fn what_came_and_went() {
        let old = value!({"a": ["x"], "b": null});
        assert_eq!(difference(&old, &old), "");
        let new = value!({"a": ["y", "x"], "b": null});
        assert_eq!(
            difference(&old, &new),
            "@@ -1,5 +1,6 @@\n {\n  \"a\": [\n+  \"y\",\n   \"x\"\n  ],\n  \"b\": null\n"
        );
        let other = value!({"a": ["z"], "b": null});
        assert_eq!(
            difference(&old, &other),
            "@@ -1,6 +1,6 @@\n {\n  \"a\": [\n-  \"x\"\n+  \"z\"\n  ],\n  \"b\": null\n }\n"
        );
    }

    #[test]
    fn frequent_lines_of_long_texts_begin_no_run_but_lengthen_others() {
        let list = |first: &str| {
            let mut items = vec![Value::from(first), Value::from("same")];
            items.extend(vec![Value::from("often"); 300]);
            Value::List(items)
        };
        let text = difference(&list("a"), &list("b"));
        assert_eq!(text, "@@ -1,5 +1,5 @@\n [\n- \"a\",\n+ \"b\",\n  \"same\",\n  \"often\",\n  \"often\",\n");
    }

    #[test]
    fn texts_made_to_cost_time_are_given_up_on() {
        // Each line just under the hundredth, in another order: without a bound, some ten thousand million comparisons.
        let list = |step: usize| -> Value {
            Value::List((0..200_000).map(|at: usize| Value::from(format!("{}", at * step % 101))).collect())
        };
        let text = difference(&list(1), &list(7));
        let replaced = text.lines().filter(|line| line.starts_with('-')).count();
        assert!(replaced > 190_000, "{replaced}");
    }
}
