//! Tests: a list that is sent in pieces has the bytes of the same list encoded as a whole, in every form and around the sizes of
//! pieces; one that cannot be finished is broken off.

use super::*;
use crate::encoding::list_metadata::{list_meta, typed_list_meta};
use pintle_cache::{EncodedObject, Object};
use pintle_meta::meta::v1::{PartialObjectMetadataList, Table};
use pintle_registry::{Items, Payload};
use pintle_schema::{ApiType, Map, canonicalize};
use pintle_storage::Revision;
use pintle_types::core::v1::ConfigMapList;

/// Every form that a list can have.
fn forms() -> Vec<(MediaTypeOptions, IncludeObject)> {
    let mut forms = Vec::new();
    for shape in [ResponseKind::Object, ResponseKind::PartialList, ResponseKind::Table] {
        for format in [Format::Json, Format::Yaml, Format::Protobuf, Format::Cbor] {
            for (pretty, beta) in [(false, false), (true, false), (false, true)] {
                let wanted = MediaTypeOptions { format, shape, pretty, beta };
                match shape {
                    // Tables are in JSON and YAML only.
                    ResponseKind::Table if matches!(format, Format::Json | Format::Yaml) => {
                        let columns = [IncludeObject::None, IncludeObject::Metadata, IncludeObject::Object];
                        forms.extend(columns.map(|include| (wanted, include)));
                    }
                    ResponseKind::Table => {}
                    _ => forms.push((wanted, IncludeObject::None)),
                }
            }
        }
    }
    forms
}

/// The list of a page, encoded as a whole from decoded objects.
fn whole(
    registry: &Registry,
    target: &Target,
    page: &Page,
    (wanted, include_object): (MediaTypeOptions, IncludeObject),
) -> Bytes {
    let encoder = ObjectEncoder { registry, target, wanted, include_object, converted: &Converted::default() };
    let stored = page.items.iter().map(|object| Payload::Stored(object.clone()));
    match wanted.shape {
        ResponseKind::Object => {
            let items = stored.map(|object| {
                let mut item = encoder.served(&object).expect("an object");
                item.make_map().remove("kind");
                item.make_map().remove("apiVersion");
                item
            });
            let list = value!({
                "kind": "ConfigMapList", "apiVersion": "v1", "metadata": (typed_list_meta(page)), "items": (Value::List(items.collect()))
            });
            encode(&list, ConfigMapList::schema(), wanted)
        }
        ResponseKind::Table => {
            let rows = stored.map(|object| encoder.row(&object).expect("a row")).collect();
            encode(&encoder.table(list_meta(page), true, rows), Table::schema(), wanted)
        }
        _ => {
            let items = stored.map(|object| encoder.partial(&encoder.printed(&object).expect("an object")));
            let items: Vec<_> = items.collect();
            let items = if items.is_empty() { Value::Null } else { Value::List(items) };
            let list = value!({
                "kind": "PartialObjectMetadataList", "apiVersion": (wanted.meta_version()), "metadata": (list_meta(page)),
                "items": items
            });
            encode(&list, PartialObjectMetadataList::schema(), wanted)
        }
    }
}

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn size(&mut self, end: usize) -> usize {
        self.below(end as u64) as usize
    }
}

/// Texts that the formats write in different ways.
const TEXTS: &[&str] = &[
    "",
    "a",
    "yes",
    "null",
    "1.50",
    "0777",
    "12:30:45",
    "<<",
    "a: b",
    "- a",
    "#a",
    "{a}",
    " a",
    "a ",
    "\"a\"\\",
    "<&>",
    "\u{2028}é\u{1f600}",
    "a\nb",
    "a\n",
    "a\n\n",
    "\n",
    "\n\n",
    " a\nb\n",
    "a\tb",
    "a\rb",
    "\u{1}",
    "~",
    "key: |\n  text\n",
    "a text with spaces that is longer than the width of eighty columns, where emitters of YAML break lines at spaces in quotes",
];

fn text(numbers: &mut Numbers) -> String {
    let mut text = TEXTS[numbers.size(TEXTS.len())].to_owned();
    if numbers.below(4) == 0 {
        text.push_str(TEXTS[numbers.size(TEXTS.len())]);
    }
    text
}

fn config_map(numbers: &mut Numbers, at: usize, padding: usize) -> Value {
    let name = format!("m{at:05}");
    let mut data = Map::new();
    for at in 0..numbers.below(5) {
        data.set(format!("k{at}"), text(numbers));
    }
    if padding > 0 {
        data.set("padding", "x".repeat(padding));
    }
    let mut object = value!({
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {"name": (name.as_str()), "namespace": "ns", "creationTimestamp": "1970-01-01T00:00:10Z"}
    });
    if numbers.below(2) == 0 {
        object.set_at(&["metadata", "annotations"], value!({"note": (text(numbers))}));
    }
    if numbers.below(3) == 0 {
        let bytes = pintle_schema::base64::encode(text(numbers).as_bytes());
        object.set_at(&["binaryData"], value!({"b": bytes}));
    }
    if !data.is_empty() {
        object.set_at(&["data"], Value::Map(data));
    }
    canonicalize(<pintle_types::core::v1::ConfigMap as ApiType>::schema(), &mut object);
    object
}

fn stored_object(target: &Target, object: &Value) -> Arc<Object> {
    let record = encoded_object::encode(object, &[]);
    let encoded = EncodedObject::from_record(&record, Revision(7)).expect("a record");
    let prefix = &target.storage().prefix;
    let key = format!("{prefix}ns/{}", object.str_at(&["metadata", "name"]));
    Arc::new(Object::new(key.as_str().into(), prefix.len(), Revision(7), encoded))
}

fn page(objects: &[Arc<Object>], variant: usize) -> Page {
    let mut page = Page {
        items: Items::Picked(objects.to_vec()),
        revision: Revision(12),
        continue_token: String::new(),
        remaining: None,
        shard: None,
    };
    if variant % 3 == 1 {
        (page.continue_token, page.remaining) = ("abc".to_owned(), Some(17));
    }
    if variant % 3 == 2 {
        page.shard = Some("hash(metadata.uid) < 8".to_owned());
    }
    page
}

#[test]
fn lists_in_pieces_are_the_whole_lists() {
    let (registry, _store, resource) = config_maps(Clock::default());
    let target = registry.target(resource, "ns", "").expect("it is stored");
    let mut numbers = Numbers(5);
    // How many objects, and how large they are about.
    let sizes = [
        (0, 0),
        (1, 0),
        (1, PIECE + 10),
        (2, PIECE - 200),
        (3, 30_000),
        (40, 0),
        (40, 2000),
        (300, 300),
        (9, PIECE),
        (600, 0),
    ];
    for (variant, (count, padding)) in sizes.into_iter().enumerate() {
        let padding = |numbers: &mut Numbers| if padding == 0 { 0 } else { padding - 100 + numbers.size(200) };
        let objects: Vec<_> = (0..count)
            .map(|at| {
                let padding = padding(&mut numbers);
                stored_object(&target, &config_map(&mut numbers, at, padding))
            })
            .collect();
        for form in forms() {
            let page = page(&objects, variant);
            let expected = whole(&registry, &target, &page, form);
            let (pieces, size) = sent(ListEncoder::new(&registry, &target, form.0, form.1), page);
            let bytes = pieces.concat();
            let context = || format!("{count} objects as {form:?}");
            if bytes != expected {
                let at =
                    bytes.iter().zip(&expected).position(|(a, b)| a != b).unwrap_or(bytes.len().min(expected.len()));
                let near = |bytes: &[u8]| {
                    String::from_utf8_lossy(&bytes[at.saturating_sub(60)..bytes.len().min(at + 60)]).into_owned()
                };
                panic!("{}: at {at}\n{:?}\n{:?}", context(), near(&bytes), near(&expected));
            }
            assert!(size.is_none_or(|size| size == bytes.len() as u64), "{}", context());
            let largest = objects.iter().map(|object| object.encoded.json().len()).max().unwrap_or(0);
            // Indentation, YAML and rows make an object at most four times as long.
            assert!(pieces.iter().all(|piece| piece.len() <= PIECE + 4 * largest + 4096), "{}", context());
            assert!(pieces.len() > 1 || bytes.len() <= PIECE + 4 * largest + 4096, "{}", context());
            assert!(pieces.iter().all(|piece| !piece.is_empty()), "{}", context());
        }
    }
}

#[test]
fn lists_are_as_long_as_announced() {
    let (registry, _store, resource) = config_maps(Clock::default());
    let target = registry.target(resource, "ns", "").expect("it is stored");
    let mut numbers = Numbers(6);
    let objects: Vec<_> = (0..100).map(|at| stored_object(&target, &config_map(&mut numbers, at, 2000))).collect();
    for format in [Format::Json, Format::Protobuf] {
        let wanted = MediaTypeOptions { format, ..MediaTypeOptions::JSON };
        let (pieces, size) = sent(ListEncoder::new(&registry, &target, wanted, IncludeObject::None), page(&objects, 0));
        assert_eq!(size, Some(pieces.concat().len() as u64), "{format:?}");
        assert!(pieces.len() > 1);
    }
}

#[test]
fn lists_that_cannot_be_finished_are_broken_off() {
    let (registry, _store, resource) = config_maps(Clock::default());
    let target = registry.target(resource, "ns", "").expect("it is stored");
    let mut numbers = Numbers(7);
    let mut objects: Vec<_> = (0..100).map(|at| stored_object(&target, &config_map(&mut numbers, at, 2000))).collect();
    // No cache holds such an object: it does not have the type of its kind.
    let broken =
        value!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "m00099", "namespace": "ns"}, "data": 1});
    let put_broken = |objects: &mut Vec<Arc<Object>>, at: usize| objects[at] = stored_object(&target, &broken);
    let list = |objects: &[Arc<Object>], format| {
        let wanted = MediaTypeOptions { format, ..MediaTypeOptions::JSON };
        let encoder = ListEncoder::new(&registry, &target, wanted, IncludeObject::None);
        let page = page(objects, 0);
        block_on(encoder.list(page))
    };
    put_broken(&mut objects, 99);
    let Ok(Body::Chunks(pieces, _)) = list(&objects, Format::Cbor) else { panic!("the first objects are good") };
    let pieces: Vec<_> = block_on(futures_util::StreamExt::collect(pieces));
    let (last, good) = pieces.split_last().expect("pieces");
    assert!(last.is_err() && good.len() > 1 && good.iter().all(|piece| piece.is_ok()));
    // Where the length comes first, all objects are encoded before.
    assert_eq!(list(&objects, Format::Protobuf).err().map(|status| status.code), Some(500));
    objects.truncate(1);
    put_broken(&mut objects, 0);
    assert_eq!(list(&objects, Format::Cbor).err().map(|status| status.code), Some(500));
}
