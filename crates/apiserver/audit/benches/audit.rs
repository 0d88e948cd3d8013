//! Measures what auditing a get at level Metadata costs: CPU time and context switches of the process for each request,
//! by mode and by the number of requests at a time. Run it with `cargo bench -p pintle-audit -- DIRECTORY`.

use pintle_audit::{
    Auditor, Backend, BatchOptions, Buffered, Log, LogFormat, Policy, RequestInfo, ResponseStatus, Rotation, Stage,
    Stats, Target,
};
use pintle_auth::{Attributes, UserInfo};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

const REQUESTS: usize = 100_000;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let directory = PathBuf::from(
        std::env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_else(|| ".".to_owned()),
    );
    let policy = directory.join("policy.yaml");
    let text = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- {level: Metadata}\n";
    std::fs::write(&policy, text).expect("a policy");
    println!("{:<16} {:>2}  {:>9} {:>9} {:>8}", "mode", "c", "CPU us", "us", "switches");
    for mode in ["none", "blocking-strict", "blocking", "batch"] {
        for clients in [1, 16] {
            let log = directory.join(format!("{mode}-{clients}.log"));
            let auditor = auditor(&policy, &log, mode);
            let (cpu, switches, began) = (cpu_us(), switches(), Instant::now());
            let tasks: Vec<_> =
                (0..clients).map(|_| tokio::spawn(requests(auditor.clone(), REQUESTS / clients))).collect();
            for task in tasks {
                task.await.expect("a task");
            }
            let took = began.elapsed().as_micros() as f64 / REQUESTS as f64;
            if let Some(auditor) = auditor {
                auditor.shutdown().await;
            }
            let each = |count: u64| count as f64 / REQUESTS as f64;
            println!(
                "{mode:<16} {clients:>2}  {:>9.2} {took:>9.2} {:>8.2}",
                each(cpu_us() - cpu),
                each(self::switches() - switches)
            );
            let _ = std::fs::remove_file(log);
        }
    }
}

fn auditor(policy: &Path, log: &Path, mode: &str) -> Option<Arc<Auditor>> {
    let stats = Arc::new(Stats::default());
    let log = Log::open(log, LogFormat::Json, Rotation::default(), stats.clone()).expect("a log");
    let backend: Arc<dyn Backend> = match mode {
        "none" => return None,
        "batch" => {
            let options = BatchOptions {
                buffer_size: 10_000,
                max_batch_size: 1,
                max_wait: Duration::ZERO,
                throttle: None,
                concurrent: false,
            };
            Arc::new(Buffered::new(Arc::new(log), options, stats.clone()))
        }
        _ => Arc::new(log),
    };
    let target = Target { backend, is_strict: mode == "blocking-strict" };
    Some(Arc::new(Auditor::new(Policy::read(policy).expect("a policy"), vec![target], stats)))
}

async fn requests(auditor: Option<Arc<Auditor>>, count: usize) {
    let user = Arc::new(UserInfo { name: "system:serviceaccount:default:robot".into(), ..UserInfo::default() });
    for at in 0..count {
        if let Some(auditor) = &auditor {
            let attributes = Attributes {
                api_version: "v1",
                namespace: "default",
                name: "a-config-map",
                ..Attributes::resource(&user, "get", "", "configmaps")
            };
            let info = || RequestInfo {
                id: format!("{at:08x}-2222-3333-4444-555555555555"),
                received: SystemTime::now(),
                uri: "/api/v1/namespaces/default/configmaps/a-config-map".to_owned(),
                verb: "get".to_owned(),
                user: Some(user.clone()),
                source_ips: vec![std::net::IpAddr::from([10, 0, 0, 1])],
                user_agent: "robot/v1.0 (linux/amd64)".to_owned(),
            };
            let record = auditor.begin(&attributes, info, true).expect("a record");
            record.stage(Stage::RequestReceived, Vec::new()).await;
            tokio::task::yield_now().await;
            record.response(ResponseStatus::of_code(200));
            let decision = ("authorization.k8s.io/decision".into(), "allow".to_owned());
            record.stage(Stage::ResponseComplete, vec![decision]).await;
        } else {
            tokio::task::yield_now().await;
        }
    }
}

/// The CPU time of the process; its resolution is 10 ms.
fn cpu_us() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) * 10_000
}

/// The context switches of the process's threads.
fn switches() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of_task = |task: std::fs::DirEntry| {
        let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
        lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum::<u64>()
    };
    tasks.map(of_task).sum()
}
