//! Makes the tokens of a YAML stream events: the grammar of libyaml, one state for each place where a token is expected.
//! Guarantees the messages and lines of kube-apiserver's parser, and memory in proportion to the depth. Must never read
//! beyond the end of the first document.

use super::cursor::Scan;
use super::nodes::error;
use super::scanner::{Kind, Scanner};
use super::tags::{Tag, Tags};
use std::borrow::Cow;

pub(super) enum Event<'t> {
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(Cow<'t, str>),
    Scalar {
        text: Cow<'t, str>,
        properties: Properties<'t>,
        is_implicit: bool,
    },
    SequenceStart(Properties<'t>),
    MappingStart(Properties<'t>),
    /// Of a sequence or mapping.
    End,
}

/// What stands before a node.
#[derive(Default)]
pub(super) struct Properties<'t> {
    pub(super) anchor: Option<Cow<'t, str>>,
    pub(super) tag: Tag,
}

/// What is expected next.
#[derive(Clone, Copy)]
enum State {
    StreamStart,
    DocumentContent,
    BlockNode,
    DocumentEnd,
    SequenceItem,
    /// Of a sequence that is not indented more than the mapping that it is in.
    UnindentedItem,
    MappingKey,
    MappingValue,
    FlowSequenceStart,
    FlowSequenceItem,
    /// In a sequence: the key, the value and the end of a mapping of one entry.
    PairKey,
    PairValue,
    PairEnd,
    FlowMappingStart,
    FlowMappingKey,
    FlowMappingValue,
    /// Of a key without a colon.
    FlowMappingNoValue,
}

pub(super) struct Parser<'t> {
    scanner: Scanner<'t>,
    state: State,
    /// What is expected when the current node ends.
    outer: Vec<State>,
    /// Where each open collection begins.
    lines: Vec<usize>,
    tags: Tags<'t>,
}

/// An event, and the line in which it begins, counted from zero.
type Parsed<'t> = Scan<(Event<'t>, usize)>;

impl<'t> Parser<'t> {
    pub(super) fn new(scanner: Scanner<'t>) -> Self {
        Parser { scanner, state: State::StreamStart, outer: Vec::new(), lines: Vec::new(), tags: Tags::default() }
    }

    /// The next event. There is none after the end of the document or stream.
    pub(super) fn next(&mut self) -> Parsed<'t> {
        match self.state {
            State::StreamStart => self.document_start(),
            State::DocumentContent => self.document_content(),
            State::BlockNode => self.block_node(),
            State::DocumentEnd => Ok((Event::DocumentEnd, self.scanner.peek()?.1)),
            State::SequenceItem => self.sequence_item(),
            State::UnindentedItem => self.unindented_item(),
            State::MappingKey => self.mapping_key(),
            State::MappingValue => self.mapping_value(),
            State::FlowSequenceStart => self.flow_sequence_item(true),
            State::FlowSequenceItem => self.flow_sequence_item(false),
            State::PairKey => self.pair_key(),
            State::PairValue => self.pair_value(),
            State::PairEnd => self.pair_end(),
            State::FlowMappingStart => self.flow_mapping_key(true),
            State::FlowMappingKey => self.flow_mapping_key(false),
            State::FlowMappingValue => self.flow_mapping_value(),
            State::FlowMappingNoValue => self.flow_mapping_no_value(),
        }
    }

    fn document_start(&mut self) -> Parsed<'t> {
        let (kind, line) = self.scanner.peek()?;
        self.outer.push(State::DocumentEnd);
        match kind {
            Kind::StreamEnd => return Ok((Event::StreamEnd, line)),
            Kind::Version { .. } | Kind::TagDirective | Kind::DocumentStart => {
                self.directives()?;
                let (kind, line) = self.scanner.peek()?;
                if kind != Kind::DocumentStart {
                    return refuse("did not find expected <document start>", line, 0);
                }
                self.scanner.next()?;
                self.state = State::DocumentContent;
            }
            _ => self.state = State::BlockNode,
        }
        Ok((Event::DocumentStart, line))
    }

    fn directives(&mut self) -> Scan<()> {
        let mut has_version = false;
        loop {
            let (kind, line) = self.scanner.peek()?;
            match kind {
                Kind::Version { .. } if has_version => return refuse("found duplicate %YAML directive", line, 0),
                Kind::Version { major: 1, minor: 1 } => {
                    has_version = true;
                    self.scanner.next()?;
                }
                Kind::Version { .. } => return refuse("found incompatible YAML document", line, 0),
                Kind::TagDirective => {
                    let token = self.scanner.next()?;
                    if !self.tags.declare(token.text, token.suffix) {
                        return refuse("found duplicate %TAG directive", line, 0);
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn document_content(&mut self) -> Parsed<'t> {
        match self.scanner.peek()? {
            (
                Kind::Version { .. } | Kind::TagDirective | Kind::DocumentStart | Kind::DocumentEnd | Kind::StreamEnd,
                line,
            ) => {
                self.leave();
                empty(line)
            }
            _ => self.block_node(),
        }
    }

    /// Goes on with what is expected after the node that ends here.
    fn leave(&mut self) {
        self.state = self.outer.pop().unwrap_or(State::DocumentEnd);
    }

    fn block_node(&mut self) -> Parsed<'t> {
        self.node(true, false)
    }

    /// A node in a block, after which `then` is expected.
    fn block_node_then(&mut self, then: State) -> Parsed<'t> {
        self.outer.push(then);
        self.block_node()
    }

    /// A key or value of a mapping in a block.
    fn mapping_node_then(&mut self, then: State) -> Parsed<'t> {
        self.outer.push(then);
        self.node(true, true)
    }

    fn flow_node_then(&mut self, then: State) -> Parsed<'t> {
        self.outer.push(then);
        self.node(false, false)
    }

    /// An absent node, after which `then` is expected.
    fn empty_then(&mut self, line: usize, then: State) -> Parsed<'t> {
        self.state = then;
        empty(line)
    }

    fn node(&mut self, is_block: bool, takes_unindented: bool) -> Parsed<'t> {
        let (kind, start) = self.scanner.peek()?;
        if kind == Kind::Alias {
            self.leave();
            return Ok((Event::Alias(self.scanner.next()?.text), start));
        }
        let properties = self.properties()?;
        let (kind, line) = self.scanner.peek()?;
        let event = match kind {
            Kind::BlockEntry if takes_unindented => {
                self.state = State::UnindentedItem;
                Event::SequenceStart(properties)
            }
            Kind::Scalar { is_plain } => {
                let text = self.scanner.next()?.text;
                self.leave();
                let is_implicit = properties.tag == Tag::Exclaimed || properties.tag == Tag::Absent && is_plain;
                Event::Scalar { text, properties, is_implicit }
            }
            Kind::FlowSequenceStart => self.open(line, State::FlowSequenceStart, Event::SequenceStart(properties))?,
            Kind::FlowMappingStart => self.open(line, State::FlowMappingStart, Event::MappingStart(properties))?,
            Kind::BlockSequenceStart if is_block => {
                self.open(line, State::SequenceItem, Event::SequenceStart(properties))?
            }
            Kind::BlockMappingStart if is_block => {
                self.open(line, State::MappingKey, Event::MappingStart(properties))?
            }
            _ if properties.anchor.is_some() || properties.tag != Tag::Absent => {
                self.leave();
                let is_implicit = properties.tag == Tag::Absent;
                Event::Scalar { text: Cow::Borrowed(""), properties, is_implicit }
            }
            _ => return refuse("did not find expected node content", line, start),
        };
        Ok((event, start))
    }

    /// An anchor and a tag, in either order.
    fn properties(&mut self) -> Scan<Properties<'t>> {
        let mut properties = Properties::default();
        let start = self.scanner.peek()?.1;
        let mut undefined_in = None;
        loop {
            match self.scanner.peek()? {
                (Kind::Anchor, _) if properties.anchor.is_none() => {
                    properties.anchor = Some(self.scanner.next()?.text);
                }
                (Kind::Tag, line) if properties.tag == Tag::Absent && undefined_in.is_none() => {
                    let token = self.scanner.next()?;
                    match self.tags.find(&token.text, &token.suffix) {
                        Some(tag) => properties.tag = tag,
                        None => undefined_in = Some(line),
                    }
                }
                // What follows is scanned before kube-apiserver looks for the handle.
                _ => break,
            }
        }
        undefined_in.map_or(Ok(properties), |line| refuse("found undefined tag handle", line, start))
    }

    /// Begins a collection with the token here.
    fn open(&mut self, line: usize, state: State, event: Event<'t>) -> Scan<Event<'t>> {
        self.scanner.next()?;
        self.lines.push(line);
        self.state = state;
        Ok(event)
    }

    /// Ends a collection with the token here.
    fn close(&mut self, line: usize) -> Parsed<'t> {
        self.scanner.next()?;
        self.lines.pop();
        self.leave();
        Ok((Event::End, line))
    }

    /// An error in the innermost collection.
    fn refuse_in_collection(&self, problem: &str, line: usize) -> Parsed<'t> {
        refuse(problem, line, self.lines.last().copied().unwrap_or(0))
    }

    fn sequence_item(&mut self) -> Parsed<'t> {
        match self.scanner.peek()? {
            (Kind::BlockEntry, line) => {
                self.scanner.next()?;
                match self.scanner.peek()?.0 {
                    Kind::BlockEntry | Kind::BlockEnd => self.empty_then(line, State::SequenceItem),
                    _ => self.block_node_then(State::SequenceItem),
                }
            }
            (Kind::BlockEnd, line) => self.close(line),
            (_, line) => self.refuse_in_collection("did not find expected '-' indicator", line),
        }
    }

    fn unindented_item(&mut self) -> Parsed<'t> {
        match self.scanner.peek()? {
            (Kind::BlockEntry, line) => {
                self.scanner.next()?;
                match self.scanner.peek()?.0 {
                    Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd => {
                        self.empty_then(line, State::UnindentedItem)
                    }
                    _ => self.block_node_then(State::UnindentedItem),
                }
            }
            (_, line) => {
                self.leave();
                Ok((Event::End, line))
            }
        }
    }

    fn mapping_key(&mut self) -> Parsed<'t> {
        match self.scanner.peek()? {
            (Kind::Key, line) => {
                self.scanner.next()?;
                match self.scanner.peek()?.0 {
                    Kind::Key | Kind::Value | Kind::BlockEnd => self.empty_then(line, State::MappingValue),
                    _ => self.mapping_node_then(State::MappingValue),
                }
            }
            (Kind::BlockEnd, line) => self.close(line),
            (_, line) => self.refuse_in_collection("did not find expected key", line),
        }
    }

    fn mapping_value(&mut self) -> Parsed<'t> {
        match self.scanner.peek()? {
            (Kind::Value, line) => {
                self.scanner.next()?;
                match self.scanner.peek()?.0 {
                    Kind::Key | Kind::Value | Kind::BlockEnd => self.empty_then(line, State::MappingKey),
                    _ => self.mapping_node_then(State::MappingKey),
                }
            }
            (_, line) => self.empty_then(line, State::MappingKey),
        }
    }

    fn flow_sequence_item(&mut self, is_first: bool) -> Parsed<'t> {
        let (mut kind, mut line) = self.scanner.peek()?;
        if kind != Kind::FlowSequenceEnd && !is_first {
            if kind != Kind::FlowEntry {
                return self.refuse_in_collection("did not find expected ',' or ']'", line);
            }
            self.scanner.next()?;
            (kind, line) = self.scanner.peek()?;
        }
        match kind {
            Kind::FlowSequenceEnd => self.close(line),
            Kind::Key => {
                self.scanner.next()?;
                self.state = State::PairKey;
                Ok((Event::MappingStart(Properties::default()), line))
            }
            _ => self.flow_node_then(State::FlowSequenceItem),
        }
    }

    fn pair_key(&mut self) -> Parsed<'t> {
        match self.scanner.peek()? {
            // kube-apiserver steps over the token, so that no value follows an absent key.
            (Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd, line) => {
                self.scanner.next()?;
                self.empty_then(line, State::PairValue)
            }
            _ => self.flow_node_then(State::PairValue),
        }
    }

    fn pair_value(&mut self) -> Parsed<'t> {
        let (kind, line) = self.scanner.peek()?;
        if kind == Kind::Value {
            self.scanner.next()?;
            if !matches!(self.scanner.peek()?.0, Kind::FlowEntry | Kind::FlowSequenceEnd) {
                return self.flow_node_then(State::PairEnd);
            }
        }
        self.empty_then(line, State::PairEnd)
    }

    fn pair_end(&mut self) -> Parsed<'t> {
        let line = self.scanner.peek()?.1;
        self.state = State::FlowSequenceItem;
        Ok((Event::End, line))
    }

    fn flow_mapping_key(&mut self, is_first: bool) -> Parsed<'t> {
        let (mut kind, mut line) = self.scanner.peek()?;
        if kind != Kind::FlowMappingEnd && !is_first {
            if kind != Kind::FlowEntry {
                return self.refuse_in_collection("did not find expected ',' or '}'", line);
            }
            self.scanner.next()?;
            (kind, line) = self.scanner.peek()?;
        }
        match kind {
            Kind::FlowMappingEnd => self.close(line),
            Kind::Key => {
                self.scanner.next()?;
                match self.scanner.peek()? {
                    (Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd, line) => {
                        self.empty_then(line, State::FlowMappingValue)
                    }
                    _ => self.flow_node_then(State::FlowMappingValue),
                }
            }
            _ => self.flow_node_then(State::FlowMappingNoValue),
        }
    }

    fn flow_mapping_value(&mut self) -> Parsed<'t> {
        let (kind, mut line) = self.scanner.peek()?;
        if kind == Kind::Value {
            self.scanner.next()?;
            let (kind, next) = self.scanner.peek()?;
            if !matches!(kind, Kind::FlowEntry | Kind::FlowMappingEnd) {
                return self.flow_node_then(State::FlowMappingKey);
            }
            line = next;
        }
        self.empty_then(line, State::FlowMappingKey)
    }

    fn flow_mapping_no_value(&mut self) -> Parsed<'t> {
        let line = self.scanner.peek()?.1;
        self.empty_then(line, State::FlowMappingKey)
    }
}

/// The value of an absent node.
fn empty<'t>(line: usize) -> Parsed<'t> {
    Ok((Event::Scalar { text: Cow::Borrowed(""), properties: Properties::default(), is_implicit: true }, line))
}

/// An error of the parser: kube-apiserver shows the line before that of the problem, or before that in which what has the problem begins. The first
/// line has no number.
#[cold]
fn refuse<T>(problem: &str, line: usize, context: usize) -> Scan<T> {
    match [line, context].into_iter().find(|line| *line != 0) {
        Some(line) => Err(error(&format!("line {line}: {problem}"))),
        None => Err(error(problem)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::reader::source;
    use super::*;
    use pintle_schema::random::Random;

    #[test]
    fn events_are_as_many_as_characters() {
        const PARTS: [&str; 22] = [
            "a", ": ", ":", "- ", "? ", "[", "]", "{", "}", ",", "&x ", "!", "*x", "\n", "\n  ", " ", "---\n", "'b'",
            "|\n c\n", "#", "{a: b}", "a:\n",
        ];
        let mut longest = 0;
        for seed in 1..=20_000 {
            let mut chance = Random::new(seed);
            let parts = 1 + chance.below(24);
            let text: String = (0..parts).map(|_| PARTS[chance.below(PARTS.len())]).collect();
            let source = source(text.as_bytes());
            let mut parser = Parser::new(Scanner::new(&source));
            let (mut events, mut open) = (0, 0);
            while let Ok((event, _)) = parser.next() {
                events += 1;
                match event {
                    Event::SequenceStart(_) | Event::MappingStart(_) => open += 1,
                    Event::End => open -= 1,
                    Event::DocumentEnd | Event::StreamEnd => {
                        assert_eq!(open, 0, "{text:?}");
                        longest = longest.max(events);
                        break;
                    }
                    _ => {}
                }
                assert!(events <= 3 * text.len() + 3, "{text:?}");
                assert!(parser.outer.len() <= 2 * text.len() + 2 && parser.lines.len() <= text.len(), "{text:?}");
            }
        }
        assert!(longest > 10, "some texts should be documents: {longest}");
    }
}
