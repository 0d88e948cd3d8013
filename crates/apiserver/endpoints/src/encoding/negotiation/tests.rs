//! Tests of the choice of forms: what a client accepts, and the form that it gets.

use super::*;

#[test]
fn the_first_acceptable_clause_wins() {
    let none = Query::default();
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
    let rows = [
        ("", Ok((Format::Json, ResponseKind::Object))),
        ("*/*", Ok((Format::Json, ResponseKind::Object))),
        (table, Ok((Format::Json, ResponseKind::Table))),
        ("application/vnd.kubernetes.protobuf,application/json", Ok((Format::Protobuf, ResponseKind::Object))),
        ("application/json;q=0.5, application/yaml", Ok((Format::Yaml, ResponseKind::Object))),
        ("application/json;as=Foo, application/yaml", Ok((Format::Yaml, ResponseKind::Object))),
        ("*/*, application/yaml", Ok((Format::Yaml, ResponseKind::Object))),
        ("application/yaml;q=0.1, */*;q=0.9", Ok((Format::Json, ResponseKind::Object))),
        ("*/*;q=0.9, application/yaml;q=0.1", Ok((Format::Yaml, ResponseKind::Object))),
        ("application/*, application/json", Ok((Format::Json, ResponseKind::Object))),
        ("application/json;stream=watch", Ok((Format::Json, ResponseKind::Object))),
        ("application/json;sv=v1;pretty=0", Ok((Format::Json, ResponseKind::Object))),
        ("application/json;stream=events", Err(406)),
        ("application/json;sv=v2", Err(406)),
        ("application/yaml;stream=watch", Err(406)),
        ("application/json;v=v1", Err(406)),
        ("application/cbor", Err(406)),
        ("text/html", Err(406)),
        ("application/json;as=Foo", Err(406)),
        ("application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1", Err(406)),
    ];
    for (accept, expected) in rows {
        let found = negotiate(accept, "", &none, AllowedMediaTypes::Objects, GENERAL)
            .map(|wanted| (wanted.format, wanted.shape))
            .map_err(|status| status.code);
        assert_eq!(found, expected, "{accept}");
    }
}

#[test]
fn paths_offer_what_they_have() {
    let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let rows = [
        (
            "application/yaml",
            AllowedMediaTypes::JsonDocuments,
            "406: Not Acceptable\n\nAvailable representations: application/json",
        ),
        (
            "text/html",
            AllowedMediaTypes::Groups,
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ),
        (
            table,
            AllowedMediaTypes::DiscoveryCache,
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ),
        (
            "application/json;sv=v1",
            AllowedMediaTypes::DiscoveryCache,
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ),
        (
            table,
            AllowedMediaTypes::Actions,
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ),
        (
            "text/plain",
            AllowedMediaTypes::Text,
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ),
        (
            "application/json;as=Foo",
            AllowedMediaTypes::Watch,
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ),
        (
            "application/yaml",
            AllowedMediaTypes::Watch,
            "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
        ),
    ];
    for (accept, offer, message) in rows {
        let found = negotiate(accept, "", &Query::default(), offer, GENERAL).map_err(|status| status.message);
        assert_eq!(found, Err(message.to_owned()), "{accept}");
    }
}

#[test]
fn a_path_is_found_by_media_types_alone() {
    let keys = ["application/jwk-set+json"];
    for (accept, is_found) in [
        ("", true),
        ("*/*", true),
        ("application/jwk-set+json", true),
        ("text/html, application/jwk-set+json;q=0.1", true),
        ("text/html,*/*;q=0.8", true),
        ("application/json", false),
        ("application/*", false),
        ("text/html", false),
    ] {
        assert_eq!(find_path(accept, &keys).is_ok(), is_found, "{accept}");
    }
    let text = "406: Not Acceptable\n\nAvailable representations: application/jwk-set+json";
    let refused = find_path("text/html", &keys).map_err(|status| (status.code, status.message));
    assert_eq!(refused, Err((406, text.to_owned())));
}

#[test]
fn aggregated_discovery_is_found_among_other_media_types() {
    let rows = [
        ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", Some(Format::Json)),
        ("application/json, application/yaml;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", Some(Format::Yaml)),
        (
            "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            Some(Format::Protobuf),
        ),
        ("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json", None),
        ("text/html;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", None),
        ("", None),
    ];
    for (accept, expected) in rows {
        let found = negotiate_aggregated(accept, "", &Query::default());
        assert_eq!(found.map(|(wanted, _)| wanted.format), expected, "{accept}");
    }
}

#[test]
fn errors_have_one_shape() {
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let either = format!("{table},application/yaml");
    let rows = [
        ("", Some((Format::Json, false))),
        ("application/json;pretty=1", Some((Format::Json, true))),
        (table, None),
        ("image/png", None),
        (either.as_str(), Some((Format::Yaml, false))),
    ];
    for (accept, expected) in rows {
        let form = negotiate_error(accept, "", &Query::default(), GENERAL);
        assert_eq!(form.map(|form| (form.format, form.pretty)), expected, "{accept}");
    }
}

#[test]
fn cbor_is_negotiated_where_it_is_served() {
    let none = Query::default();
    let rows = [
        ("application/cbor", AllowedMediaTypes::Objects, Ok(Format::Cbor)),
        ("application/cbor, application/json", AllowedMediaTypes::Watch, Ok(Format::Cbor)),
        ("application/cbor;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", AllowedMediaTypes::Objects, Ok(Format::Cbor)),
        ("application/cbor;as=Table;g=meta.k8s.io;v=v1", AllowedMediaTypes::Objects, Err(406)),
        ("application/cbor", AllowedMediaTypes::DiscoveryCache, Err(406)),
    ];
    for (accept, offer, expected) in rows {
        let found = negotiate(accept, "", &none, offer, FORMATS).map(|wanted| wanted.format);
        assert_eq!(found.map_err(|status| status.code), expected, "{accept}");
    }
    assert_eq!(body_format("application/cbor", FORMATS), Ok(Format::Cbor));
    let refused = body_format("application/cbor", GENERAL).map_err(|status| status.message);
    let text = "the body of the request was in an unknown format - accepted media types include: \
                application/json, application/yaml, application/vnd.kubernetes.protobuf";
    assert_eq!(refused, Err(text.to_owned()));
}

#[test]
fn pretty_is_for_people() {
    let rows = [
        ("pretty=true", "", true),
        ("pretty=yes", "curl/8", false),
        ("pretty=false", "curl/8", false),
        ("pretty", "python", false),
        ("pretty", "curl/8", true),
        ("", "curl/8", true),
        ("", "kubectl/1.36", false),
    ];
    for (query, agent, expected) in rows {
        assert_eq!(pretty(&Query::parse(query), agent), expected, "{query} {agent}");
    }
}
