//! The set of types that a document defines: its roots and everything they refer to.
//!
//! Collected before anything is written, so that definitions are written one by one in the order of their names.

use super::names;
use pintle_meta::meta::v1::ObjectMeta;
use pintle_resource::CustomKind;
use pintle_schema::{ApiType, Form, Ref, Str, Struct, Type};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Types by name.
#[derive(Default)]
pub(crate) struct Definitions {
    types: BTreeMap<String, Definition>,
    /// Structs whose fields have not been visited yet.
    pending: Vec<Ref<Struct>>,
}

/// A named type.
pub(crate) enum Definition {
    Struct {
        schema: Ref<Struct>,
        kind: Option<Kind>,
    },
    /// The objects of a kind that was defined at run time.
    Custom {
        custom: Arc<dyn CustomKind>,
        kind: Kind,
    },
    /// A scalar that has a name of its own.
    Scalar(Type),
    /// A list of a kind.
    List {
        item: String,
        kind: Kind,
        /// The kind that was defined at run time, if it was.
        custom: Option<Arc<dyn CustomKind>>,
    },
}

/// The `apiVersion` and `kind` of a top-level type.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Kind {
    pub group: Str,
    pub version: Str,
    pub kind: Str,
}

impl Definitions {
    /// Adds a struct under its own name.
    pub fn add(&mut self, schema: &Ref<Struct>) {
        if let Some(name) = names::of_struct(schema) {
            self.add_struct(name, schema, built_in_kind(schema));
        }
        self.collect();
    }

    /// Adds the type of a resource.
    pub fn add_kind(&mut self, name: String, schema: &Ref<Struct>, kind: Kind) {
        self.add_struct(name, schema, Some(kind));
        self.collect();
    }

    /// Adds the type of a resource that was defined at run time.
    pub fn add_custom(&mut self, name: String, custom: &Arc<dyn CustomKind>, kind: Kind) {
        self.types.entry(name).or_insert_with(|| Definition::Custom { custom: custom.clone(), kind });
        self.add(&Ref::Static(ObjectMeta::schema));
    }

    /// The name that a kind which was defined at run time, or its list, is described under: the given one, or if another type has it one
    /// with a number behind it.
    pub fn name_of_custom(&self, name: String, kind: &Kind) -> String {
        let is_free = |name: &String| match self.types.get(name) {
            Some(Definition::Custom { kind: of, .. } | Definition::List { kind: of, custom: Some(_), .. }) => {
                of == kind
            }
            Some(_) => false,
            None => true,
        };
        let numbered = (2_u32..).map(|number| format!("{name}_v{number}"));
        std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or_default()
    }

    /// Adds the list type of a resource.
    pub fn add_list(&mut self, name: String, item: String, kind: Kind, custom: Option<&Arc<dyn CustomKind>>) {
        self.types.entry(name).or_insert_with(|| Definition::List { item, kind, custom: custom.cloned() });
    }

    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&String, &Definition)> {
        self.types.iter()
    }

    fn add_struct(&mut self, name: String, schema: &Ref<Struct>, kind: Option<Kind>) {
        self.types.entry(name).or_insert_with(|| {
            self.pending.push(schema.clone());
            Definition::Struct { schema: schema.clone(), kind }
        });
    }

    fn collect(&mut self) {
        while let Some(schema) = self.pending.pop() {
            self.visit_fields(&schema);
        }
    }

    fn visit_fields(&mut self, schema: &Struct) {
        // The forms that show one of several types are published without saying which.
        if matches!(schema.form, Form::Plain | Form::Wrapper) {
            schema.each_field(&mut |field| self.visit(&field.ty));
        }
    }

    fn visit(&mut self, ty: &Type) {
        match ty {
            Type::List(list) => self.visit(&list.elem),
            Type::Map(map) => self.visit(&map.elem),
            Type::Struct(schema) if schema.form == Form::Wrapper => self.visit_fields(schema),
            Type::Struct(schema) => match names::of_struct(schema) {
                Some(name) => self.add_struct(name, schema, built_in_kind(schema)),
                None => self.visit_fields(schema),
            },
            scalar => {
                if let Some(name) = scalar_name(scalar) {
                    self.types.entry(name).or_insert_with(|| Definition::Scalar(scalar.clone()));
                }
            }
        }
    }
}

/// The name of a scalar type that is published as a type of its own.
pub(crate) fn scalar_name(ty: &Type) -> Option<String> {
    match ty {
        Type::Time => Some(names::meta("Time")),
        Type::MicroTime => Some(names::meta("MicroTime")),
        Type::Duration => Some(names::meta("Duration")),
        Type::FieldsV1 => Some(names::meta("FieldsV1")),
        Type::Quantity => Some("io.k8s.apimachinery.pkg.api.resource.Quantity".to_owned()),
        Type::IntOrString => Some("io.k8s.apimachinery.pkg.util.intstr.IntOrString".to_owned()),
        Type::RawExtension => Some("io.k8s.apimachinery.pkg.runtime.RawExtension".to_owned()),
        Type::Json => Some("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON".to_owned()),
        _ => None,
    }
}

/// The kind of a built-in struct, if it is a top-level type: one with a kind and an API version, or a common type of every
/// group.
fn built_in_kind(schema: &Struct) -> Option<Kind> {
    let top = schema
        .fields
        .iter()
        .any(|field| field.inline && field.ty.as_struct().is_some_and(|part| part.name.as_str() == "TypeMeta"));
    let (directory, version) = schema.group_version();
    let every_group = directory == "meta" && schema.name.as_str() == "WatchEvent";
    (top || every_group).then(|| Kind {
        group: Str::from(names::group_of_directory(directory)),
        version: Str::new(version),
        kind: schema.name.to_key(),
    })
}
