//! The kinds of patches, by the media types of their bodies. Guarantees kube-apiserver's messages for others. Must
//! never read a patch.

use super::negotiation::Format;
use pintle_registry::{Details, Result, Status};

/// The kinds of patch, by their media types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    Json,
    Merge,
    Strategic,
    /// A configuration, in YAML or CBOR.
    Apply(Format),
}

/// A media type without its parameters.
fn bare(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or("")
}

const PATCH_TYPES: [(&str, PatchType); 5] = [
    ("application/json-patch+json", PatchType::Json),
    ("application/merge-patch+json", PatchType::Merge),
    ("application/strategic-merge-patch+json", PatchType::Strategic),
    ("application/apply-patch+yaml", PatchType::Apply(Format::Yaml)),
    ("application/apply-patch+cbor", PatchType::Apply(Format::Cbor)),
];

impl PatchType {
    /// The patch type of a Content-Type, among the formats that are served.
    ///
    /// # Errors
    /// 415 for any other media type. Routing tolerates spaces and lists, and the patch parser does not, so there are
    /// two messages.
    pub fn of(content_type: &str, formats: &[Format]) -> Result<Self> {
        let is_read = |kind| kind != PatchType::Apply(Format::Cbor) || formats.contains(&Format::Cbor);
        let known = || PATCH_TYPES.into_iter().filter(|(_, kind)| is_read(*kind));
        let routed = |listed: &str| known().any(|(media_type, _)| media_type == bare(listed).trim_matches(' '));
        if !content_type.split(',').any(routed) {
            return Err(PatchType::unsupported());
        }
        let media_type = bare(content_type);
        let found = known().find(|(known, _)| *known == media_type);
        let accepted = || known().map(|(media_type, _)| media_type).collect::<Vec<_>>();
        found.map(|(_, kind)| kind).ok_or_else(|| Status::unsupported_media_type(&accepted()))
    }

    /// The same for a kind that was defined at run time, which has no strategic patches.
    ///
    /// # Errors
    /// 415 for anything that is no patch of such a kind.
    pub fn of_custom(content_type: &str, formats: &[Format]) -> Result<Self> {
        let is_read = |kind| match kind {
            PatchType::Strategic => false,
            PatchType::Apply(format) => format == Format::Yaml || formats.contains(&format),
            PatchType::Json | PatchType::Merge => true,
        };
        let known = || PATCH_TYPES.into_iter().filter(|(_, kind)| is_read(*kind));
        let found = known().find(|(media_type, _)| *media_type == bare(content_type));
        let accepted = || known().map(|(media_type, _)| media_type).collect::<Vec<_>>();
        found.map(|(_, kind)| kind).ok_or_else(|| Status::unsupported_media_type(&accepted()))
    }

    /// The form of its text.
    pub fn format(self) -> Format {
        match self {
            PatchType::Apply(format) => format,
            _ => Format::Json,
        }
    }

    /// Whether it is a configuration to apply.
    pub fn applies(self) -> bool {
        matches!(self, PatchType::Apply(_))
    }

    fn unsupported() -> Status {
        Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type").with_details(Details::default())
    }
}
