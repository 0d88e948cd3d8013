//! Prints objects of a resource as table rows.
//!
//! Printing never fails; an absent value prints as such.

use pintle_schema::duration::human_duration;
use pintle_schema::{Str, Struct, Value};

/// The definition of a table column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: Str,
    /// The declared OpenAPI type of the cells; some kinds print other types, as kube-apiserver does.
    pub ty: Str,
    /// `name` marks the column that names the object.
    pub format: Str,
    pub description: Str,
    /// 0 is always printed, 1 only in wide output. The server fills in every column.
    pub priority: i32,
}

/// A field of a struct, by its JSON name.
pub type Unprinted = (&'static Struct, &'static str);

/// How objects of a resource become rows.
pub trait Printer: Send + Sync {
    fn columns(&self) -> Vec<Column>;

    /// The cells of an object in its storage version, in the order of the columns.
    fn cells(&self, object: &Value, now: &Now) -> Vec<Value>;

    /// The `TableRowCondition`s of a row; `None` for kinds without any.
    fn conditions(&self, _object: &Value) -> Option<Vec<Value>> {
        None
    }

    /// Fields that no cell depends on, so that objects need not be decoded whole to be printed.
    fn unprinted(&self) -> Vec<Unprinted> {
        Vec::new()
    }

    /// Whether a table without rows says `null` and not an empty list, as kube-apiserver's default printer makes it.
    fn empty_is_null(&self) -> bool {
        false
    }
}

/// The description of every column of names. Clients can read it in a table, so that it is kube-apiserver's, word for word.
pub const NAME_DESCRIPTION: &str = "Name must be unique within a namespace. Is required when creating resources, although some \
    resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended \
    for creation idempotence and configuration definition. Cannot be updated. More info: \
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
/// The description of every column of ages and times of creation, kube-apiserver's too.
pub const CREATION_DESCRIPTION: &str = "CreationTimestamp is a timestamp representing the server time when this object was \
    created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this \
    value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// The printer of resources without columns of their own: name and time of creation.
pub struct NameAndAge;

/// Printed for an unset time.
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
        vec![column("Name", "string", "name", NAME_DESCRIPTION), column("Created At", "date", "", CREATION_DESCRIPTION)]
    }

    fn cells(&self, object: &Value, _: &Now) -> Vec<Value> {
        let text = |field, absent: &str| match object.at(&["metadata", field]) {
            Some(Value::String(text)) => text.clone().into(),
            _ => absent.into(),
        };
        vec![text("name", ""), text("creationTimestamp", ZERO_TIME)]
    }

    fn empty_is_null(&self) -> bool {
        true
    }
}

/// The time from which ages are computed.
#[derive(Clone, Copy, Debug)]
pub enum Now {
    /// At a time, in seconds since 1970.
    At(i64),
    /// Later, and maybe more than once: an age is left open, as the seconds of its beginning between two
    /// [`OPEN_AGE`]s.
    Open,
}

/// A Unicode noncharacter, the placeholder of an age in cached cells. The cells of an object whose text contains it are not
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
