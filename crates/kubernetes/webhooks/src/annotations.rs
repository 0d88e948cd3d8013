//! What audit events say of calls of mutating webhooks: whether one changed the object, and its patch.
//! Guarantees the text that Go's encoder writes. Must only be called with a patch that was read before.

use crate::hook::Hook;
use crate::review::Response;
use pintle_codec::json::{self, Members};
use std::collections::BTreeMap;

/// Whether the webhook changed the object.
pub(crate) fn mutation(hook: &Hook, mutated: bool) -> String {
    format!("{},\"mutated\":{mutated}}}", beginning(hook))
}

/// The patch that was applied.
pub(crate) fn patch(hook: &Hook, response: &Response) -> String {
    let mut text = format!("{},\"patch\":", beginning(hook)).into_bytes();
    write_patch(&String::from_utf8_lossy(&response.patch), &mut text);
    text.extend_from_slice(b",\"patchType\":");
    json::encode_str(&response.patch_type, &mut text);
    text.push(b'}');
    String::from_utf8_lossy(&text).into_owned()
}

fn beginning(hook: &Hook) -> String {
    let mut text = b"{\"configuration\":".to_vec();
    json::encode_str(&hook.configuration, &mut text);
    text.extend_from_slice(b",\"webhook\":");
    json::encode_str(&hook.name, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Operations with their members in order, and values as they were written.
fn write_patch(patch: &str, out: &mut Vec<u8>) {
    let mut members = Members::of(patch);
    out.push(b'[');
    let mut is_first = true;
    members.each_item(|operation| {
        if !std::mem::replace(&mut is_first, false) {
            out.push(b',');
        }
        write_operation(operation, out);
    });
    out.push(b']');
}

fn write_operation(operation: &str, out: &mut Vec<u8>) {
    let mut members = Members::of(operation);
    if !members.enter() {
        return json::compact(operation.as_bytes(), out);
    }
    // Of a key that is given twice, the last value counts.
    let mut values = BTreeMap::new();
    while let Some(key) = members.key() {
        values.insert(key.text(), members.take());
    }
    for (at, (key, value)) in values.iter().enumerate() {
        out.push(if at == 0 { b'{' } else { b',' });
        json::encode_str(key, out);
        out.push(b':');
        json::compact(value.trim().as_bytes(), out);
    }
    out.extend_from_slice(if values.is_empty() { b"{}" } else { b"}" });
}

#[cfg(test)]
mod tests {
    use super::write_patch;

    #[test]
    fn patches_are_written_as_go_writes_them() {
        for (patch, expected) in [
            ("[]", "[]"),
            ("[null, {}]", "[null,{}]"),
            (
                r#" [ {"value": {"b" : 1.0, "a":"<]"}, "path":"/x" ,"op":"add"},{"op":"remove","op":"test"} ] "#,
                r#"[{"op":"add","path":"/x","value":{"b":1.0,"a":"\u003c]"}},{"op":"test"}]"#,
            ),
            (r#"[{"op":"replace","path":"","value":null}]"#, r#"[{"op":"replace","path":"","value":null}]"#),
            (r#"[{"value":[1, [2], "x,y"]}]"#, r#"[{"value":[1,[2],"x,y"]}]"#),
        ] {
            let mut out = Vec::new();
            write_patch(patch, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{patch}");
        }
    }
}
