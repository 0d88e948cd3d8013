//! Unknown paths, and meaningless queries. Guarantees a response to each, however long it is.

use super::{CONFIG_MAPS, Says::Exactly, Says::Parts, check, row};
use crate::common::http::JSON;

#[test]
fn paths_and_queries() {
    let none = || ("", "");
    let nothing = "the server could not find the requested resource";
    let list = |query: &str| format!("{CONFIG_MAPS}?{query}");
    let long = "x".repeat(60_000);
    check(vec![
        row("an unknown path", ("GET", "/foo"), none(), 404, Exactly("404 page not found\n")),
        row(
            "an unknown group",
            ("GET", "/apis/foo.example.com/v1/things"),
            none(),
            404,
            Exactly("404 page not found\n"),
        ),
        row("an unknown version", ("GET", "/apis/apps/v2/deployments"), none(), 404, Exactly(nothing)),
        row("an unknown resource", ("GET", "/api/v1/foos"), none(), 404, Exactly(nothing)),
        row(
            "an unknown resource to write",
            ("POST", "/api/v1/namespaces/default/foos"),
            (JSON, "{}"),
            404,
            Exactly(nothing),
        ),
        row(
            "an unknown subresource",
            ("GET", "/api/v1/namespaces/default/configmaps/there/status"),
            none(),
            404,
            Exactly(nothing),
        ),
        row(
            "a namespace that no key can have",
            ("GET", "/api/v1/namespaces/../services/x"),
            none(),
            500,
            Exactly(r#"invalid key: "/services/specs/../x""#),
        ),
        row("its objects", ("GET", "/api/v1/namespaces/../pods"), none(), 500, Exactly(r#"invalid key: "/pods/..""#)),
        row("to delete", ("DELETE", "/api/v1/namespaces/./pods"), none(), 500, Exactly(r#"invalid key: "/pods/.""#)),
        row(
            "a lease in it that may be created by a replacement",
            ("PUT", "/apis/coordination.k8s.io/v1/namespaces/../leases/x"),
            (JSON, r#"{"metadata": {"name": "x"}}"#),
            500,
            Exactly(r#"invalid key: "/leases/../x""#),
        ),
        row(
            "a new object in it",
            ("POST", "/api/v1/namespaces/../configmaps"),
            (JSON, r#"{"metadata": {"name": "x"}}"#),
            500,
            Exactly(r#"Internal error occurred: invalid resource name "..": [may not be '..']"#),
        ),
        row(
            "a namespace without a name",
            ("POST", "/api/v1/namespaces//configmaps"),
            (JSON, r#"{"metadata": {"name": "x", "namespace": "default"}}"#),
            422,
            Exactly(r#"ConfigMap "x" is invalid: metadata.namespace: Required value"#),
        ),
        row(
            "a replacement in it without a name",
            ("PUT", "/api/v1/namespaces//configmaps/x"),
            (JSON, "{}"),
            400,
            Exactly("the name of the object (x based on URL) was undeterminable: name must be provided"),
        ),
        row(
            "a replacement in it",
            ("PUT", "/api/v1/namespaces//configmaps/x"),
            (JSON, r#"{"metadata": {"name": "x"}}"#),
            400,
            Exactly("Namespace parameter required."),
        ),
        row(
            "a limit that is no number",
            ("GET", &list("limit=x")),
            none(),
            400,
            Exactly(r#"strconv.ParseInt: parsing "x": invalid syntax"#),
        ),
        row(
            "a selector: not closed",
            ("GET", &list("labelSelector=x%20in%20(1")),
            none(),
            400,
            Exactly("unable to parse requirement: found '', expected: ',' or ')'"),
        ),
        row(
            "a selector: no key",
            ("GET", &list("labelSelector==1")),
            none(),
            400,
            Exactly("found '=', expected: !, identifier, or 'end of string'"),
        ),
        row(
            "a selector: a wrong value",
            ("GET", &list("labelSelector=x===1")),
            none(),
            400,
            Exactly("unable to parse requirement: found '=', expected: identifier"),
        ),
        row(
            "a selector: 60,000 bytes",
            ("GET", &list(&format!("labelSelector={long}=1"))),
            none(),
            400,
            Parts(&["unable to parse requirement: <nil>: Invalid value: ", "name part must be no more than 63 bytes"]),
        ),
        row(
            "a field selector: an unknown field",
            ("GET", &list("fieldSelector=data.k=v")),
            none(),
            400,
            Exactly(r#""data.k" is not a known field selector: only "metadata.name", "metadata.namespace""#),
        ),
        row(
            "a field selector: no operator",
            ("GET", &list("fieldSelector=x")),
            none(),
            400,
            Exactly("invalid selector: 'x'; can't understand 'x'"),
        ),
        row(
            "a token that is none",
            ("GET", &list("limit=2&continue=!!!")),
            none(),
            400,
            Exactly("invalid continue token: continue key is not valid: illegal base64 data at input byte 0"),
        ),
        row("a resource version that is none", ("GET", &list("resourceVersion=x")), none(), 400, Parts(&["x"])),
        row(
            "a resource version of a watch that is none",
            ("GET", &list("watch=true&resourceVersion=x")),
            none(),
            500,
            Parts(&["resourceVersion: Invalid value"]),
        ),
        row("escapes that are none", ("GET", &list("labelSelector=%zz")), none(), 200, Parts(&[])),
        row("a hundred thousand parameters", ("GET", &list(&"a&".repeat(30_000))), none(), 200, Parts(&[])),
        row("an address of 200,000 bytes", ("GET", &list(&"x".repeat(200_000))), none(), 414, Parts(&[])),
        row(
            "a header of 2 MiB",
            ("GET", CONFIG_MAPS),
            (Box::leak("x".repeat(2 << 20).into_boxed_str()), ""),
            431,
            Parts(&[]),
        ),
        row("not HTTP: a space in the path", ("GET", "/api v1"), none(), 400, Parts(&[])),
        row("a method that nobody knows", ("FROBNICATE", CONFIG_MAPS), none(), 405, Parts(&[])),
    ]);
}
