//! The catalogue of validation tags: one file each, with its place, payload, counterparts and documentation.
//!
//! Read by the derive, which checks tags and emits rules, and by the engine, which documents them. Depends on nothing,
//! because the derive is compiled before everything else.

mod alpha;
mod at_least_one;
mod at_most_one;
mod beta;
mod custom;
mod discriminator;
mod distinct;
mod distinct_items;
mod distinct_with_absent;
mod each_entry_key;
mod each_key;
mod each_val;
mod enumeration;
mod first;
mod fixed;
mod forbidden;
mod format;
pub mod formats;
mod if_disabled;
mod if_enabled;
mod immutable;
mod item;
mod labels;
mod last;
mod max_bytes;
mod max_items;
mod max_length;
mod maximum;
mod member;
mod message;
mod min_items;
mod min_length;
mod minimum;
mod monotonic;
mod neq;
mod not_above;
mod opaque_type;
mod optional;
mod pattern;
mod required;
mod rule;
mod subfield;
mod union_discriminator;
mod union_member;
mod unique;
mod unless;
mod update;
mod when;
mod when_set;
mod when_several;
mod when_unset;
mod zero_or_one_of;

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
    /// `(Gate)`
    Gate,
    /// `("1.36")`
    Since,
    /// `= path::to::function`
    Path,
    /// `(path::VALIDATOR)` or `(path::VALIDATOR, payload)`
    External,
}

/// All tags, in the order of the documentation.
pub static CATALOGUE: &[&Tag] = &[
    &optional::TAG,
    &required::TAG,
    &forbidden::TAG,
    &immutable::TAG,
    &fixed::TAG,
    &monotonic::TAG,
    &update::TAG,
    &minimum::TAG,
    &maximum::TAG,
    &min_length::TAG,
    &max_length::TAG,
    &max_bytes::TAG,
    &min_items::TAG,
    &max_items::TAG,
    &format::TAG,
    &pattern::TAG,
    &enumeration::TAG,
    &neq::TAG,
    &unique::TAG,
    &distinct::TAG,
    &distinct_items::TAG,
    &distinct_with_absent::TAG,
    &labels::TAG,
    &not_above::TAG,
    &at_least_one::TAG,
    &at_most_one::TAG,
    &union_member::TAG,
    &union_discriminator::TAG,
    &zero_or_one_of::TAG,
    &discriminator::TAG,
    &member::TAG,
    &item::TAG,
    &each_key::TAG,
    &each_entry_key::TAG,
    &each_val::TAG,
    &subfield::TAG,
    &if_enabled::TAG,
    &if_disabled::TAG,
    &when::TAG,
    &unless::TAG,
    &when_set::TAG,
    &when_unset::TAG,
    &when_several::TAG,
    &first::TAG,
    &last::TAG,
    &message::TAG,
    &alpha::TAG,
    &beta::TAG,
    &opaque_type::TAG,
    &custom::TAG,
    &rule::TAG,
];

/// The tag of a name.
pub fn find(name: &str) -> Option<&'static Tag> {
    CATALOGUE.iter().find(|tag| tag.name == name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_closed() {
        for tag in CATALOGUE {
            assert!(std::ptr::eq(find(tag.name).unwrap(), *tag), "{} is there twice", tag.name);
            for other in tag.excludes {
                assert!(find(other).unwrap().excludes.contains(&tag.name), "{other} does not exclude {}", tag.name);
            }
            assert!(tag.example.starts_with(tag.name) && tag.doc.ends_with('.'), "{}", tag.name);
        }
    }
}
