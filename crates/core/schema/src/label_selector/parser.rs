//! The parser of label selectors.
//! Guarantees kube-apiserver's tokens and error messages.
//! Must never look ahead more than one token.

use super::{LabelSelectorError, Operator, Requirement, key_error};
use crate::value::Str;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    End,
    Identifier,
    In,
    NotIn,
    ClosedParenthesis,
    OpenParenthesis,
    Comma,
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    GreaterThan,
    LessThan,
}

#[derive(Clone, Copy)]
struct Token<'a> {
    kind: Kind,
    text: &'a str,
}

const SYMBOLS: [(&str, Kind); 9] = [
    // Longer operators first.
    ("==", Kind::DoubleEquals),
    ("!=", Kind::NotEquals),
    ("=", Kind::Equals),
    ("!", Kind::Not),
    ("(", Kind::OpenParenthesis),
    (")", Kind::ClosedParenthesis),
    (",", Kind::Comma),
    (">", Kind::GreaterThan),
    ("<", Kind::LessThan),
];

/// Returns the first token of a text and the rest. A zero byte ends the text.
fn next_token(text: &str) -> (Token<'_>, &str) {
    let text = text.trim_start_matches([' ', '\t', '\r', '\n']);
    if text.is_empty() || text.starts_with('\0') {
        return (Token { kind: Kind::End, text: "" }, "");
    }
    if let Some((symbol, kind)) = SYMBOLS.iter().find(|(symbol, _)| text.starts_with(symbol)) {
        return (Token { kind: *kind, text: symbol }, text.get(symbol.len()..).unwrap_or(""));
    }
    let end = text.find([' ', '\t', '\r', '\n', '=', '!', '(', ')', ',', '>', '<', '\0']).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let kind = match word {
        "in" => Kind::In,
        "notin" => Kind::NotIn,
        _ => Kind::Identifier,
    };
    (Token { kind, text: word }, rest.strip_prefix('\0').unwrap_or(rest))
}

struct Parser<'a> {
    token: Token<'a>,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parser<'a> {
        let (token, rest) = next_token(text);
        Parser { token, rest }
    }

    fn consume(&mut self) -> Token<'a> {
        let token = self.token;
        (self.token, self.rest) = next_token(self.rest);
        token
    }

    /// The next token, where `in` and `notin` are ordinary names.
    fn peek_word(&self) -> Kind {
        as_word(self.token.kind)
    }

    fn consume_word(&mut self) -> Token<'a> {
        let token = self.consume();
        Token { kind: as_word(token.kind), ..token }
    }

    fn requirement(&mut self) -> Result<Requirement, LabelSelectorError> {
        let mut name = self.consume_word();
        let negated = name.kind == Kind::Not;
        if negated {
            name = self.consume_word();
        }
        if name.kind != Kind::Identifier {
            return Err(found(name.text, ", expected: identifier"));
        }
        let key = name.text;
        if let Some(error) = key_error("<nil>", key) {
            return Err(LabelSelectorError(error));
        }
        if negated {
            return Requirement::new(key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.token.kind, Kind::End | Kind::Comma) {
            return Requirement::new(key, Operator::Exists, Vec::new());
        }
        let operator = self.operator()?;
        let mut values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => vec![self.exact_value()?],
        };
        values.sort_unstable();
        values.dedup();
        Requirement::new(key, operator, values.into_iter().map(Str::new).collect())
    }

    fn operator(&mut self) -> Result<Operator, LabelSelectorError> {
        let token = self.consume();
        Ok(match token.kind {
            Kind::In => Operator::In,
            Kind::NotIn => Operator::NotIn,
            Kind::Equals => Operator::Equals,
            Kind::DoubleEquals => Operator::DoubleEquals,
            Kind::NotEquals => Operator::NotEquals,
            Kind::GreaterThan => Operator::GreaterThan,
            Kind::LessThan => Operator::LessThan,
            _ => return Err(found(token.text, ", expected: in, notin, =, ==, !=, gt, lt")),
        })
    }

    fn exact_value(&mut self) -> Result<&'a str, LabelSelectorError> {
        if matches!(self.token.kind, Kind::End | Kind::Comma) {
            return Ok("");
        }
        let token = self.consume_word();
        if token.kind == Kind::Identifier { Ok(token.text) } else { Err(found(token.text, ", expected: identifier")) }
    }

    fn values(&mut self) -> Result<Vec<&'a str>, LabelSelectorError> {
        let open = self.consume_word();
        if open.kind != Kind::OpenParenthesis {
            return Err(found(open.text, " expected: '('"));
        }
        match self.peek_word() {
            Kind::ClosedParenthesis => {
                self.consume();
                Ok(vec![""])
            }
            Kind::Identifier | Kind::Comma => {
                let values = self.listed_values()?;
                // The caller has checked that there is one.
                self.consume();
                Ok(values)
            }
            _ => Err(found(self.token.text, ", expected: ',', ')' or identifier")),
        }
    }

    /// The values up to the closing parenthesis. A value before, between or after commas may be omitted: it is empty.
    fn listed_values(&mut self) -> Result<Vec<&'a str>, LabelSelectorError> {
        let mut values = Vec::new();
        loop {
            let token = self.consume_word();
            match (token.kind, self.peek_word()) {
                (Kind::Identifier, next) => {
                    values.push(token.text);
                    match next {
                        Kind::Comma => {}
                        Kind::ClosedParenthesis => return Ok(values),
                        _ => return Err(found(self.token.text, ", expected: ',' or ')'")),
                    }
                }
                (Kind::Comma, next) => {
                    if values.is_empty() || matches!(next, Kind::Comma | Kind::ClosedParenthesis) {
                        values.push("");
                    }
                    if next == Kind::ClosedParenthesis {
                        return Ok(values);
                    }
                }
                _ => return Err(found(token.text, ", expected: ',', or identifier")),
            }
        }
    }
}

fn as_word(kind: Kind) -> Kind {
    match kind {
        Kind::In | Kind::NotIn => Kind::Identifier,
        _ => kind,
    }
}

fn found(text: &str, expected: &str) -> LabelSelectorError {
    LabelSelectorError(format!("found '{text}'{expected}"))
}

/// Parses requirements in the order of the text.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, LabelSelectorError> {
    let mut parser = Parser::new(text);
    let mut requirements = Vec::new();
    match parser.peek_word() {
        Kind::End => return Ok(requirements),
        Kind::Identifier | Kind::Not => {}
        _ => return Err(found(parser.token.text, ", expected: !, identifier, or 'end of string'")),
    }
    loop {
        let requirement = parser.requirement();
        let in_context = |error| LabelSelectorError(format!("unable to parse requirement: {error}"));
        requirements.push(requirement.map_err(in_context)?);
        let token = parser.consume_word();
        match token.kind {
            Kind::End => return Ok(requirements),
            Kind::Comma if matches!(parser.peek_word(), Kind::Identifier | Kind::Not) => {}
            Kind::Comma => return Err(found(parser.token.text, ", expected: identifier after ','")),
            _ => return Err(found(token.text, ", expected: ',' or 'end of string'")),
        }
    }
}
