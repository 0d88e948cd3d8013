//! Finds the line of a field in a YAML text, by indentation.
//!
//! Flow style and anchors are not parsed: a field that is not found has the line of its nearest ancestor.

use std::borrow::Cow;

/// One document of a file.
pub struct Document<'a> {
    pub text: &'a str,
    /// The line it begins at, counted from 1.
    pub first_line: usize,
}

/// The non-empty documents of a file.
pub fn documents(text: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let (mut start, mut first_line, mut at) = (0, 1, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_end() == "---" {
            documents.push(Document { text: &text[start..at], first_line });
            (start, first_line) = (at + line.len(), number + 2);
        }
        at += line.len();
    }
    documents.push(Document { text: &text[start..], first_line });
    documents
        .retain(|document| document.text.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with('#')));
    documents
}

/// A step of a field's path: a name or key, or the place in a list.
enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

fn steps(path: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let (step, after) = match rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            Some((inner, after)) => (inner.parse().map_or(Step::Name(inner), Step::Index), after),
            None => {
                let end = rest.find(['.', '[']).unwrap_or(rest.len()).max(1).min(rest.len());
                (Step::Name(&rest[..end]), &rest[end..])
            }
        };
        steps.push(step);
        rest = after;
    }
    steps
}

impl Document<'_> {
    /// The line of a field, or of the nearest one above it that the text has.
    pub fn line_of(&self, path: &str) -> usize {
        let mut lines: Vec<Cow<'_, str>> = self.text.lines().map(Cow::Borrowed).collect();
        // The lines of the value found so far.
        let (mut from, mut to, mut found) = (0, lines.len(), 0);
        for step in steps(path) {
            let Some(indent) = (from..to).find_map(|at| indent_of(&lines[at])) else { break };
            // A list may be indented no further than the key it belongs to.
            let is_entry = |at: &usize| {
                indent_of(&lines[*at]) == Some(indent) && is_item(&lines[*at]) == matches!(step, Step::Index(_))
            };
            let entries: Vec<usize> = (from..to).filter(is_entry).collect();
            let entry = match step {
                Step::Name(name) => entries.iter().position(|at| is_key(lines[*at].trim_start(), name)),
                Step::Index(index) => Some(index).filter(|index| *index < entries.len()),
            };
            let Some(entry) = entry else { break };
            found = entries[entry];
            to = entries.get(entry + 1).copied().unwrap_or(to);
            from = match step {
                Step::Name(_) => found + 1,
                Step::Index(_) => {
                    // `- name: x`: the item's first entry stands on the line of its dash.
                    let without_dash = lines[found].replacen('-', " ", 1);
                    lines[found] = Cow::Owned(without_dash);
                    found
                }
            };
        }
        found + self.first_line
    }
}

fn is_item(line: &str) -> bool {
    let text = line.trim_start();
    text == "-" || text.starts_with("- ")
}

fn indent_of(line: &str) -> Option<usize> {
    let text = line.trim_start();
    (!text.is_empty() && !text.starts_with('#')).then(|| line.len() - text.len())
}

fn is_key(line: &str, name: &str) -> bool {
    let quoted = line.trim_start_matches(['"', '\'']);
    quoted.strip_prefix(name).is_some_and(|rest| rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::documents;

    #[test]
    fn lines_are_found() {
        let text = "# a\n---\nkind: Pod\nspec:\n  containers:\n  - name: a\n    image: b\n  - name: c\n    ports:\n    - containerPort: 0\n---\n";
        let all = documents(text);
        assert_eq!(all.len(), 1);
        let line = |path: &str| all[0].line_of(path);
        assert_eq!(line("spec"), 4);
        assert_eq!(line("spec.containers[0].image"), 7);
        assert_eq!(line("spec.containers[1].name"), 8);
        assert_eq!(line("spec.containers[1].ports[0].containerPort"), 10);
        assert_eq!(line("spec.absent"), 4);
        let text = "list:\n  -\n    a: 1\n  - a: 2\n    b: {c: 3}\nlast: x\n";
        let all = documents(text);
        let line = |path: &str| all[0].line_of(path);
        assert_eq!((line("list[0].a"), line("list[1].b.c"), line("last"), line("list[2]")), (3, 5, 6, 1));
    }
}
