//! AlwaysDeny: rejects every write of a client. Guarantees that the server's own writes are allowed, so that it can
//! start. Must never read objects.

use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use pintle_registry::SERVER_USER;
use pintle_registry::status::Result;
use pintle_schema::Value;

pub const PLUGIN: Plugin =
    Plugin::on(&[Requests::all()]).mutating(|request, object, _| deny(request, object)).validating_deletion(deny);

fn deny(request: &Request<'_>, object: &Value) -> Result<()> {
    if request.requester().name == SERVER_USER {
        return Ok(());
    }
    Err(request.forbidden(object, "admission control is denying all modifications"))
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::value;

    #[tokio::test]
    async fn only_the_server_writes() {
        let cluster = Cluster::with_plugins(&["AlwaysDeny"]);
        let map = value!({"metadata": {"name": "m"}});
        let denied = cluster.create("", "configmaps", map.clone()).await.expect_err("denied");
        let why = "configmaps \"m\" is forbidden: admission control is denying all modifications";
        assert_eq!(denied.message, why);
        assert_eq!(cluster.delete("", "configmaps", &map, "admin").expect_err("denied").message, why);
        assert!(cluster.update(("", "configmaps", ""), &map, map.clone(), "system:apiserver").is_ok());
    }
}
