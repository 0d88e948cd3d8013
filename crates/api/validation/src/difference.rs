//! What differs between two values, line by line, as the reference adds it to messages about what must not change.
//!
//! The lines that stay are found as its library finds them: the longest run first, then what is before and after it.

use pintle_schema::Value;
use std::fmt::Write;

/// Lines of what stays that are shown around what does not.
const CONTEXT: usize = 3;

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
    let mut runs = Vec::new();
    common(&old, &new, (0, old.len()), (0, new.len()), &mut runs);
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

/// Finds the runs that two stretches have in common, in their order.
fn common(old: &[String], new: &[String], of_old: (usize, usize), of_new: (usize, usize), runs: &mut Vec<Run>) {
    let longest = longest(old, new, of_old, of_new);
    if longest.length == 0 {
        return;
    }
    common(old, new, (of_old.0, longest.old), (of_new.0, longest.new), runs);
    match runs.last_mut().filter(|run| run.old + run.length == longest.old && run.new + run.length == longest.new) {
        Some(run) => run.length += longest.length,
        None => runs.push(longest),
    }
    let (old_end, new_end) = (longest.old + longest.length, longest.new + longest.length);
    common(old, new, (old_end, of_old.1), (new_end, of_new.1), runs);
}

/// The longest common run of two stretches, of several the first.
fn longest(old: &[String], new: &[String], of_old: (usize, usize), of_new: (usize, usize)) -> Run {
    let mut best = Run { old: of_old.0, new: of_new.0, length: 0 };
    // How long a run ends at each line of the new text.
    let mut ending = vec![0; new.len() + 1];
    for (at_old, line) in old.iter().enumerate().take(of_old.1).skip(of_old.0) {
        let mut now = vec![0; new.len() + 1];
        for (at_new, other) in new.iter().enumerate().take(of_new.1).skip(of_new.0) {
            if line == other {
                let length = if at_new > of_new.0 { ending[at_new] } else { 0 } + 1;
                now[at_new + 1] = length;
                if length > best.length {
                    best = Run { old: at_old + 1 - length, new: at_new + 1 - length, length };
                }
            }
        }
        ending = now;
    }
    best
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
    use pintle_schema::value;

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
}
