//! The first document of a YAML stream as nodes.
//! Guarantees that nothing is expanded: nodes are numbered, and an alias is the number of its node.

use crate::error::DecodeError;
use crate::limits;
use libyaml_safer::{ErrorKind, EventData, Mark};
use pintle_schema::Str;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};
use std::borrow::Cow;
use std::collections::HashMap;

pub(super) type NodeId = usize;

pub(super) struct Node {
    pub(super) kind: Kind,
    /// Counted from one.
    pub(super) line: usize,
}

pub(super) enum Kind {
    Scalar {
        text: Str,
        tag: Option<String>,
        /// Without quotes or tag.
        plain: bool,
    },
    Sequence(Vec<NodeId>),
    /// Keys and values alternate.
    Mapping(Vec<NodeId>),
    Alias {
        of: NodeId,
        /// Its position in characters.
        at: usize,
    },
}

pub(super) struct Document<'t> {
    /// As it was parsed.
    text: Cow<'t, str>,
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
}

impl Document<'_> {
    /// The name of the alias at a position.
    pub(super) fn alias_name(&self, at: usize) -> String {
        alias_name(&self.text, at)
    }
}

/// Parses the first document; `None` if there is none.
pub(super) fn read(text: &str) -> Result<Option<Document<'_>>, DecodeError> {
    directives(text)?;
    let mut text = Cow::Borrowed(text);
    let mut left = limits::YAML_REREAD_BYTES;
    loop {
        match parse(&text) {
            Ok(nodes) => return Ok(nodes.map(|nodes| Document { text, nodes, root: 0 })),
            Err(Refusal::Decode(error)) => return Err(error),
            Err(Refusal::Parser(found)) => {
                let next = accepted(&found, &text, left).and_then(|next| Some((left.checked_sub(next.len())?, next)));
                let Some((after, next)) = next else { return Err(failure(&found, &text)) };
                left = after;
                text = Cow::Owned(next);
            }
        }
    }
}

/// Checks the lines before the first document: kube-apiserver's parser knows one version of YAML and no directives besides
/// those of YAML 1.1.
fn directives(text: &str) -> Result<(), DecodeError> {
    for (line, content) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let Some(directive) = content.strip_prefix('%') else {
            match content.trim_start().chars().next() {
                None | Some('#') => continue,
                Some(_) => return Ok(()),
            }
        };
        let mut words = directive.split([' ', '\t']).filter(|word| !word.is_empty());
        let version = match words.next() {
            None | Some("TAG") => continue,
            Some("YAML") => words.next().and_then(|version| version.split_once('.')),
            Some(_) => return Err(at_line(line, "found unknown directive name")),
        };
        let number = |text: &str| text.parse::<u32>().ok();
        if let Some((Some(major), Some(minor))) = version.map(|(major, minor)| (number(major), number(minor)))
            && (major, minor) != (1, 1)
        {
            let problem = "found incompatible YAML document";
            // The parser counts lines from zero, the scanner from one; the first has no number.
            return Err(if line == 0 { error(problem) } else { error(&format!("line {line}: {problem}")) });
        }
    }
    Ok(())
}

/// Why a text is not parsed.
enum Refusal {
    Decode(DecodeError),
    /// What our parser found, which kube-apiserver's may accept.
    Parser(ScanError),
}

impl From<DecodeError> for Refusal {
    fn from(error: DecodeError) -> Self {
        Refusal::Decode(error)
    }
}

/// A text of the same meaning without what our parser found, if that is no error for kube-apiserver's. None that is longer than
/// `most` bytes is made.
fn accepted(found: &ScanError, text: &str, most: usize) -> Option<String> {
    match found.info() {
        "misplaced bracket" => before_bracket(found, text).map(str::to_owned),
        "invalid indentation in quoted scalar" => indented(found, text, most),
        "invalid indentation" | "invalid indentation in flow construct" => moved_right(found, text, most),
        _ => None,
    }
}

/// The nodes of the first document, its root first; `None` if there is none.
fn parse(text: &str) -> Result<Option<Vec<Node>>, Refusal> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut anchors: HashMap<usize, NodeId> = HashMap::new();
    let mut open: Vec<NodeId> = Vec::new();
    let mut tabs = Tabs::of(text);
    for event in Parser::new_from_str(text) {
        let (event, span) = match event {
            Ok(event) => event,
            Err(found) => return Err(Refusal::Parser(found)),
        };
        let line = span.start.line();
        let (kind, anchor) = match event {
            Event::DocumentEnd => break,
            Event::StreamEnd => return Ok(None),
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
                tabs.leave();
                continue;
            }
            Event::Alias(anchor) => match anchors.get(&anchor) {
                Some(of) => (Kind::Alias { of: *of, at: span.start.index() }, 0),
                None => return Err(error("unknown anchor referenced").into()),
            },
            // Inside of brackets these begin no scalar, neither a block nor a plain one.
            Event::Scalar(text, ScalarStyle::Plain, ..) if text.starts_with(['|', '>']) => {
                return Err(at_line(line.saturating_sub(1), "found character that cannot start any token").into());
            }
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let tag = tag.map(|tag: Cow<'_, Tag>| format!("{}{}", tag.handle, tag.suffix));
                (Kind::Scalar { text: Str::from(text), tag, plain }, anchor)
            }
            Event::SequenceStart(anchor, _) => (Kind::Sequence(Vec::new()), anchor),
            Event::MappingStart(anchor, _) => (Kind::Mapping(Vec::new()), anchor),
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => continue,
        };
        let id = nodes.len();
        let opens = matches!(kind, Kind::Sequence(_) | Kind::Mapping(_));
        tabs.check(line.saturating_sub(1), span.start.col(), opens)?;
        nodes.push(Node { kind, line });
        if anchor != 0 {
            anchors.insert(anchor, id);
        }
        if let Some(parent) = open.last().and_then(|parent| nodes.get_mut(*parent))
            && let Kind::Sequence(children) | Kind::Mapping(children) = &mut parent.kind
        {
            children.push(id);
        }
        if opens {
            if open.len() >= limits::TREE_DEPTH {
                return Err(error("exceeded max depth of 10000").into());
            }
            open.push(id);
        }
    }
    Ok((!nodes.is_empty()).then_some(nodes))
}

/// The text before an unmatched closing bracket, if the document itself is in brackets: kube-apiserver does not read
/// beyond it.
fn before_bracket<'t>(found: &ScanError, text: &'t str) -> Option<&'t str> {
    let (end, _) = text.char_indices().nth(found.marker().index())?;
    text.get(..end).filter(|before| before.trim_start().starts_with(['{', '[']))
}

/// The text with the later lines of a quoted scalar indented as deep as the scalar itself. Indentation is no content there, and
/// kube-apiserver's parser asks for none, while ours follows the specification. `None` beyond `most` bytes: many short lines
/// after a scalar that begins far to the right would take any amount of memory.
fn indented(found: &ScanError, text: &str, most: usize) -> Option<String> {
    let (start, quote) = text.char_indices().nth(found.marker().index())?;
    let inside = text.get(start + 1..)?;
    let end = quoted_end(inside, quote)?;
    let indentation = " ".repeat(found.marker().col() + 1);
    let mut indented = text[..=start].to_owned();
    for (at, line) in inside[..end].split_inclusive('\n').enumerate() {
        // These end a document wherever they stand, but at the beginning of a line only.
        let after = line.strip_prefix("---").or(line.strip_prefix("..."));
        let is_marker = after.is_some_and(|after| after.is_empty() || after.starts_with([' ', '\t', '\r', '\n']));
        if indented.len() + indentation.len() + line.len() > most {
            return None;
        }
        if at > 0 && !is_marker {
            indented.push_str(&indentation);
        }
        indented.push_str(line);
    }
    if inside[..end].ends_with('\n') {
        indented.push_str(&indentation);
    }
    indented.push_str(&inside[end..]);
    Some(indented)
}

/// The text with a line inside of brackets indented deeper than the line before it. Indentation has no meaning there, and
/// kube-apiserver's parser asks for none, while ours wants the one of the block that the brackets are in.
fn moved_right(found: &ScanError, text: &str, most: usize) -> Option<String> {
    let (at, _) = text.char_indices().nth(found.marker().index())?;
    let (before, line) = text.split_at_checked(at)?;
    let is_content = |line: &&str| !matches!(line.trim_start().bytes().next(), None | Some(b'#'));
    let (above, _) = before.rsplit_once('\n')?;
    let above = above.lines().rev().find(is_content)?;
    // An entry of a sequence is as deep as what follows its dashes.
    let depth = above.len() - above.trim_start_matches([' ', '-', '?']).len() + 1;
    let spaces = depth.checked_sub(found.marker().col()).filter(|spaces| *spaces > 0)?;
    (text.len() + spaces <= most).then(|| format!("{before}{}{line}", " ".repeat(spaces)))
}

/// Where a quoted scalar ends, whose text begins here.
fn quoted_end(inside: &str, quote: char) -> Option<usize> {
    let mut letters = inside.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' if quote == '"' => drop(letters.next()),
            '\'' if quote == '\'' && letters.next_if(|(_, next)| *next == '\'').is_some() => {}
            letter if letter == quote => return Some(at),
            _ => {}
        }
    }
    None
}

pub(super) fn error(text: &str) -> DecodeError {
    DecodeError::Syntax(format!("yaml: {text}"))
}

/// kube-apiserver's message for invalid YAML. Its parser is a Go port of libyaml, so libyaml provides the message; if
/// libyaml would accept the text, or might fail over it, our parser's message is used.
fn failure(found: &ScanError, text: &str) -> DecodeError {
    if found.info().ends_with("found unknown anchor") {
        return error(&format!("unknown anchor '{}' referenced", alias_name(text, found.marker().index())));
    }
    match refused_by_libyaml(text) {
        Some(refused) => refused,
        None => {
            let said = found.info().split_once(", ").filter(|(doing, _)| doing.starts_with("while "));
            at_line(found.marker().line().saturating_sub(1), said.map_or(found.info(), |(_, problem)| problem))
        }
    }
}

/// libyaml's message for a text, if it rejects it: kube-apiserver reports the line of the problem, counts lines from
/// zero, adds one for scanner errors, and omits the first line.
fn refused_by_libyaml(text: &str) -> Option<DecodeError> {
    // Asking libyaml is not safe at tags, and if a line is not terminated.
    let may_be_tag = |at| !text.get(..at).is_some_and(|before| before.ends_with(char::is_alphanumeric));
    if text.match_indices('!').any(|(at, _)| may_be_tag(at)) {
        return None;
    }
    let last_line = text.bytes().filter(|byte| *byte == b'\n').count() as u64;
    let ended = if text.ends_with('\n') { Cow::Borrowed(text) } else { Cow::Owned(format!("{text}\n")) };
    let mut input = ended.as_bytes();
    let mut parser = libyaml_safer::Parser::new();
    parser.set_input_string(&mut input);
    let mut depth = 0;
    let refused = loop {
        match parser.next()? {
            Ok(event) => match event.data {
                EventData::SequenceStart { .. } | EventData::MappingStart { .. }
                    if depth == limits::YAML_ASKED_DEPTH =>
                {
                    return None;
                }
                EventData::SequenceStart { .. } | EventData::MappingStart { .. } => depth += 1,
                EventData::SequenceEnd | EventData::MappingEnd => depth -= 1,
                // Only the first document is parsed.
                EventData::DocumentEnd { .. } => return None,
                _ => {}
            },
            Err(refused) => break refused,
        }
    };
    let problem = refused.problem();
    // Within a scalar the text ends in its last line, otherwise in the next one.
    let last = if problem == "found unexpected end of stream" { last_line } else { u64::MAX };
    let line = |mark: Option<Mark>| mark.map(|mark| mark.line.min(last)).filter(|line| *line != 0);
    let scanned = u64::from(refused.kind() == ErrorKind::Scanner);
    let line = line(refused.problem_mark()).map(|line| line + scanned).or_else(|| line(refused.context_mark()));
    Some(line.map_or_else(|| error(problem), |line| error(&format!("line {line}: {problem}"))))
}

/// A message of kube-apiserver's scanner about a line, counted from zero.
fn at_line(line: usize, problem: &str) -> DecodeError {
    if line == 0 { error(problem) } else { error(&format!("line {}: {problem}", line + 1)) }
}

/// Finds tabs in the indentation, which kube-apiserver allows only between brackets.
struct Tabs<'t> {
    /// None if the text has no tab.
    lines: Vec<Line<'t>>,
    /// The number of open collections, from the first bracket on.
    brackets: usize,
}

impl<'t> Tabs<'t> {
    fn of(text: &'t str) -> Self {
        let lines = if text.contains('\t') { text.split('\n').map(Line::of).collect() } else { Vec::new() };
        Tabs { lines, brackets: 0 }
    }

    /// A node that begins at a position, counted from zero.
    fn check(&mut self, line: usize, column: usize, opens: bool) -> Result<(), DecodeError> {
        let Some(found) = self.lines.get(line) else { return Ok(()) };
        if self.brackets == 0 && column <= found.indent && found.first_tab.is_some_and(|tab| tab < column) {
            return Err(at_line(line, "found character that cannot start any token"));
        }
        // Only the indentation outside of brackets is scanned: a line may be long and contain a node every other
        // byte.
        let is_bracket = || found.text.chars().nth(column).is_some_and(|first| matches!(first, '[' | '{'));
        if opens && (self.brackets > 0 || is_bracket()) {
            self.brackets += 1;
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.brackets = self.brackets.saturating_sub(1);
    }
}

/// A line and its indentation, in characters.
struct Line<'t> {
    text: &'t str,
    /// The number of spaces and tabs.
    indent: usize,
    /// The position of the first tab among them.
    first_tab: Option<usize>,
}

impl<'t> Line<'t> {
    fn of(text: &'t str) -> Self {
        let indent = text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let first_tab = text.bytes().take(indent).position(|byte| byte == b'\t');
        Line { text, indent, first_tab }
    }
}

/// The name after the first `*` at or after a position.
fn alias_name(text: &str, at: usize) -> String {
    let name = text.chars().skip(at).skip_while(|char| *char != '*').skip(1);
    name.take_while(|char| !char.is_whitespace() && !",[]{}".contains(*char)).collect()
}
