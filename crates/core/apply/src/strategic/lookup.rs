//! The schema at the current location of a strategic merge.
//! Guarantees Go's view of types, as by reflection, because error messages contain it. Must never change values.

use super::MAX_STEPS;
use crate::PatchError;
use pintle_codec::compat::print::quoted;
use pintle_schema::{Field, Form, Presence, Struct, Type};
use std::cell::Cell;

/// The type at a location in an object.
#[derive(Clone, Copy)]
pub struct Level<'a> {
    shape: Shape<'a>,
    pointer: bool,
    /// The remaining budget of the merge.
    work: &'a Work,
}

/// How many entries a merge may still skip.
pub struct Work(Cell<usize>);

impl Default for Work {
    fn default() -> Self {
        Work(Cell::new(MAX_STEPS))
    }
}

#[derive(Clone, Copy)]
enum Shape<'a> {
    Struct(&'a Struct),
    /// A Go struct whose members are not in JSON by name.
    Opaque(&'a str),
    /// Anything but a struct, by the name of its Go kind.
    Other(&'static str),
}

/// The schema of a list.
pub struct ListRules<'a> {
    pub elem: Level<'a>,
    pub strategy: &'static str,
    /// Empty if there is none.
    pub merge_key: &'static str,
}

impl ListRules<'_> {
    pub fn merges_by_key(&self) -> bool {
        self.strategy == "merge" && !self.merge_key.is_empty()
    }
}

impl<'a> Level<'a> {
    pub fn root(schema: &'a Struct, work: &'a Work) -> Self {
        Level { shape: Shape::Struct(schema), pointer: false, work }
    }

    /// Counts entries of the object that a merge skips. It skips each once, unless a patch names one item of a list
    /// repeatedly.
    pub fn step(self, entries: usize) -> Result<(), PatchError> {
        let left = self.work.0.get().checked_sub(entries).ok_or_else(|| {
            PatchError::TooLarge(format!("A strategic merge patch may pass over {MAX_STEPS} entries of an object"))
        })?;
        self.work.0.set(left);
        Ok(())
    }

    fn of(self, ty: &'a Type, pointer: bool) -> Self {
        let shape = match resolved(ty) {
            Type::Struct(schema) if schema.form == Form::Plain => Shape::Struct(schema),
            Type::Struct(schema) => Shape::Opaque(schema.name.as_str()),
            Type::RawExtension => Shape::Opaque("RawExtension"),
            Type::Json => Shape::Opaque("JSON"),
            Type::FieldsV1 => Shape::Opaque("FieldsV1"),
            Type::IntOrString => Shape::Opaque("IntOrString"),
            Type::Quantity => Shape::Opaque("Quantity"),
            Type::Time => Shape::Opaque("Time"),
            Type::MicroTime => Shape::Opaque("MicroTime"),
            Type::Duration => Shape::Opaque("Duration"),
            Type::Map(_) => Shape::Other("map"),
            Type::List(_) | Type::Bytes => Shape::Other("slice"),
            Type::String | Type::Enum(_) => Shape::Other("string"),
            Type::Bool => Shape::Other("bool"),
            Type::Int32 => Shape::Other("int32"),
            Type::Int64 => Shape::Other("int64"),
            Type::Float64 => Shape::Other("float64"),
            Type::Any => Shape::Other("interface"),
        };
        Level { shape, pointer, work: self.work }
    }

    /// The name of the Go kind.
    pub fn kind(self) -> &'static str {
        match self.shape {
            _ if self.pointer => "ptr",
            Shape::Struct(_) | Shape::Opaque(_) => "struct",
            Shape::Other(kind) => kind,
        }
    }

    /// The type of a member that is a map in JSON, and its merge strategy.
    pub fn map_member(self, key: &str) -> Result<(Level<'a>, &'static str), PatchError> {
        let field = self.field(key)?;
        Ok((self.of(&field.ty, is_pointer(field)), strategy(field)?))
    }

    /// The rules of a member that is a list in JSON.
    pub fn list_member(self, key: &str) -> Result<ListRules<'a>, PatchError> {
        let field = self.field(key)?;
        let elem = match resolved(&field.ty) {
            Type::List(list) if matches!(resolved(&list.elem), Type::List(_) | Type::Bytes) => {
                return Err(PatchError::Internal("unexpected slice of slice".to_owned()));
            }
            Type::List(list) => self.of(&list.elem, false),
            Type::Bytes => Level { shape: Shape::Other("uint8"), pointer: false, work: self.work },
            ty if is_pointer(field) => self.of(ty, false),
            _ => return Err(PatchError::Internal(format!("expected slice or array type, but got: {}", self.kind()))),
        };
        Ok(ListRules { elem, strategy: strategy(field)?, merge_key: field.patch_merge_key })
    }

    fn field(self, key: &str) -> Result<&'a Field, PatchError> {
        let (name, field) = match self.shape {
            Shape::Struct(schema) => {
                (schema.name.as_str(), schema.field(key).or_else(|| field_in_any_case(schema, key)))
            }
            Shape::Opaque(name) => (name, None),
            Shape::Other(kind) => {
                return Err(PatchError::Internal(format!(
                    "merging an object in json but data type is not struct, instead is: {kind}"
                )));
            }
        };
        field.ok_or_else(|| {
            let key = quoted(key);
            PatchError::Internal(format!("unable to find api field in struct {name} for the json field {key}"))
        })
    }
}

fn field_in_any_case<'a>(schema: &'a Struct, key: &str) -> Option<&'a Field> {
    let mut found = None;
    schema.each_field(&mut |field| {
        if found.is_none() && field.name.eq_ignore_ascii_case(key) {
            found = Some(field);
        }
    });
    found
}

/// A struct that only wraps a list in protobuf is the list in Go.
fn resolved(ty: &Type) -> &Type {
    match ty {
        Type::Struct(schema) if schema.form == Form::Wrapper => schema.fields.first().map_or(ty, |field| &field.ty),
        ty => ty,
    }
}

fn is_pointer(field: &Field) -> bool {
    matches!(field.presence, Presence::Pointer | Presence::PointerAlways)
        && !matches!(resolved(&field.ty), Type::List(_) | Type::Map(_) | Type::Bytes)
}

/// The strategy besides `retainKeys`, which only clients use.
fn strategy(field: &Field) -> Result<&'static str, PatchError> {
    let all = field.patch_strategy;
    match all.split_once(',') {
        None if all == "retainKeys" => Ok(""),
        None => Ok(all),
        Some(("retainKeys", other) | (other, "retainKeys")) if !other.contains(',') => Ok(other),
        Some(_) => {
            let text = format!("unexpected patch strategy: [{}]", all.replace(',', " "));
            Err(PatchError::Internal(text))
        }
    }
}
