//! The paths outside of resources. Guarantees that a path is listed if and only if it is served. Must never serve one.

use crate::Api;
use pintle_meta::gates;
use pintle_schema::Gate;

/// The paths of the server's pages about itself, each with the gate that turns it on.
const ZPAGES: [(&str, &Gate); 2] = [("/flagz", &gates::COMPONENT_FLAGZ), ("/statusz", &gates::COMPONENT_STATUSZ)];

/// Whether a path is that of a page that is served.
pub(super) fn has_zpage(api: &Api, path: &str) -> bool {
    let found = ZPAGES.iter().find(|(known, _)| *known == path);
    found.is_some_and(|(_, gate)| api.registry.environment.gates().is_on(gate))
        && (path != "/flagz" || api.settings.flags.is_some())
}

/// The paths the server knows, sorted.
pub(super) fn listed_paths(api: &Api) -> Vec<String> {
    let mut paths = vec!["/api".to_owned(), "/apis".to_owned()];
    for group in api.documents.with_aggregated(api).listed().groups() {
        if group.name.is_empty() {
            paths.extend(group.versions.iter().map(|version| format!("/api/{}", version.name)));
            continue;
        }
        paths.push(format!("/apis/{}", group.name));
        paths.extend(group.versions.iter().map(|version| format!("/apis/{}/{}", group.name, version.name)));
    }
    paths.extend(api.published.iter().map(|document| document.described.path.to_owned()));
    paths.extend(api.health.paths());
    paths.extend(
        ["/apis/", "/metrics", "/metrics/slis", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"]
            .map(str::to_owned),
    );
    let zpages = ZPAGES.iter().map(|(path, _)| *path).filter(|path| has_zpage(api, path));
    paths.extend(zpages.map(str::to_owned));
    paths.sort();
    paths
}
