//! `Node`: a location in a schema as apply sees it, and `Atom`, the possible forms of its value.
//! Guarantees to be the only module that maps the API's types to those that apply distinguishes. Must never inspect
//! more of a value than its kind.

use pintle_schema::{Field, Form, Keys, List, ListKind, Presence, Str, Struct, Type, Value, zero};

/// A location in a schema.
#[derive(Clone, Copy)]
pub enum Node<'s> {
    /// Nothing is declared: a value here is an error.
    Undeclared,
    /// Any value, as an atomic one.
    Untyped,
    /// Any value; maps in it are granular, lists are not.
    Deduced,
    /// An object of this schema.
    Root(&'s Struct),
    /// The items of a list or map.
    Element(&'s Type),
    /// A field of a struct.
    Field(&'s Field),
}

impl<'s> From<&'s Struct> for Node<'s> {
    fn from(schema: &'s Struct) -> Self {
        Node::Root(schema)
    }
}

/// Kinds of scalars that validation distinguishes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    Boolean,
    Numeric,
    String,
    Untyped,
}

/// The possible forms of a value at a location.
#[derive(Clone, Copy, Default)]
pub(super) struct Atom<'s> {
    pub scalar: Option<Scalar>,
    pub list: Option<ListNode<'s>>,
    pub map: Option<MapNode<'s>>,
}

/// The form that a walk follows.
pub(super) enum Chosen<'s> {
    Scalar(Scalar),
    List(ListNode<'s>),
    Map(MapNode<'s>),
    /// The schema declares nothing here.
    None,
}

/// A list as apply sees it.
#[derive(Clone, Copy)]
pub(super) struct ListNode<'s> {
    pub elem: Node<'s>,
    pub kind: ListMode<'s>,
}

/// How the items of a list are identified.
#[derive(Clone, Copy)]
pub(super) enum ListMode<'s> {
    Atomic,
    Set,
    Keyed(KeyNames<'s>),
}

/// The names of the key fields of an associative list.
#[derive(Clone, Copy)]
pub(super) enum KeyNames<'s> {
    Declared(&'s Keys),
    /// From the tag of strategic merge patch.
    One(&'s str),
}

impl<'s> KeyNames<'s> {
    pub fn len(self) -> usize {
        match self {
            KeyNames::Declared(Keys::Static(keys)) => keys.len(),
            KeyNames::Declared(Keys::Shared(keys)) => keys.len(),
            KeyNames::One(_) => 1,
        }
    }

    pub fn get(self, at: usize) -> Option<Str> {
        match self {
            KeyNames::Declared(Keys::Static(keys)) => keys.get(at).map(|key| Str::new_static(key)),
            KeyNames::Declared(Keys::Shared(keys)) => keys.get(at).map(|key| Str::from(key.clone())),
            KeyNames::One(key) => (at == 0).then(|| Str::new(key)),
        }
    }
}

/// A struct or map as apply sees it.
#[derive(Clone, Copy)]
pub(super) struct MapNode<'s> {
    pub fields: Option<&'s Struct>,
    /// The location of other keys.
    pub elem: Node<'s>,
    pub atomic: bool,
}

impl<'s> MapNode<'s> {
    const fn of(elem: Node<'s>, atomic: bool) -> Self {
        MapNode { fields: None, elem, atomic }
    }

    fn of_struct(schema: &'s Struct) -> Self {
        // An object without declared fields is free-form.
        let is_free = schema.preserve_unknown || schema.fields.is_empty();
        let elem = if is_free { Node::Deduced } else { Node::Undeclared };
        MapNode { fields: Some(schema).filter(|schema| !schema.fields.is_empty()), elem, atomic: schema.atomic }
    }

    /// The declared field with a name.
    pub fn field(&self, name: &str) -> Option<&'s Field> {
        self.fields?.field(name)
    }

    /// The same as [`MapNode::child`] for successive keys, in the order of the schema or of their names.
    pub fn next_child(&self, near: &mut Near, key: &str) -> (Node<'s>, bool) {
        match self.fields.and_then(|schema| near.find(schema, key)) {
            Some(field) => (Node::Field(field), true),
            None => (self.elem, false),
        }
    }

    /// The location of a key, and whether it is a declared field.
    pub fn child(&self, key: &str) -> (Node<'s>, bool) {
        match self.field(key) {
            Some(field) => (Node::Field(field), true),
            None => (self.elem, false),
        }
    }

    /// Whether the schema does not describe the content.
    pub fn is_deduced(&self) -> bool {
        self.fields.is_none() && matches!(self.elem, Node::Deduced)
    }
}

/// Where the next fields are expected: after those found last, in the schema and among the sorted names.
#[derive(Default)]
pub(super) struct Near {
    declared: usize,
    named: usize,
}

impl Near {
    /// The number of fields that are tried before the search by name begins.
    const AHEAD: usize = 4;

    fn find<'s>(&mut self, schema: &'s Struct, name: &str) -> Option<&'s Field> {
        let is_it = |field: &Field| !field.inline && field.name.is(name);
        let mut declared = schema.fields.iter().enumerate().skip(self.declared).take(Self::AHEAD);
        if let Some((at, field)) = declared.find(|(_, field)| is_it(field)) {
            self.declared = at + 1;
            return Some(field);
        }
        let named = schema.by_name.iter().enumerate().skip(self.named).take(Self::AHEAD);
        let mut named = named.filter_map(|(at, &index)| Some((at, schema.fields.get(usize::from(index))?)));
        match named.find(|(_, field)| is_it(field)) {
            Some((at, field)) => {
                self.named = at + 1;
                Some(field)
            }
            None => schema.field(name),
        }
    }
}

impl<'s> Atom<'s> {
    const DEDUCED: Atom<'static> = Atom {
        scalar: Some(Scalar::Untyped),
        list: Some(ListNode { elem: Node::Untyped, kind: ListMode::Atomic }),
        map: Some(MapNode::of(Node::Deduced, false)),
    };
    const UNTYPED: Atom<'static> = Atom {
        scalar: Some(Scalar::Untyped),
        list: Some(ListNode { elem: Node::Untyped, kind: ListMode::Atomic }),
        map: Some(MapNode::of(Node::Untyped, true)),
    };

    const fn scalar(scalar: Scalar) -> Self {
        Atom { scalar: Some(scalar), list: None, map: None }
    }

    const fn map(map: MapNode<'s>) -> Self {
        Atom { scalar: None, list: None, map: Some(map) }
    }

    fn of_type(ty: &'s Type) -> Self {
        match ty {
            Type::Bool => Atom::scalar(Scalar::Boolean),
            Type::Int32 | Type::Int64 | Type::Float64 => Atom::scalar(Scalar::Numeric),
            Type::String | Type::Enum(_) | Type::Bytes | Type::Duration => Atom::scalar(Scalar::String),
            Type::Quantity | Type::Time | Type::MicroTime => Atom::scalar(Scalar::Untyped),
            Type::Any | Type::Json | Type::IntOrString => Atom::DEDUCED,
            Type::RawExtension => Atom::UNTYPED,
            Type::FieldsV1 => Atom::map(MapNode::of(Node::Deduced, false)),
            Type::List(list) => Atom::of_list(list, None),
            Type::Map(map) => Atom::map(MapNode::of(Node::Element(&map.elem), false)),
            Type::Struct(schema) => Atom::of_struct(schema),
        }
    }

    fn of_struct(schema: &'s Struct) -> Self {
        match (schema.form, schema.fields.first()) {
            (Form::Plain, _) => Atom::map(MapNode::of_struct(schema)),
            (Form::Wrapper, Some(only)) => Atom::of_field(only),
            _ => Atom::DEDUCED,
        }
    }

    fn of_field(field: &'s Field) -> Self {
        let mut atom = match &field.ty {
            Type::List(list) => Atom::of_list(list, Some(field)),
            ty => Atom::of_type(ty),
        };
        if let (Some(map), Some(atomic)) = (&mut atom.map, field.atomic) {
            map.atomic = atomic;
        }
        atom
    }

    /// A list without a declared type takes it from the tags of strategic merge patch.
    fn of_list(list: &'s List, field: Option<&'s Field>) -> Self {
        let patched =
            field.filter(|field| !list.declared && matches!(field.patch_strategy, "merge" | "merge,retainKeys"));
        let kind = match (&list.kind, patched) {
            (_, Some(field)) if field.patch_merge_key.is_empty() => ListMode::Set,
            (_, Some(field)) => ListMode::Keyed(KeyNames::One(field.patch_merge_key)),
            (_, None) if !list.declared => ListMode::Atomic,
            (ListKind::Atomic, None) => ListMode::Atomic,
            (ListKind::Set, None) => ListMode::Set,
            (ListKind::Map(keys), None) => ListMode::Keyed(KeyNames::Declared(keys)),
        };
        Atom { scalar: None, list: Some(ListNode { elem: Node::Element(&list.elem), kind }), map: None }
    }

    /// The possible forms of a value, as bits; all of them if none matches.
    fn forms_of(&self, value: &Value) -> u8 {
        let (scalar, list, map) =
            (u8::from(self.scalar.is_some()), u8::from(self.list.is_some()) * 2, u8::from(self.map.is_some()) * 4);
        let taken = match value {
            Value::Null => 0,
            Value::List(_) => list,
            Value::Map(_) => map,
            _ => scalar,
        };
        if taken == 0 { scalar | list | map } else { taken }
    }

    /// Whether both values have the same forms.
    pub fn agrees_on(&self, a: &Value, b: &Value) -> bool {
        self.forms_of(a) == self.forms_of(b)
    }

    /// The form to follow for a value.
    pub fn choose(&self, value: &Value) -> Chosen<'s> {
        let forms = self.forms_of(value);
        match (self.map.filter(|_| forms & 4 != 0), self.scalar.filter(|_| forms & 1 != 0), self.list) {
            (Some(map), _, _) => Chosen::Map(map),
            (None, Some(scalar), _) => Chosen::Scalar(scalar),
            (None, None, Some(list)) => Chosen::List(list),
            (None, None, None) => Chosen::None,
        }
    }
}

impl<'s> Node<'s> {
    /// An object with an unknown schema.
    pub const DEDUCED: Node<'static> = Node::Deduced;

    pub(super) fn atom(self) -> Atom<'s> {
        match self {
            Node::Undeclared => Atom::default(),
            Node::Untyped => Atom::UNTYPED,
            Node::Deduced => Atom::DEDUCED,
            Node::Root(schema) => Atom::of_struct(schema),
            Node::Element(ty) => Atom::of_type(ty),
            Node::Field(field) => Atom::of_field(field),
        }
    }
}

/// The value of a key field in an item that omits it: its default, or the zero value that JSON always includes.
pub(super) fn key_default(field: &Field) -> Option<Value> {
    match (&field.default, field.presence) {
        (Some(default), _) => Some(default.to_value()),
        (None, Presence::Always) => Some(zero(&field.ty)).filter(|zero| !zero.is_null()),
        (None, _) => None,
    }
}
