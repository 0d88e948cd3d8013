//! The catalogue of validation tags, with their places, payloads, counterparts and documentation.
//!
//! Read by the derive, which checks tags and emits rules, and by the engine, which documents them. Depends on nothing,
//! because the derive is compiled before everything else.

mod catalogue;
pub mod formats;

pub use catalogue::CATALOGUE;

/// A validation tag.
pub struct Tag {
    pub name: &'static str,
    /// The rule it becomes.
    pub variant: &'static str,
    pub places: Place,
    pub payload: Payload,
    /// Whether further tags follow in brackets.
    pub chained: bool,
    /// Tags that cannot stand beside it; itself, when it stands once at most.
    pub excludes: &'static [&'static str],
    /// The origin that its errors name; "" for none.
    pub origin: &'static str,
    /// The key under which OpenAPI shows it; "" when it has none.
    pub published: &'static str,
    /// The tag of kube-apiserver's sources that means the same; "" when there is none.
    pub upstream: &'static str,
    pub example: &'static str,
    pub doc: &'static str,
}

/// The types of values that a tag applies to; a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(pub u8);

impl Place {
    pub const INT: Place = Place(1);
    pub const STRING: Place = Place(2);
    pub const BOOL: Place = Place(4);
    pub const LIST: Place = Place(8);
    pub const MAP: Place = Place(16);
    pub const STRUCT: Place = Place(32);
    pub const SCALAR: Place = Place(1 | 2 | 4);
    pub const COLLECTION: Place = Place(8 | 16);
    pub const ANY: Place = Place(63);
    /// A struct as a whole, tagged where it is declared.
    pub const TYPE: Place = Place(64);
    pub const ANY_OR_TYPE: Place = Place(63 | 64);
    pub const STRUCT_OR_TYPE: Place = Place(32 | 64);

    const NAMES: [(Place, &'static str); 7] = [
        (Place::INT, "an integer"),
        (Place::STRING, "a string"),
        (Place::BOOL, "a boolean"),
        (Place::LIST, "a list"),
        (Place::MAP, "a map"),
        (Place::STRUCT, "a struct"),
        (Place::TYPE, "a struct where it is declared"),
    ];

    /// Whether the sets have a type in common.
    pub const fn meets(self, other: Place) -> bool {
        self.0 & other.0 != 0
    }

    /// The set in words: `a list or a map`.
    pub fn words(self) -> String {
        match self {
            Place::ANY => return "any value".to_owned(),
            Place::STRUCT_OR_TYPE => return "a struct".to_owned(),
            Place::ANY_OR_TYPE => return "any value, or a struct where it is declared".to_owned(),
            _ => {}
        }
        let names: Vec<&str> =
            Place::NAMES.iter().filter(|(place, _)| self.meets(*place)).map(|(_, name)| *name).collect();
        names.join(" or ")
    }
}

/// What a tag takes besides its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    None,
    /// `= 5`
    Int,
    /// `= 5`, not negative.
    Size,
    /// `= ".."`: the name of a format.
    Format,
    /// `= ".."`: a regular expression.
    Pattern,
    /// Nothing or `= ".."`: the detail of the error.
    Detail,
    /// Nothing or `= ".."`
    OptionalText,
    /// Nothing or `("a", "b")`
    Texts,
    /// `(no_set, no_unset, no_modify)`
    Changes,
    /// `= ` an integer, a string or a boolean.
    Literal,
    /// Nothing or `(union = "..", value = "..")`
    Member,
    /// `(key = "value", ..)`
    Pairs,
    /// `(name)`: a field's JSON name.
    Field,
    /// `(path::to::GATE)`
    Gate,
    /// `("1.36")`
    Since,
    /// `= path::to::function`
    Path,
    /// `(path::VALIDATOR)` or `(path::VALIDATOR, payload)`
    External,
}

/// The tag of a name.
pub fn find(name: &str) -> Option<&'static Tag> {
    CATALOGUE.iter().find(|tag| tag.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_closed() {
        for tag in CATALOGUE {
            assert!(std::ptr::eq(find(tag.name).unwrap(), tag), "{} is there twice", tag.name);
            for other in tag.excludes {
                assert!(find(other).unwrap().excludes.contains(&tag.name), "{other} does not exclude {}", tag.name);
            }
            assert!(tag.example.starts_with(tag.name) && tag.doc.ends_with('.'), "{}", tag.name);
        }
    }
}
