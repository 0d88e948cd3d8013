//! The first writes of servers in this process. Guarantees that every check that first writes set is one of the server's.

use super::*;
use crate::hooks::POST_START;
use crate::test_server::TestServer;
use pintle_schema::Time;

#[tokio::test]
async fn work_is_shown_by_checks_of_the_server() {
    let server = TestServer::start().await.expect("a server");
    let api = server.server().api();
    let settings = Settings {
        service_ranges: vec![pintle_bootstrap::ServiceRange::parse("10.0.0.0/24").expect("a range")],
        advertise_address: None,
        secure_port: 6443,
        authorities: [("client-ca-file".to_owned(), "x".to_owned())].into(),
        api_services: crate::bootstrap::api_services(|_, _| true),
        now: Time::from_seconds(0),
    };
    let all = Work::all(&api.registry, &settings);
    for work in &all {
        for hook in work.hooks() {
            assert!(POST_START.contains(&hook), "{hook}");
        }
        let first = all.iter().filter(|other| other.hook == work.hook).count();
        assert_eq!(first, 1, "{}: one work for each check", work.hook);
    }
    let written = all.iter().map(|work| work.objects.len()).sum::<usize>();
    assert_eq!(written, objects_one_by_one(&settings).len());
    // A check that the server does not have does not appear.
    let has = |hook: &str| api.health.has(hook);
    assert!(has(IDENTITY) && !has(STORAGE_VERSIONS));
    all.iter().for_each(|work| work.show(&api.health, false));
    assert!(!has(STORAGE_VERSIONS));
}
