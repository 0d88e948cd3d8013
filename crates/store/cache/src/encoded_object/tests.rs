//! Round trips of encoded objects: headers of any size, the placeholder, all formats, and truncated records.

use super::*;
use pintle_schema::value;

fn pod() -> Value {
    value!({"kind": "Pod", "apiVersion": "v1", "metadata": {
        "name": "web", "namespace": "shop", "uid": "u-1", "resourceVersion": "7", "labels": {"app": "web", "tier": "front"},
        "ownerReferences": [{"uid": "o-1"}, {"uid": "o-2"}], "managedFields": [{"manager": "me"}]
    }, "spec": {"nodeName": "n1"}})
}

#[test]
fn only_owners_and_finalizers_count_as_lifecycle_fields() {
    let encoded = |metadata: Value, spec: Value| {
        let object = value!({"kind": "Thing", "apiVersion": "v1", "metadata": metadata, "spec": spec});
        EncodedObject::from_record(&encode(&object, &[]), Revision(12345)).expect("an encoded object")
    };
    let ties = |metadata: Value| String::from_utf8(encoded(metadata, value!({})).ties().join(&b' ')).expect("JSON");
    let lookalikes = value!({"finalizers": "x", "a": "\"finalizers\":[\"x\"]", "ownerReferences": "[]"});
    assert_eq!(ties(value!({"name": "a", "annotations": (lookalikes.clone())})), " ");
    let owners = value!([{"uid": "o-1", "name": "]}\"finalizers\":["}]);
    let both = value!({"name": "a", "annotations": (lookalikes.clone()), "ownerReferences": (owners.clone()), "finalizers": ["f"]});
    let text = r#""ownerReferences":[{"uid":"o-1","name":"]}\"finalizers\":["}] "finalizers":["f"]"#;
    assert_eq!(ties(both.clone()), text);
    let mut managed = both;
    managed.set_at(&["managedFields"], value!([{"manager": "me", "fieldsV1": {"f:finalizers": {}}}]));
    assert_eq!(ties(managed.clone()), text);
    managed.sort_keys();
    let sorted = r#""ownerReferences":[{"name":"]}\"finalizers\":[","uid":"o-1"}] "finalizers":["f"]"#;
    assert_eq!(ties(managed), sorted);
    assert_eq!(ties(value!({"name": "a", "finalizers": ["f"]})), r#" "finalizers":["f"]"#);

    let time = "2026-01-01T00:00:00Z";
    let held = |metadata: Value, spec: Value| encoded(metadata, spec).is_held();
    assert!(held(value!({"deletionTimestamp": time, "finalizers": ["f"]}), value!({})));
    assert!(held(value!({"deletionTimestamp": time}), value!({"finalizers": ["kubernetes"]})));
    assert!(!held(value!({"deletionTimestamp": time, "annotations": (lookalikes)}), value!({})));
    assert!(!held(value!({"finalizers": ["f"]}), value!({})));
}

#[test]
fn the_placeholder_takes_any_revision_and_spans_follow() {
    let record = encode(&pod(), &["n1", "Running"]);
    for revision in [Revision(9), Revision(123_456_789)] {
        for encoded in [
            EncodedObject::from_record(&record, revision).expect("whole"),
            EncodedObject::from_record(&record, Revision(42)).expect("whole").at_revision(revision),
        ] {
            let mut wanted = pod();
            wanted.set_at(&["metadata", "resourceVersion"], revision.0.to_string());
            let mut json = Vec::new();
            json::encode(&wanted, &mut json);
            assert_eq!(std::str::from_utf8(encoded.json()), std::str::from_utf8(&json));
            let mut metadata = Vec::new();
            json::encode(wanted.get("metadata").expect("set"), &mut metadata);
            assert_eq!(encoded.metadata(), metadata);
            assert_eq!(&encoded.json()[encoded.managed_fields()], br#""managedFields":[{"manager":"me"}]"#);
        }
    }
}

#[test]
fn objects_of_custom_kinds_have_the_placeholder_in_the_order_of_names() {
    let mut object = pod();
    object.sort_keys();
    let encoded = EncodedObject::from_record(&encode(&object, &[]), Revision(7)).expect("whole");
    let expected = json::to_vec(&object);
    assert_eq!(std::str::from_utf8(encoded.json()), std::str::from_utf8(&expected));
    assert_eq!(&encoded.json()[encoded.managed_fields()], br#""managedFields":[{"manager":"me"}]"#);
    let mut later = object.clone();
    later.set_at(&["metadata", "resourceVersion"], "1234");
    assert_eq!(encoded.at_revision(Revision(1234)).json(), &json::to_vec(&later));
    let only = value!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}});
    let encoded = EncodedObject::from_record(&encode(&only, &[]), Revision(7)).expect("whole");
    let shown = r#"{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a","resourceVersion":"7"}}"#;
    assert_eq!(std::str::from_utf8(encoded.json()), Ok(shown));
}

#[test]
fn the_header_answers_without_decoding() {
    let encoded = EncodedObject::from_record(&encode(&pod(), &["n1", "Running"]), Revision(9)).expect("whole");
    assert_eq!(encoded.uid(), "u-1");
    assert_eq!(encoded.labels().collect::<Vec<_>>(), [("app", "web"), ("tier", "front")]);
    assert_eq!((encoded.label("tier"), encoded.label("none")), (Some("front"), None));
    assert_eq!((encoded.field(0), encoded.field(1), encoded.field(2)), (Some("n1"), Some("Running"), None));
    assert_eq!(encoded.owners().collect::<Vec<_>>(), ["o-1", "o-2"]);
    assert!(!encoded.terminating && !encoded.is_stale);
    let stale = EncodedObject::from_record(&encode_stale(&pod(), &[]), Revision(9)).expect("whole");
    assert!(stale.is_stale && stale.at_revision(Revision(10)).is_stale);
    assert_eq!(stale.json(), encoded.json());
}

#[test]
fn raw_json_is_kept_as_written_and_shown_compact() {
    let mut revision = pod();
    let text = "{ \"a\": 1.0, \"b\": \"<\" }";
    revision.set_at(&["data"], Value::Raw(text.into()));
    revision.set_at(&["more"], 5);
    let record = encode(&revision, &[]);
    for encoded in [
        EncodedObject::from_record(&record, Revision(12)).expect("whole"),
        EncodedObject::from_record(&record, Revision(7)).expect("whole").at_revision(Revision(12)),
    ] {
        let shown = String::from_utf8_lossy(encoded.json());
        assert!(shown.ends_with(r#","data":{"a":1.0,"b":"\u003c"},"more":5}"#), "{shown}");
        assert_eq!(&encoded.json()[encoded.managed_fields()], br#""managedFields":[{"manager":"me"}]"#);
        let written = String::from_utf8_lossy(encoded.as_written());
        assert!(written.ends_with(&format!(",\"data\":{text},\"more\":5}}")), "{written}");
        assert!([&shown, &written].iter().all(|json| json.contains(r#""resourceVersion":"12""#)));
    }
    revision.set_at(&["data"], Value::Raw(r#"{"a":1.0}"#.into()));
    let encoded = EncodedObject::from_record(&encode(&revision, &[]), Revision(12)).expect("whole");
    assert_eq!((encoded.as_written.is_none(), encoded.as_written()), (true, encoded.json()));
}

#[test]
fn cut_records_are_refused() {
    let record = encode(&pod(), &["n1"]);
    let json_at = record.windows(7).position(|window| window == b"{\"kind\"").expect("the JSON begins");
    for length in 0..=json_at {
        let cut = record.slice(..length);
        if let Ok(encoded) = EncodedObject::from_record(&cut, Revision(1)) {
            panic!("a record cut to {length} bytes was read as {encoded:?}");
        }
    }
}

/// Parts of an object that may be large, each beyond 16 bits.
#[test]
fn header_fields_have_no_separate_bounds() {
    let long = "x".repeat(70_000);
    let many = 0..70_000;
    let mut labels = Map::new();
    let mut owners = Vec::new();
    for at in many {
        labels.push(format!("label-{at:05}").into(), Value::from("v"));
        owners.push(value!({"uid": (format!("u-{at}"))}));
    }
    labels.push("long".into(), Value::from(long.as_str()));
    let mut object = pod();
    object.set_at(&["metadata", "uid"], long.as_str());
    object.set_at(&["metadata", "labels"], Value::Map(labels));
    object.set_at(&["metadata", "ownerReferences"], Value::List(owners));
    let record = encode(&object, &[&long, "Running", &long]);
    assert_eq!(check(&record), Ok(()));
    let encoded = EncodedObject::from_record(&record, Revision(9)).expect("whole");
    assert_eq!(encoded.uid(), long);
    assert_eq!((encoded.labels().count(), encoded.label("long")), (70_001, Some(long.as_str())));
    assert_eq!((encoded.field(0), encoded.field(1), encoded.field(2)), (Some(&*long), Some("Running"), Some(&*long)));
    assert_eq!((encoded.owners().count(), encoded.owners().last()), (70_000, Some("u-69999")));
    let mut written = Vec::new();
    object.set_at(&["metadata", "resourceVersion"], "9");
    json::encode(&object, &mut written);
    assert!(encoded.json() == &written, "the JSON differs");
}

/// A record in the old format with 16-bit counts.
fn narrow_record(format: u8) -> Vec<u8> {
    let json =
        br#"{"metadata":{"name":"web","uid":"u-1","resourceVersion":"","labels":{"app":"web"}},"data":{ "a": 1 }}"#;
    let mut record = vec![format];
    let placeholder = memmem::find(json, b"\"\"").expect("the placeholder") + 1;
    let metadata =
        memmem::find(json, b"{\"name").expect("metadata begins")..memmem::find(json, b",\"data").expect("and ends");
    for offset in [placeholder, metadata.start, metadata.end, 0, 0] {
        record.extend_from_slice(&narrow(offset).to_le_bytes());
    }
    let put = |record: &mut Vec<u8>, text: &str| {
        record.extend_from_slice(&(text.len() as u16).to_le_bytes());
        record.extend_from_slice(text.as_bytes());
    };
    put(&mut record, "u-1");
    for list in [&["app", "web"][..], &["n1", "Running"], &["o-1", "o-2"]] {
        let count: u16 = if list[0] == "app" { 1 } else { 2 };
        record.extend_from_slice(&count.to_le_bytes());
        list.iter().for_each(|text| put(&mut record, text));
    }
    record.push(1);
    record.extend_from_slice(json);
    record
}

#[test]
fn records_of_the_first_formats_are_read() {
    for format in [NARROW_FORMAT, NARROW_FORMAT_AS_WRITTEN, NARROW_FORMAT_AS_WRITTEN | STALE] {
        let record = Bytes::from(narrow_record(format));
        let encoded = EncodedObject::from_record(&record, Revision(9)).expect("whole");
        assert_eq!((encoded.uid(), encoded.label("app"), encoded.field(1)), ("u-1", Some("web"), Some("Running")));
        assert_eq!(encoded.owners().collect::<Vec<_>>(), ["o-1", "o-2"]);
        assert_eq!((encoded.terminating, encoded.is_stale), (true, format & STALE != 0));
        let data: &[u8] = if format == NARROW_FORMAT { b"{ \"a\": 1 }" } else { b"{\"a\":1}" };
        assert!(encoded.json().ends_with(&[b"\"data\":", data, b"}"].concat()), "{:?}", encoded.json());
        assert!(encoded.metadata().starts_with(b"{\"name\"") && encoded.metadata().ends_with(b"{\"app\":\"web\"}}"));
        assert!(object(&record).expect("whole").ends_with(b"\"data\":{ \"a\": 1 }}"));
    }
}

#[test]
fn an_original_is_kept_beside_what_is_shown() {
    let mut original = pod();
    original.remove_at(&["metadata", "resourceVersion"]);
    original.set_at(&["spec", "more"], "fields");
    let record = encode_beside(&pod(), &["n1"], &original);
    assert!(is_record(&record) && check(&record).is_ok());
    let plain = EncodedObject::from_record(&encode(&pod(), &["n1"]), Revision(3)).expect("an encoded object");
    for encoded in [
        EncodedObject::from_record(&record, Revision(3)).expect("an encoded object"),
        EncodedObject::from_record(&record, Revision(77)).expect("an encoded object").at_revision(Revision(3)),
    ] {
        assert!(encoded.is_stale && encoded.size() > plain.size());
        assert_eq!((encoded.json(), encoded.field(0), encoded.uid()), (plain.json(), Some("n1"), "u-1"));
        assert_eq!(encoded.original().map(|json| &json[..]), Some(&json::to_vec(&original)[..]));
    }
    assert_eq!(plain.original(), None);
    for length in 0..record.len() {
        let _ = EncodedObject::from_record(&record.slice(..length), Revision(3));
    }
}
