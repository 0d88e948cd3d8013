//! Tokens, their names in messages, and sets of them.

/// The kind of a token; the numbers order it in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum T {
    Eof = 0,
    Equals,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    And,
    Or,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Dot,
    Comma,
    Minus,
    Exclamation,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    /// Blanks and comments: kept for the texts of messages.
    Hidden,
    Float = 31,
    Int,
    Uint,
    String,
    Bytes,
    Ident,
    QuotedIdent,
}

const ALL: [(T, &str); 37] = [
    (T::Eof, "<EOF>"),
    (T::Equals, "'=='"),
    (T::NotEquals, "'!='"),
    (T::In, "'in'"),
    (T::Less, "'<'"),
    (T::LessEquals, "'<='"),
    (T::GreaterEquals, "'>='"),
    (T::Greater, "'>'"),
    (T::And, "'&&'"),
    (T::Or, "'||'"),
    (T::LeftBracket, "'['"),
    (T::RightBracket, "']'"),
    (T::LeftBrace, "'{'"),
    (T::RightBrace, "'}'"),
    (T::LeftParen, "'('"),
    (T::RightParen, "')'"),
    (T::Dot, "'.'"),
    (T::Comma, "','"),
    (T::Minus, "'-'"),
    (T::Exclamation, "'!'"),
    (T::Question, "'?'"),
    (T::Colon, "':'"),
    (T::Plus, "'+'"),
    (T::Star, "'*'"),
    (T::Slash, "'/'"),
    (T::Percent, "'%'"),
    (T::True, "'true'"),
    (T::False, "'false'"),
    (T::Null, "'null'"),
    (T::Hidden, "WHITESPACE"),
    (T::Float, "NUM_FLOAT"),
    (T::Int, "NUM_INT"),
    (T::Uint, "NUM_UINT"),
    (T::String, "STRING"),
    (T::Bytes, "BYTES"),
    (T::Ident, "IDENTIFIER"),
    (T::QuotedIdent, "ESC_IDENTIFIER"),
];

/// A token of the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub kind: T,
    /// Offsets in characters.
    pub start: u32,
    pub end: u32,
}

/// A set of kinds of tokens, and whether the end of the rule belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Set(u64);

const END: u64 = 1 << 63;

impl Set {
    pub const NONE: Set = Set(0);
    /// Only the end of the rule.
    pub const END: Set = Set(END);

    pub const fn of(kinds: &[T]) -> Set {
        let mut bits = 0;
        let mut at = 0;
        while at < kinds.len() {
            bits |= 1 << kinds[at] as u8;
            at += 1;
        }
        Set(bits)
    }

    pub const fn or(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }

    pub const fn or_end(self) -> Set {
        Set(self.0 | END)
    }

    pub const fn without_end(self) -> Set {
        Set(self.0 & !END)
    }

    pub const fn has_end(self) -> bool {
        self.0 & END != 0
    }

    pub const fn has(self, kind: T) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// As messages list it.
    pub fn names(self) -> String {
        let names: Vec<&str> = ALL.iter().filter(|(kind, _)| self.has(*kind)).map(|(_, name)| *name).collect();
        match names.as_slice() {
            [one] => (*one).to_string(),
            many => format!("{{{}}}", many.join(", ")),
        }
    }
}
