//! Decoding of JSON with a schema.
//! Budget for a pod of 3 KB: one pass; one allocation per string over 23 bytes, list and map, none for keys; 12 µs.

use super::any::{self, Duplicates, IgnoreDuplicateKeys};
use super::keys::KeyIndex;
use super::raw;
use super::scan::{Scanner, Start, Text};
use crate::compat::types;
use crate::error::{DecodeError, StrictProblem};
use crate::limits;
use crate::shape::{self, DecodeErrors, Frame, Problems, Written};
use pintle_schema::{Field, Form, Map, Str, Struct, Type, Value};

/// Only syntax errors end decoding; others are recorded, because Go continues and reports the first.
type Read<T> = Result<T, DecodeError>;

pub(crate) struct Decoder<'a> {
    pub(crate) scanner: Scanner<'a>,
    /// Scalars are not checked.
    pub(crate) trusted: bool,
    /// Skipped.
    pub(crate) omitted: &'a [super::Omitted],
    pub(crate) problems: Problems,
    pub(crate) refusals: DecodeErrors,
}

/// The most fields that are tried in order before the search by name begins.
const LOOK_AHEAD: usize = 6;

/// Finds the fields of one object, expecting them in schema order.
pub(crate) struct FieldCursor {
    next: usize,
}

impl FieldCursor {
    pub(crate) fn new() -> Self {
        FieldCursor { next: 0 }
    }

    /// The field with a name, and whether it comes after all found before, so that it is certainly new.
    pub(crate) fn find<'s>(&mut self, schema: &'s Struct, name: &str) -> Option<(&'s Field, bool)> {
        let ahead = schema.fields.get(self.next..).unwrap_or(&[]).iter().take(LOOK_AHEAD);
        for (at, field) in ahead.enumerate() {
            if field.name.as_str() == name && !field.inline {
                self.next += at + 1;
                return Some((field, true));
            }
        }
        schema.field(name).map(|field| (field, false))
    }
}

impl<'a> Decoder<'a> {
    fn omits(&self, schema: &Struct, field: &Field) -> bool {
        self.omitted.iter().any(|(owner, name)| std::ptr::eq(*owner, schema) && field.name.as_str() == *name)
    }

    pub(crate) fn document(&mut self, schema: &Struct) -> Read<Value> {
        let value = self.structure(schema, &Frame::Root)?;
        self.scanner.end()?;
        Ok(value)
    }

    /// Decodes a value of a type; `Null` for `null` and for rejected values.
    fn value(&mut self, ty: &Type, frame: &Frame<'_>) -> Read<Value> {
        match ty {
            Type::String | Type::Enum(_) => {
                if self.scanner.start()? == Start::String {
                    return Ok(Value::String(Str::from(self.scanner.string()?)));
                }
                self.scalar(ty, frame)
            }
            // The wrapper names the list.
            Type::Struct(schema) if schema.form == Form::Wrapper => {
                match schema.fields.first().map(|field| &field.ty) {
                    Some(Type::List(list)) => self.list(ty, &list.elem, frame),
                    _ => self.any(frame),
                }
            }
            Type::Struct(schema) => self.structure(schema, frame),
            Type::Bytes => self.bytes(frame),
            Type::List(list) => self.list(ty, &list.elem, frame),
            Type::Map(map) => self.map(ty, &map.elem, frame),
            Type::Any => self.any(frame),
            Type::RawExtension => raw::value(&mut self.scanner),
            Type::Json => any::value(&mut self.scanner, &mut IgnoreDuplicateKeys).map(raw::sorted),
            Type::FieldsV1 => raw::fields(&mut self.scanner, self.trusted),
            _ => self.scalar(ty, frame),
        }
    }

    fn scalar(&mut self, ty: &Type, frame: &Frame<'_>) -> Read<Value> {
        let start = self.scanner.start()?;
        let written = match start {
            Start::Null => {
                self.scanner.word(start)?;
                return Ok(Value::Null);
            }
            Start::True | Start::False => {
                self.scanner.word(start)?;
                Written::Bool(start == Start::True)
            }
            Start::Number => {
                let literal = self.scanner.number()?;
                if let (Type::Int32 | Type::Int64, Some(int)) = (ty, small(literal)) {
                    return Ok(Value::Int(int));
                }
                Written::Number(literal)
            }
            Start::String => {
                let text = self.scanner.string()?;
                if self.trusted && is_text(ty) {
                    return Ok(Value::String(Str::from(text)));
                }
                Written::String(text)
            }
            Start::Array => {
                self.scanner.skip()?;
                Written::Array
            }
            Start::Object => {
                self.scanner.skip()?;
                Written::Object
            }
        };
        Ok(shape::scalar(ty, written, frame, &mut self.refusals))
    }

    /// Base64, or an array of numbers, as in Go.
    fn bytes(&mut self, frame: &Frame<'_>) -> Read<Value> {
        if self.scanner.start()? != Start::Array {
            return self.scalar(&Type::Bytes, frame);
        }
        let items = any::value(&mut self.scanner, &mut IgnoreDuplicateKeys)?;
        Ok(shape::bytes_of(items.as_list().unwrap_or(&[]), frame, &mut self.refusals))
    }

    fn structure(&mut self, schema: &Struct, frame: &Frame<'_>) -> Read<Value> {
        match schema.form {
            Form::Plain => self.object(schema, frame),
            Form::Wrapper => match schema.fields.first() {
                Some(field) => self.value(&field.ty, frame),
                None => self.any(frame),
            },
            Form::PropsOrBool | Form::PropsOrArray | Form::PropsOrStringArray => self.props(schema, frame),
        }
    }

    /// A value for which Go has a custom decoder: strict decoding reports no unknown fields in it.
    fn props(&mut self, schema: &Struct, frame: &Frame<'_>) -> Read<Value> {
        let wanted = std::mem::replace(&mut self.problems.wanted, false);
        let outer = self.refusals.nest();
        let value = self.props_value(schema, frame);
        self.refusals.unnest(outer);
        self.problems.wanted = wanted;
        value
    }

    fn props_value(&mut self, schema: &Struct, frame: &Frame<'_>) -> Read<Value> {
        let start = self.scanner.start()?;
        let inner = schema.fields.iter().find_map(|field| field.ty.as_struct());
        let list = schema.fields.iter().find_map(|field| match &field.ty {
            Type::List(list) => Some((&field.ty, list)),
            _ => None,
        });
        match (start, inner, list) {
            (Start::Object, Some(inner), _) => self.structure(inner, frame),
            (Start::Array, _, Some((ty, list))) => self.list(ty, &list.elem, frame),
            (Start::True | Start::False, ..) if schema.form == Form::PropsOrBool => self.scalar(&Type::Bool, frame),
            (Start::Null, ..) => self.scalar(&Type::Bool, frame),
            _ => {
                self.scanner.skip()?;
                if schema.form == Form::PropsOrBool {
                    self.refusals.end_with(DecodeError::Format("boolean or JSON schema expected".to_owned()));
                }
                Ok(shape::neither(schema))
            }
        }
    }

    fn object(&mut self, schema: &Struct, frame: &Frame<'_>) -> Read<Value> {
        match self.scanner.start()? {
            Start::Object => {}
            Start::Null => {
                self.scanner.word(Start::Null)?;
                return Ok(Value::Null);
            }
            other => return self.wrong_struct(schema, other, frame),
        }
        self.scanner.open(limits::TREE_DEPTH)?;
        let mut entries: Vec<(Str, Value)> = Vec::new();
        let mut cursor = FieldCursor::new();
        let mut index = KeyIndex::default();
        let (mut nulls, mut repeated) = (false, false);
        let mut next = self.scanner.first_key()?;
        if next.is_some() {
            // Most objects that are not empty set a third of their fields.
            entries.reserve_exact((schema.fields.len() / 3).clamp(4, 16));
        }
        while let Some(key) = next {
            match cursor.find(schema, &key) {
                Some((field, _)) if self.omits(schema, field) => self.scanner.skip()?,
                Some((field, is_new)) => {
                    let name = field.name.as_str();
                    let inner = Frame::Field { parent: frame, owner: schema, name };
                    let known = if is_new { None } else { entries.iter().position(|(known, _)| known == name) };
                    if known.is_some() {
                        self.problems.add(|| StrictProblem::DuplicateField(frame.path_to(name)));
                    }
                    let mut value = self.value(&field.ty, &inner)?;
                    if self.trusted && value.is_null() && field.points_to_time() {
                        value = Value::NO_TIME;
                    }
                    nulls |= value.is_null();
                    match known.and_then(|at| entries.get_mut(at)) {
                        Some((_, slot)) => {
                            shape::merge_again(&field.ty, slot, value);
                            repeated = true;
                        }
                        None => entries.push((field.name.to_key(), value)),
                    }
                }
                None if schema.preserve_unknown => self.unknown_kept(key, &mut entries, &mut index, frame)?,
                None => {
                    self.problems.add(|| StrictProblem::UnknownField(frame.path_to(&key)));
                    self.scanner.skip()?;
                }
            }
            next = self.scanner.next_key()?;
        }
        if repeated {
            for (key, value) in &mut entries {
                schema.field(key).into_iter().for_each(|field| shape::settle_again(&field.ty, value));
            }
        }
        if nulls && !self.trusted {
            // They were kept only to detect duplicates.
            entries.retain(|(key, value)| !value.is_null() || schema.field(key).is_none_or(|field| field.nullable));
        }
        Ok(Value::Map(Map::from_entries(entries)))
    }

    #[cold]
    fn wrong_struct(&mut self, schema: &Struct, start: Start, frame: &Frame<'_>) -> Read<Value> {
        if start == Start::Number && frame.is_in_tree() {
            let literal = self.scanner.number()?;
            if shape::is_infinite(literal) {
                self.refusals.end_with(DecodeError::infinite(literal));
                return Ok(Value::Null);
            }
        } else {
            self.scanner.skip()?;
        }
        self.refusals.note(|| shape::unmarshal_error(start.word(), &types::of_struct(schema), frame));
        Ok(Value::Null)
    }

    fn unknown_kept(
        &mut self,
        key: Text<'_>,
        entries: &mut Vec<(Str, Value)>,
        index: &mut KeyIndex,
        frame: &Frame<'_>,
    ) -> Read<()> {
        let key = Str::from(key);
        let known = index.find(entries, &key);
        if known.is_some() {
            self.problems.add(|| StrictProblem::DuplicateField(frame.path_to(&key)));
        }
        let value = self.any(&Frame::Key { parent: frame, key: &key })?;
        match known.and_then(|at| entries.get_mut(at)) {
            Some((_, slot)) => *slot = value,
            None => entries.push((key, value)),
        }
        Ok(())
    }

    fn list(&mut self, ty: &Type, elem: &Type, frame: &Frame<'_>) -> Read<Value> {
        if self.scanner.start()? != Start::Array {
            return self.scalar(ty, frame);
        }
        self.scanner.open(limits::TREE_DEPTH)?;
        let mut items = Vec::new();
        let mut more = self.scanner.first_item()?;
        while more {
            let value = self.value(elem, &Frame::Item { parent: frame, at: items.len() })?;
            items.push(if value.is_null() { shape::null_item(elem) } else { value });
            more = self.scanner.next_item()?;
        }
        Ok(Value::List(items))
    }

    fn map(&mut self, ty: &Type, elem: &Type, frame: &Frame<'_>) -> Read<Value> {
        if self.scanner.start()? != Start::Object {
            return self.scalar(ty, frame);
        }
        self.scanner.open(limits::TREE_DEPTH)?;
        let mut entries: Vec<(Str, Value)> = Vec::new();
        let mut index = KeyIndex::default();
        let mut next = self.scanner.first_key()?;
        while let Some(key) = next {
            let key = Str::from(key);
            let known = index.find(&entries, &key);
            if known.is_some() {
                self.problems.add(|| StrictProblem::DuplicateField(frame.path_to(&key)));
            }
            let value = self.value(elem, &Frame::Key { parent: frame, key: &key })?;
            let value = if value.is_null() { shape::null_item(elem) } else { value };
            match known.and_then(|at| entries.get_mut(at)) {
                Some((_, slot)) => *slot = value,
                None => entries.push((key, value)),
            }
            next = self.scanner.next_key()?;
        }
        Ok(Value::Map(Map::from_entries(entries)))
    }

    fn any(&mut self, frame: &Frame<'_>) -> Read<Value> {
        let refusals = &mut self.refusals;
        if !self.problems.wanted {
            return any::value(&mut self.scanner, &mut Finite { heard: IgnoreDuplicateKeys, refusals });
        }
        let mut base = String::new();
        frame.path(&mut base);
        let heard = DuplicateKeyHandler { problems: &mut self.problems, path: base, lengths: Vec::new() };
        any::value(&mut self.scanner, &mut Finite { heard, refusals })
    }
}

/// Refuses numbers beyond the range of floats.
struct Finite<'r, H> {
    heard: H,
    refusals: &'r mut DecodeErrors,
}

impl<H: Duplicates> Duplicates for Finite<'_, H> {
    fn enter_key(&mut self, key: &str) {
        self.heard.enter_key(key);
    }

    fn enter_item(&mut self, at: usize) {
        self.heard.enter_item(at);
    }

    fn leave(&mut self) {
        self.heard.leave();
    }

    fn duplicate(&mut self, key: &str) {
        self.heard.duplicate(key);
    }

    fn number(&mut self, literal: &str) -> Value {
        let value = any::number(literal);
        if matches!(value, Value::Float(float) if !float.is_finite()) {
            self.refusals.note(|| DecodeError::infinite(literal));
        }
        value
    }
}

/// Reports duplicate keys of a tree without schema by their paths.
pub(crate) struct DuplicateKeyHandler<'p> {
    pub(crate) problems: &'p mut Problems,
    pub(crate) path: String,
    pub(crate) lengths: Vec<usize>,
}

impl Duplicates for DuplicateKeyHandler<'_> {
    fn enter_key(&mut self, key: &str) {
        self.lengths.push(self.path.len());
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(key);
    }

    fn enter_item(&mut self, at: usize) {
        self.lengths.push(self.path.len());
        self.path.push_str(&format!("[{at}]"));
    }

    fn leave(&mut self) {
        if let Some(length) = self.lengths.pop() {
            self.path.truncate(length);
        }
    }

    fn duplicate(&mut self, key: &str) {
        let path = || if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        self.problems.add(|| StrictProblem::DuplicateField(path()));
    }
}

/// Types whose value is the text of a JSON string.
fn is_text(ty: &Type) -> bool {
    matches!(
        ty,
        Type::String
            | Type::Enum(_)
            | Type::Bytes
            | Type::IntOrString
            | Type::Quantity
            | Type::Time
            | Type::MicroTime
            | Type::Duration
    )
}

/// An integer of few digits, as almost all are.
fn small(literal: &str) -> Option<i64> {
    if literal.len() > 9 {
        return None;
    }
    let (negative, digits) = match literal.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, literal),
    };
    let mut value = 0;
    for byte in digits.bytes() {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i64::from(byte - b'0');
    }
    Some(if negative { -value } else { value })
}
