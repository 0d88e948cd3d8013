//! Metrics of the bodies of writes. Guarantees that a body is counted when it has been read whole, under the server's names of
//! resource and verb. Must never read a body that would not be read otherwise.

use crate::request::{BodyFailure, LazyBody, Room, UnreadBody, Verb};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pintle_metrics::{Exposition, Family, Histogram, Keyed, Layout};
use pintle_resource::Resource;
use pintle_schema::Str;
use std::sync::Arc;

/// From 50 kB to 3.05 MB in steps of 100 kB, as a body may be 3 MiB.
static SIZES: Layout = Layout::bytes(&BOUNDS);
const BOUNDS: [f64; 31] = bounds();

const fn bounds() -> [f64; 31] {
    let mut bounds = [0.0; 31];
    let mut at = 0;
    while at < bounds.len() {
        bounds[at] = 50_000.0 + 100_000.0 * at as f64;
        at += 1;
    }
    bounds
}

const BODY_SIZES: Family = Family::histogram(
    "apiserver_request_body_size_bytes",
    "Bytes of the bodies of writes by group, resource and verb.",
);

/// Sizes by group, resource and verb.
#[derive(Default)]
pub struct Bodies(Keyed<[Str; 3], Histogram>);

impl Bodies {
    /// A body that is counted when it has been read.
    pub fn counted(&self, body: LazyBody, resource: &Resource, verb: Verb) -> LazyBody {
        let verb = if verb == Verb::DeleteCollection { "delete_collection" } else { verb.name() };
        let sizes = self
            .0
            .get(&[resource.group.clone(), resource.plural.clone(), Str::new_static(verb)], || Histogram::new(&SIZES));
        Box::new(Counted { body, sizes })
    }

    pub(super) fn render(&self, out: &mut Exposition) {
        out.family(&BODY_SIZES);
        for ([group, resource, verb], sizes) in self.0.sorted().iter().filter(|(_, sizes)| !sizes.is_empty()) {
            out.histogram(BODY_SIZES.name, &[("group", group), ("resource", resource), ("verb", verb)], sizes);
        }
    }
}

struct Counted {
    body: LazyBody,
    sizes: Arc<Histogram>,
}

impl UnreadBody for Counted {
    fn whole(self: Box<Self>, room: Room) -> BoxFuture<'static, Result<Bytes, BodyFailure>> {
        let Counted { body, sizes } = *self;
        body.whole(room).inspect(move |read| read.iter().for_each(|bytes| sizes.observe(bytes.len() as f64))).boxed()
    }

    fn pieces(self: Box<Self>) -> pintle_proxy::backend::ByteStream {
        self.body.pieces()
    }

    fn is_empty(&self) -> bool {
        self.body.is_empty()
    }
}
