//! How objects of a resource become rows of a table.
//!
//! Printing never fails; what is absent prints as such.

use pintle_schema::duration::human_duration;
use pintle_schema::{Str, Struct, Value};

/// What a table says about one of its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: Str,
    /// The OpenAPI type that the cells are said to have; some kinds print others, as kube-apiserver does.
    pub ty: Str,
    /// `name` marks the column that names the object.
    pub format: Str,
    pub description: Str,
    /// 0 is always shown, 1 only in wide output. The server fills in every column.
    pub priority: i32,
}

/// A field of a struct, by its JSON name.
pub type Unprinted = (&'static Struct, &'static str);

/// How objects of a resource become rows.
pub trait Printer: Send + Sync {
    fn columns(&self) -> Vec<Column>;

    /// The cells of an object in its storage version, in the order of the columns.
    fn cells(&self, object: &Value, now: &Now) -> Vec<Value>;

    /// What is remarked on a row, as `TableRowCondition`s; `None` for rows that never have any.
    fn conditions(&self, _object: &Value) -> Option<Vec<Value>> {
        None
    }

    /// Fields that no cell depends on, so that objects need not be decoded whole to be printed.
    fn unprinted(&self) -> Vec<Unprinted> {
        Vec::new()
    }
}

/// The printer of resources without columns of their own: name and time of creation.
pub struct NameAndAge;

/// What is printed for a time that was never set.
const ZERO_TIME: &str = "0001-01-01T00:00:00Z";

impl Printer for NameAndAge {
    fn columns(&self) -> Vec<Column> {
        let text = Str::new_static;
        let column = |name, ty, format, description| Column {
            name: text(name),
            ty: text(ty),
            format: text(format),
            description: text(description),
            priority: 0,
        };
        vec![
            column("Name", "string", "name", "Name of the object, unique among its kind and namespace."),
            column("Created At", "date", "", "When the server created the object, in UTC."),
        ]
    }

    fn cells(&self, object: &Value, _: &Now) -> Vec<Value> {
        let text = |field, absent: &str| match object.at(&["metadata", field]) {
            Some(Value::String(text)) => text.clone().into(),
            _ => absent.into(),
        };
        vec![text("name", ""), text("creationTimestamp", ZERO_TIME)]
    }
}

/// When a table is shown: what ages are reckoned from.
#[derive(Clone, Copy, Debug)]
pub enum Now {
    /// At a time, in seconds since 1970.
    At(i64),
    /// Later, and maybe more than once: an age is left open, as the seconds of its beginning between two
    /// [`OPEN_AGE`]s.
    Open,
}

/// A Unicode noncharacter, which stands for an age in cached cells. The cells of an object whose text contains it cannot be
/// cached.
pub const OPEN_AGE: char = '\u{FDD0}';

impl Now {
    /// How long ago a time was.
    pub fn since(&self, seconds: i64) -> String {
        match self {
            Now::At(now) => human_duration(now.saturating_sub(seconds)),
            Now::Open => format!("{OPEN_AGE}{seconds}{OPEN_AGE}"),
        }
    }
}
