//! How kube-apiserver's generated parser reports errors and goes on after them: its machine of states, without a tree.
//!
//! Every position of the grammar at which the machine looks at what may follow has the number it has there, since recovery
//! remembers numbers. Attempts and tokens skipped are bounded.

use super::token::{Set, T, Token};
use crate::issue::{Issues, Position, Source};

/// The depth of any one rule of the grammar.
const MAX_DEPTH: u32 = 250;
const MAX_SYNTAX_ERRORS: u32 = 100;
const MAX_ATTEMPTS: u32 = 30;
const MAX_SKIPPED: u32 = 256;

/// Why a rule does not go on.
pub(super) enum Stop {
    /// Its error is kept, to be reported when the rule is left.
    Error,
    /// Parsing ends.
    Fatal,
}

pub(super) type Step<T = ()> = Result<T, Stop>;

/// What kind of position the machine is at, which decides how it recovers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// A choice.
    Block,
    /// The end of a round of a loop.
    LoopBack,
}

pub(super) struct Machine<'s> {
    source: &'s Source,
    all: &'s [Token],
    /// Indexes of the tokens that are not hidden.
    visible: Vec<usize>,
    at: usize,
    state: u16,
    /// For each rule being parsed: what may follow it.
    follows: Vec<Set>,
    depths: [u32; 17],
    is_recovering: bool,
    last_error: Option<(usize, Vec<u16>)>,
    /// The error that stops the current rule.
    error: Option<(usize, String)>,
    attempts: u32,
    reported: u32,
    issues: &'s mut Issues,
}

impl<'s> Machine<'s> {
    pub fn new(source: &'s Source, all: &'s [Token], issues: &'s mut Issues) -> Self {
        let visible = (0..all.len()).filter(|at| all.get(*at).is_some_and(|token| token.kind != T::Hidden)).collect();
        Machine {
            source,
            all,
            visible,
            at: 0,
            state: 0,
            follows: Vec::new(),
            depths: [0; 17],
            is_recovering: false,
            last_error: None,
            error: None,
            attempts: 0,
            reported: 0,
            issues,
        }
    }

    /// The index, among all tokens, of the one `ahead`: 1 is the next.
    pub fn token(&self, ahead: usize) -> usize {
        let last = self.visible.last().copied().unwrap_or(0);
        self.visible.get(self.at + ahead - 1).copied().unwrap_or(last)
    }

    /// The kind of the token `ahead`.
    pub fn la(&self, ahead: usize) -> T {
        self.all.get(self.token(ahead)).map_or(T::Eof, |token| token.kind)
    }

    fn consume(&mut self) -> usize {
        let token = self.token(1);
        if self.la(1) != T::Eof {
            self.at += 1;
        }
        token
    }

    /// Enters a rule: `follow` may come after it here. What it returns is for `leave`.
    pub fn enter(&mut self, rule: usize, follow: Set) -> Result<u16, Stop> {
        self.follows.push(follow);
        let depth = &mut self.depths[rule];
        *depth += 1;
        if *depth > MAX_DEPTH {
            let message = format!("expression recursion limit exceeded: {MAX_DEPTH}");
            self.issues.report(0, Position(None), message);
            return Err(Stop::Fatal);
        }
        Ok(self.state)
    }

    /// Leaves a rule; if it failed, reports why and skips what cannot follow.
    pub fn leave(&mut self, rule: usize, entered_at: u16, outcome: Step) -> Result<(), Stop> {
        match outcome {
            Ok(()) => {}
            Err(Stop::Fatal) => return Err(Stop::Fatal),
            Err(Stop::Error) => {
                self.report_error()?;
                self.recover()?;
            }
        }
        self.depths[rule] -= 1;
        self.follows.pop();
        self.state = entered_at;
        Ok(())
    }

    /// Sets the position from which a rule is entered.
    pub fn at_state(&mut self, state: u16) {
        self.state = state;
    }

    /// Takes a token of a kind; `after` may follow it.
    pub fn take(&mut self, state: u16, kind: T, after: Set) -> Step<usize> {
        self.take_any(state, Set::of(&[kind]), after)
    }

    /// Takes a token of one of several kinds.
    pub fn take_any(&mut self, state: u16, kinds: Set, after: Set) -> Step<usize> {
        self.state = state;
        if kinds.has(self.la(1)) {
            self.end_recovery();
            return Ok(self.consume());
        }
        self.check_attempts()?;
        if let Some(token) = self.delete_one(kinds)? {
            self.consume();
            return Ok(token);
        }
        if self.expected(after).has(self.la(1)) {
            if !self.is_recovering {
                self.is_recovering = true;
                let message = format!("missing {} at {}", self.expected(kinds).names(), self.shown(self.token(1)));
                self.notify(self.token(1), &message)?;
            }
            return Ok(self.token(1));
        }
        self.mismatch(kinds)
    }

    /// Stops the rule: the next token is none of those expected.
    pub fn mismatch<R>(&mut self, next: Set) -> Step<R> {
        let token = self.token(1);
        let message = format!("mismatched input {} expecting {}", self.shown(token), self.expected(next).names());
        self.error = Some((token, message));
        Err(Stop::Error)
    }

    /// Stops the rule: no alternative begins with the next tokens, the last of which is `ahead`.
    pub fn no_alternative<R>(&mut self, ahead: usize) -> Step<R> {
        let (first, last) = (self.token(1), self.token(ahead));
        let tokens = self.all.get(first..=last).unwrap_or(&[]);
        let text: String = match self.la(1) {
            T::Eof => "<EOF>".to_string(),
            _ => tokens.iter().filter(|token| token.kind != T::Eof).map(|token| self.text(token)).collect(),
        };
        self.error = Some((last, format!("no viable alternative at input {}", quote(&text))));
        Err(Stop::Error)
    }

    /// Looks whether the next token may stand here; skips what must not.
    pub fn sync(&mut self, state: u16, at: At, next: Set) -> Step {
        self.state = state;
        if self.is_recovering || next.has_end() || next.has(self.la(1)) {
            return Ok(());
        }
        match at {
            At::Block => match self.delete_one(next)? {
                Some(_) => Ok(()),
                None => self.mismatch(next),
            },
            At::LoopBack => {
                self.report_unwanted(next)?;
                let until = self.expected(next).or(self.recovery_set());
                while self.la(1) != T::Eof && !until.has(self.la(1)) {
                    self.consume();
                }
                Ok(())
            }
        }
    }

    /// If the token after the next is expected, reports the next as extraneous, skips it and returns the one after.
    fn delete_one(&mut self, next: Set) -> Step<Option<usize>> {
        if !self.expected(next).has(self.la(2)) {
            return Ok(None);
        }
        self.report_unwanted(next)?;
        self.consume();
        self.end_recovery();
        Ok(Some(self.token(1)))
    }

    fn report_unwanted(&mut self, next: Set) -> Step {
        if self.is_recovering {
            return Ok(());
        }
        self.is_recovering = true;
        let token = self.token(1);
        let message = format!("extraneous input {} expecting {}", self.shown(token), self.expected(next).names());
        self.notify(token, &message)
    }

    fn report_error(&mut self) -> Step {
        let Some((token, message)) = self.error.take() else { return Ok(()) };
        if self.is_recovering {
            return Ok(());
        }
        self.is_recovering = true;
        self.notify(token, &message)
    }

    fn check_attempts(&mut self) -> Step {
        self.attempts += 1;
        if self.attempts > MAX_ATTEMPTS {
            self.notify(self.token(1), &format!("error recovery attempt limit exceeded: {MAX_ATTEMPTS}"))?;
            return Err(Stop::Fatal);
        }
        Ok(())
    }

    fn recover(&mut self) -> Step {
        self.check_attempts()?;
        let mut skipped = 0;
        let (at, state) = (self.at, self.state);
        let is_stuck = self.last_error.as_ref().is_some_and(|(last, states)| *last == at && states.contains(&state));
        if is_stuck {
            self.skip(&mut skipped)?;
        }
        let mut states = self.last_error.take().map(|(_, states)| states).unwrap_or_default();
        if !states.contains(&state) {
            states.push(state);
        }
        self.last_error = Some((self.at, states));
        let until = self.recovery_set();
        while self.la(1) != T::Eof && !until.has(self.la(1)) {
            self.skip(&mut skipped)?;
        }
        Ok(())
    }

    fn skip(&mut self, skipped: &mut u32) -> Step {
        if *skipped >= MAX_SKIPPED {
            let message = format!("error recovery token lookahead limit exceeded: {MAX_SKIPPED}");
            self.issues.report(0, Position(None), message);
            return Err(Stop::Fatal);
        }
        *skipped += 1;
        self.consume();
        Ok(())
    }

    fn end_recovery(&mut self) {
        self.is_recovering = false;
        self.last_error = None;
    }

    /// What may come next, given what may come next within the rule.
    fn expected(&self, next: Set) -> Set {
        let mut expected = next;
        for follow in self.follows.iter().rev() {
            if !expected.has_end() {
                return expected;
            }
            expected = expected.without_end().or(*follow);
        }
        if expected.has_end() { expected.without_end().or(Set::of(&[T::Eof])) } else { expected }
    }

    fn recovery_set(&self) -> Set {
        self.follows.iter().fold(Set::NONE, |all, follow| all.or(*follow)).without_end()
    }

    fn text(&self, token: &Token) -> String {
        let offset = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
        self.source.slice(offset(token.start), offset(token.end))
    }

    fn shown(&self, token: usize) -> String {
        match self.all.get(token) {
            Some(token) if token.kind != T::Eof => quote(&self.text(token)),
            _ => "'<EOF>'".to_string(),
        }
    }

    fn notify(&mut self, token: usize, message: &str) -> Step {
        let start = self.all.get(token).map_or(0, |token| token.start);
        let position = self.source.position(start);
        // A reserved word after a dot is reported as what is missing instead.
        let mut message = message.to_string();
        if let Some(input) = message.strip_prefix("no viable alternative at input '").and_then(|m| m.strip_suffix('\''))
            && let Some(word) = input.get(1..).filter(|word| ["true", "false", "null"].contains(word))
        {
            message = format!("mismatched input '{word}' expecting IDENTIFIER");
        }
        if self.reported >= MAX_SYNTAX_ERRORS {
            let message = format!("Syntax error: More than {MAX_SYNTAX_ERRORS} syntax errors");
            self.issues.report(0, position, message);
            return Err(Stop::Fatal);
        }
        self.reported += 1;
        self.issues.report(0, position, format!("Syntax error: {message}"));
        Ok(())
    }
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r"))
}
