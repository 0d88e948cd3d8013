//! Values within texts of errors, as Go prints them.

use super::Value;

impl Value<'_> {
    /// A short text of the value, as messages name keys and elements.
    pub(crate) fn shown(&self) -> String {
        match self {
            Value::Null => "0".to_string(),
            Value::Bool(b) => b.to_string(),
            Value::Int(i) => i.to_string(),
            Value::Uint(u) => u.to_string(),
            Value::Double(d) => pintle_schema::compat::float::print(*d),
            Value::String(text) => text.to_string(),
            Value::Bytes(bytes) => {
                let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
                format!("[{}]", bytes.join(" "))
            }
            Value::Duration(duration) => pintle_schema::Duration { nanos: duration.nanos }.to_string(),
            Value::Timestamp(moment) => crate::standard::print_timestamp(moment),
            Value::Type(ty) => ty.runtime_name().to_string(),
            Value::Optional(None) => "optional.none()".to_string(),
            Value::Optional(Some(value)) => format!("optional({})", value.shown()),
            other => other.type_name().to_string(),
        }
    }
}
