//! The log of a server: its lines as text and as JSON, and their number at each verbosity.

#![cfg(unix)]

use crate::common::http::Answered;
use crate::common::process::Installation;
use crate::common::wait_for;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

/// The lines of a server whose data directory others may read, started with these flags.
fn lines(flags: &[&str]) -> Vec<String> {
    let installation = Installation::own();
    let data = installation.path("data");
    std::fs::create_dir_all(&data).expect("a directory");
    std::fs::set_permissions(&data, Permissions::from_mode(0o755)).expect("set");
    let mut process = installation.start_with(flags);
    process.kill();
    process.errors().lines().map(str::to_owned).collect()
}

#[test]
fn warnings_are_lines_of_text() {
    let lines = lines(&[]);
    assert!(lines.iter().any(|line| line.starts_with("warning: ") && line.contains("data has mode 0755")), "{lines:?}");
    assert!(lines.iter().all(|line| line.starts_with("warning: ")), "{lines:?}");
}

#[test]
fn verbosity_adds_debug_lines() {
    let lines = lines(&["--v=4"]);
    let replayed = lines.iter().find(|line| line.starts_with("debug: the store was replayed"));
    assert!(replayed.is_some_and(|line| line.contains(" current=")), "{lines:?}");
}

#[test]
fn json_lines_have_the_members_of_kube_apiserver() {
    let lines = lines(&["--logging-format=json", "--v=4"]);
    let objects: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).expect(line)).collect();
    for object in &objects {
        assert!(object["ts"].as_f64().is_some_and(|millis| millis > 1.7e12), "{object}");
        assert!(object["caller"].as_str().is_some_and(|caller| caller.contains(".rs:")), "{object}");
        assert!(object["msg"].is_string() && object["v"].is_u64(), "{object}");
    }
    let find = |part: &str| objects.iter().find(|it| it["msg"].as_str().is_some_and(|text| text.contains(part)));
    assert_eq!(find("data has mode 0755").map(|it| &it["v"]), Some(&0.into()), "{lines:?}");
    let replayed = find("the store was replayed").expect("a line");
    assert_eq!((&replayed["v"], replayed["current"].is_u64()), (&4.into(), true), "{replayed}");
}

/// The lines of a server that has answered one request, which say of it what `part` is.
fn lines_about(flags: &[&str], part: &str) -> Vec<String> {
    let installation = Installation::own();
    let process = installation.start_with(flags);
    let mut client = process.endpoint().client().with_header("User-Agent", "tester/1");
    client.get("/version?pretty=true").expect_status(200);
    wait_for("the end of the request", || {
        let found: Vec<String> =
            process.errors().lines().filter(|line| line.contains(part)).map(str::to_owned).collect();
        (!found.is_empty()).then_some(found)
    })
}

#[test]
fn requests_are_lines_on_demand() {
    let part = r#"info: HTTP verb="GET" URI="/version?pretty=true""#;
    for flags in [["--v=3"], ["--vmodule=http*=3"]] {
        let lines = lines_about(&flags, part);
        assert_eq!(lines.len(), 1, "{lines:?}");
        for field in [
            "latency=\"",
            "userAgent=\"tester/1\"",
            "srcIP=\"127.0.0.1\"",
            "apf_pl=\"exempt\"",
            "apf_fs=\"exempt\"",
            "resp=200",
        ] {
            assert!(lines[0].contains(field), "{field}: {lines:?}");
        }
    }
    let quiet = lines(&["--v=2"]);
    assert!(!quiet.iter().any(|line| line.contains("info: HTTP")), "{quiet:?}");
}
