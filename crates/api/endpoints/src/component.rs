//! Component statuses: what the server says of the parts around it. Deprecated, and made up anew for each request.
//!
//! The only component that a server knows on its own is its store.

use crate::answer::Answer;
use crate::context::Context;
use crate::negotiation::{Offer, Shape, Wanted};
use crate::query::list_options;
use crate::read::{include_object, refuse_export};
use crate::represent;
use crate::request::ResourcePath;
use pintle_kinds::columns;
use pintle_kinds::resource::Resource;
use pintle_registry::{Details, Result, Selection, Status};
use pintle_schema::{ApiType, Value, canonicalize, value};
use pintle_types::core::v1::ComponentStatus;
use pintle_types::meta::v1::{PartialObjectMetadata, PartialObjectMetadataList, Table};

const STORE: &str = "etcd-0";

/// Answers a get or a list.
///
/// # Errors
/// There is no such component, or the options are wrong.
pub fn serve(context: &Context, resource: &'static Resource, path: &ResourcePath) -> Result<Answer> {
    if path.name.is_empty() { list(context, resource, path) } else { get(context, resource, &path.name) }
}

fn store(resource: &Resource) -> Value {
    let mut object = value!({
        "kind": (resource.kind), "apiVersion": (resource.api_version()), "metadata": {"name": STORE},
        "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}]
    });
    canonicalize(ComponentStatus::schema(), &mut object);
    object
}

fn get(context: &Context, resource: &Resource, name: &str) -> Result<Answer> {
    let wanted = context.negotiate(Offer::Objects)?;
    refuse_export(&context.query)?;
    if name != STORE {
        // The reference says the singular here.
        let message = format!("{} {name:?} not found", resource.singular);
        let details = Details { name: name.into(), kind: resource.singular.into(), ..Details::default() };
        return Err(Status::new(404, "NotFound", message).with_details(details));
    }
    let object = store(resource);
    let (shown, schema) = match wanted.shape {
        Shape::Object => (object, ComponentStatus::schema()),
        Shape::Partial => (represent::partial(&object, wanted), PartialObjectMetadata::schema()),
        Shape::Table => (table(context, resource, &[object], wanted)?, Table::schema()),
        Shape::PartialList => return Err(represent::not_a_list(resource.group, resource.kind)),
    };
    Ok(Answer::new(200, wanted.format.content_type(), represent::encode(&shown, schema, wanted)))
}

fn list(context: &Context, resource: &'static Resource, path: &ResourcePath) -> Result<Answer> {
    let wanted = context.negotiate(Offer::Collection)?;
    let query = list_options(&context.query, path.legacy_watch)?;
    Selection::parse(resource, resource, &query.label_selector, &query.field_selector)?;
    let mut object = store(resource);
    let (shown, schema) = match wanted.shape {
        Shape::Table => (table(context, resource, &[object], wanted)?, Table::schema()),
        Shape::PartialList => {
            let items = vec![represent::partial(&object, wanted)];
            let list = value!({
                "kind": "PartialObjectMetadataList", "apiVersion": (wanted.meta_version()), "metadata": {}, "items": (Value::List(items))
            });
            (list, PartialObjectMetadataList::schema())
        }
        Shape::Object => {
            let map = object.make_map();
            map.remove("kind");
            map.remove("apiVersion");
            let list = value!({"kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": (Value::List(vec![object]))});
            (list, pintle_types::core::v1::ComponentStatusList::schema())
        }
        Shape::Partial => return Err(represent::is_a_list(resource)),
    };
    Ok(Answer::new(200, wanted.format.content_type(), represent::encode(&shown, schema, wanted)))
}

fn table(context: &Context, resource: &Resource, objects: &[Value], wanted: Wanted) -> Result<Value> {
    let include = include_object(&context.query, wanted)?;
    let printer = columns::printer(resource.group, resource.kind);
    let now = context.api.registry.environment.now_unix();
    let rows = represent::made_rows(printer, objects, include, now, wanted);
    Ok(represent::table(printer, Value::map(), true, rows, wanted))
}
