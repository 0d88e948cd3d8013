//! An unmodified kubectl against the real binary: tables of command lines, their exit codes and output. Guarantees that common
//! commands work on the kinds of every group. Must never be skipped silently: without kubectl a message is printed, and on CI
//! it fails.

use crate::common::kubectl::{Kubectl, said};
use crate::common::wait_for;
use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

/// A server, and kubectl run where the manifests are.
fn start() -> Option<Kubectl> {
    let kubectl = Kubectl::start()?.within(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/whole_server/kubectl"));
    // Pods need it. Where no controller makes it, the test does; either may be first.
    kubectl.output("create serviceaccount default");
    kubectl.run("get serviceaccount default");
    Some(kubectl)
}

/// A command in the background, killed when dropped.
struct Background {
    child: Child,
    output: PathBuf,
}

impl Background {
    fn start(kubectl: &Kubectl, line: &str) -> Background {
        let output = kubectl.installation.path("background");
        let file = std::fs::File::create(&output).expect("a file");
        let child = kubectl.command(line).stdin(Stdio::null()).stdout(file).spawn().expect("kubectl runs");
        Background { child, output }
    }

    fn wait_for(&self, part: &str) {
        wait_for(part, || {
            let text = std::fs::read_to_string(&self.output).unwrap_or_default();
            text.contains(part).then_some(())
        });
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_server_tells_what_it_is_and_what_it_has() {
    let Some(kubectl) = start() else { return };
    kubectl.table(&[
        ("version", 0, &["Server Version: v1.36"], &[]),
        ("cluster-info", 0, &["Kubernetes control plane", "is running at", "https://127.0.0.1:"], &[]),
        ("get --raw /readyz", 0, &["ok"], &[]),
        ("api-versions", 0, &["\nv1\n", "apps/v1\n", "batch/v1\n", "rbac.authorization.k8s.io/v1\n"], &["v1alpha1"]),
        ("api-resources", 0, &["configmaps", "deployments", "deploy", "StorageClass", "apps/v1"], &[]),
        ("api-resources --api-group=apps -o name", 0, &["deployments.apps", "statefulsets.apps"], &["pods"]),
        (
            "api-resources --namespaced=false -o wide",
            0,
            &["nodes", "create,delete,deletecollection,get"],
            &["configmaps"],
        ),
        ("explain pods", 0, &["KIND:       Pod", "VERSION:    v1", "spec\t<PodSpec>"], &[]),
        (
            "explain deployments.spec.replicas",
            0,
            &["GROUP:      apps", "FIELD: replicas <integer>", "DESCRIPTION:"],
            &[],
        ),
        (
            "explain pods.spec.containers --recursive",
            0,
            &["FIELD: containers <[]Container>", "containerPort\t<integer> -required-", "envFrom\t<[]EnvFromSource>"],
            &[],
        ),
        ("explain pods.spec.restartPolicy", 0, &["ENUM:", "OnFailure"], &[]),
        ("explain deploy.spec.nosuch", 1, &["field \"nosuch\" does not exist"], &[]),
        ("explain cronjobs.spec.jobTemplate.spec --api-version=batch/v1", 0, &["<JobSpec>", "backoffLimit"], &[]),
        ("auth whoami", 0, &["pintle-admin", "system:masters", "system:authenticated"], &[]),
        ("auth can-i create deployments", 0, &["yes"], &[]),
        ("auth can-i '*' '*' --all-namespaces", 0, &["yes"], &[]),
        ("auth can-i --list", 0, &["Resources", "*.*", "[*]"], &[]),
        ("get namespaces", 0, &["default", "kube-system", "kube-public", "kube-node-lease", "Active"], &[]),
        ("get all -A", 0, &["service/kubernetes"], &[]),
        ("get clusterroles", 0, &["cluster-admin", "system:node"], &[]),
        ("get nosuchthings", 1, &["the server doesn't have a resource type \"nosuchthings\""], &[]),
        ("get pods nobody", 1, &["Error from server (NotFound): pods \"nobody\" not found"], &[]),
        ("get pods", 0, &["No resources found in default namespace."], &[]),
        ("get pods --token=wrong --kubeconfig=/dev/null --server=http://127.0.0.1:1", 1, &["refused"], &[]),
    ]);
}

#[test]
fn create_and_every_form_of_get() {
    let Some(kubectl) = start() else { return };
    kubectl.table(&[
        (
            "create configmap colors --from-literal=sky=blue --from-literal=grass=green",
            0,
            &["configmap/colors created"],
            &[],
        ),
        ("create configmap colors", 1, &["configmaps \"colors\" already exists"], &[]),
        ("create deployment made --image=main:1 --replicas=2 --port=80", 0, &["deployment.apps/made created"], &[]),
        ("create secret generic hidden --from-literal=a=b", 0, &["secret/hidden created"], &[]),
        ("create namespace other", 0, &["namespace/other created"], &[]),
        ("create serviceaccount robot -n other", 0, &["serviceaccount/robot created"], &[]),
        ("create -n nowhere configmap x", 1, &["namespaces \"nowhere\" not found"], &[]),
        ("create role r --verb=get --resource=pods", 0, &["role.rbac.authorization.k8s.io/r created"], &[]),
        ("create job once --image=main:1", 0, &["job.batch/once created"], &[]),
        ("create cronjob often --image=main:1 --schedule='*/5 * * * *'", 0, &["cronjob.batch/often created"], &[]),
        ("create quota q --hard=pods=3", 0, &["resourcequota/q created"], &[]),
        ("create priorityclass high --value=10", 0, &["priorityclass.scheduling.k8s.io/high created"], &[]),
        (
            "create poddisruptionbudget p --selector=a=b --min-available=1",
            0,
            &["poddisruptionbudget.policy/p created"],
            &[],
        ),
        ("create ingress i --rule='a.example.com/*=made:80'", 0, &["ingress.networking.k8s.io/i created"], &[]),
        ("run one --image=main:1 --labels=app=one", 0, &["pod/one created"], &[]),
        ("expose deployment made --port=80", 0, &["service/made exposed"], &[]),
        ("autoscale deployment made --max=3", 0, &["autoscaled"], &[]),
        ("get configmap colors", 0, &["NAME", "DATA", "AGE", "colors", "2"], &[]),
        (
            "get cm/colors -o yaml",
            0,
            &["apiVersion: v1\n", "sky: blue\n", "kind: ConfigMap\n", "uid: "],
            &["managedFields"],
        ),
        ("get cm/colors -o json", 0, &["\"kind\": \"ConfigMap\"", "\"grass\": \"green\""], &[]),
        ("get cm/colors -o name", 0, &["configmap/colors\n"], &[]),
        ("get cm/colors -o jsonpath='{.data.sky} {.metadata.namespace}'", 0, &["blue default"], &[]),
        ("get cm/colors -o go-template='{{.data.grass}}'", 0, &["green"], &[]),
        ("get cm -o custom-columns=WHO:.metadata.name,SKY:.data.sky", 0, &["WHO", "SKY", "colors", "blue"], &[]),
        ("get deployments -o wide", 0, &["UP-TO-DATE", "CONTAINERS", "IMAGES", "SELECTOR", "main:1", "app=made"], &[]),
        (
            "get deploy,svc,hpa",
            0,
            &["deployment.apps/made", "0/2", "service/made", "horizontalpodautoscaler.autoscaling/made"],
            &[],
        ),
        ("get pods -o wide", 0, &["NOMINATED NODE", "READINESS GATES", "one", "0/1", "Pending", "<none>"], &[]),
        ("get pods --show-labels -L app", 0, &["LABELS", "APP", "app=one"], &[]),
        ("get pods -l app=one -o name", 0, &["pod/one"], &[]),
        ("get pods -l app!=one", 0, &["No resources found"], &[]),
        ("get pods --field-selector=status.phase=Pending -o name", 0, &["pod/one"], &[]),
        ("get pods --field-selector=metadata.name=two", 0, &["No resources found"], &[]),
        ("get sa -A", 0, &["NAMESPACE", "other", "robot"], &[]),
        ("get cm --sort-by=.metadata.name --chunk-size=1", 0, &["colors"], &[]),
        ("get cm --no-headers", 0, &["colors"], &["NAME"]),
        ("get pods,cm one colors", 1, &["not found"], &[]),
        ("get pod/one cm/colors", 0, &["pod/one", "configmap/colors"], &[]),
        ("get pod/one --ignore-not-found -o jsonpath='{.spec.terminationGracePeriodSeconds}'", 0, &["30"], &[]),
        ("get cronjob often", 0, &["*/5 * * * *", "SUSPEND", "False"], &[]),
        ("get ingress i", 0, &["a.example.com", "80"], &[]),
        ("get deploy made --show-managed-fields -o yaml", 0, &["kind: Deployment"], &[]),
        ("describe pod one", 0, &["Service Account:  default", "app=one", "main:1", "Pending", "Events:"], &[]),
        (
            "describe deployment made",
            0,
            &[
                "Replicas:               2 desired",
                "StrategyType:           RollingUpdate",
                "25% max unavailable",
                "Image:",
            ],
            &[],
        ),
        ("describe service made", 0, &["Selector:", "app=made", "Port:", "80/TCP"], &[]),
        ("describe configmap colors", 0, &["sky:\n----\nblue", "Data"], &[]),
        ("describe secret hidden", 0, &["a:  1 bytes"], &[]),
        ("describe namespace other", 0, &["Status:       Active"], &[]),
        ("describe job once", 0, &["Parallelism:", "Completion Mode:  NonIndexed"], &[]),
        ("describe cronjob often", 0, &["Schedule:", "Concurrency Policy:", "Allow"], &[]),
        ("describe hpa made", 0, &["Reference:", "Deployment/made"], &[]),
        ("describe ingress i", 0, &["a.example.com", "made:80"], &[]),
        ("describe role r", 0, &["pods", "[get]"], &[]),
        ("describe quota q", 0, &["q"], &[]),
    ]);
}

#[test]
fn apply_diff_and_dry_run() {
    let Some(kubectl) = start() else { return };
    kubectl.installation.scratch.write(
        "changed.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: red, shape: round}\n",
    );
    kubectl.installation.scratch.write(
        "misspelt.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: bad}\nspec:\n  replica: 2\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers: [{name: c, image: i, imagePullPolcy: Always}]\n",
    );
    kubectl.table(&[
        ("apply -f apps.yaml", 0, &["deployment.apps/web created", "daemonset.apps/agent created"], &[]),
        (
            "apply -f apps.yaml",
            0,
            &["deployment.apps/web unchanged", "statefulset.apps/db unchanged", "replicaset.apps/set unchanged"],
            &["configured", "created"],
        ),
        ("apply -f core.yaml", 0, &["configmap/settings created", "service/front created", "node/worker created"], &[]),
        (
            "apply -f core.yaml",
            0,
            &["configmap/settings unchanged", "service/front unchanged", "pod/single unchanged"],
            &["created"],
        ),
        ("diff -f apps.yaml", 0, &[], &["+"]),
        ("diff -f {folder}/changed.yaml", 1, &["-  color: blue", "+  color: red", "+  shape: round"], &[]),
        (
            "apply -f {folder}/changed.yaml --dry-run=server",
            0,
            &["configmap/settings configured (server dry run)"],
            &[],
        ),
        ("get cm settings -o jsonpath='{.data}'", 0, &["{\"color\":\"blue\"}"], &[]),
        ("apply -f {folder}/changed.yaml", 0, &["configmap/settings configured"], &[]),
        ("get cm settings -o jsonpath='{.data}'", 0, &["\"color\":\"red\"", "\"shape\":\"round\""], &[]),
        ("apply -f core.yaml", 0, &["configmap/settings configured"], &[]),
        ("get cm settings -o jsonpath='{.data}'", 0, &["{\"color\":\"blue\"}"], &[]),
        ("apply view-last-applied cm settings", 0, &["color: blue"], &[]),
        (
            "create configmap ghost --from-literal=a=b --dry-run=server",
            0,
            &["configmap/ghost created (server dry run)"],
            &[],
        ),
        ("create configmap ghost --from-literal=a=b --dry-run=server -o yaml", 0, &["uid: ", "name: ghost"], &[]),
        ("get cm ghost", 1, &["NotFound"], &[]),
        ("delete cm settings --dry-run=server", 0, &["configmap \"settings\" deleted (server dry run)"], &[]),
        ("get cm settings", 0, &["settings"], &[]),
        ("label cm settings x=y --dry-run=server", 0, &["labeled (server dry run)"], &[]),
        ("get cm settings --show-labels", 0, &["<none>"], &[]),
        (
            "apply -f {folder}/misspelt.yaml --validate=strict",
            1,
            &[
                "strict decoding error",
                "unknown field \"spec.replica\"",
                "unknown field \"spec.template.spec.containers[0].imagePullPolcy\"",
            ],
            &[],
        ),
        ("create -f {folder}/misspelt.yaml --validate=strict", 1, &["unknown field \"spec.replica\""], &[]),
        (
            "create -f {folder}/misspelt.yaml --validate=warn",
            0,
            &["Warning: unknown field \"spec.replica\"", "deployment.apps/bad created"],
            &[],
        ),
        (
            "apply -f {folder}/misspelt.yaml --validate=ignore",
            0,
            &["deployment.apps/bad configured"],
            &["unknown field"],
        ),
        (
            "replace --force -f {folder}/changed.yaml",
            0,
            &["configmap \"settings\" deleted", "configmap/settings replaced"],
            &[],
        ),
        (
            "delete -f core.yaml -f apps.yaml --ignore-not-found --wait=false",
            0,
            &["pod \"single\" deleted", "deployment.apps \"web\" deleted"],
            &[],
        ),
        ("get -f apps.yaml", 1, &["NotFound"], &[]),
    ]);
}

#[test]
fn changes() {
    let Some(kubectl) = start() else { return };
    kubectl.run("create -f apps.yaml -f core.yaml");
    let replaced = kubectl.run("get cm settings -o yaml").replace("blue", "gray");
    kubectl.installation.scratch.write("replaced.yaml", &replaced);
    kubectl.table(&[
        ("label deployment web tier=front", 0, &["deployment.apps/web labeled"], &[]),
        ("label deployment web tier=back", 1, &["already has a value (front)"], &[]),
        ("label deployment web tier=back --overwrite", 0, &["labeled"], &[]),
        ("label cm --all all=yes", 0, &["configmap/settings labeled"], &[]),
        ("get deploy -l tier=back -o name", 0, &["deployment.apps/web"], &[]),
        ("label deployment web tier-", 0, &["unlabeled"], &[]),
        ("label deployment web 'not a label=x'", 1, &["metadata.labels: Invalid value: \"not a label\""], &[]),
        ("annotate cm settings note='a note'", 0, &["configmap/settings annotated"], &[]),
        ("get cm settings -o jsonpath='{.metadata.annotations.note}'", 0, &["a note"], &[]),
        ("annotate cm settings note-", 0, &["annotated"], &[]),
        ("patch cm settings --type=merge -p '{\"data\":{\"size\":\"big\"}}'", 0, &["configmap/settings patched"], &[]),
        ("patch cm settings --type=merge -p '{\"data\":{\"size\":\"big\"}}'", 0, &["patched (no change)"], &[]),
        ("patch cm settings --type=json -p '[{\"op\":\"replace\",\"path\":\"/data/size\",\"value\":\"small\"}]'", 0, &["patched"], &[]),
        ("patch cm settings --type=json -p '[{\"op\":\"test\",\"path\":\"/data/size\",\"value\":\"huge\"}]'", 1, &["the server rejected our request"], &[]),
        ("get cm settings -o jsonpath='{.data.size} {.data.color}'", 0, &["small blue"], &[]),
        ("patch deployment web -p '{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"side\",\"image\":\"side:1\"}]}}}}'", 0, &["patched"], &[]),
        ("get deploy web -o jsonpath='{.spec.template.spec.containers[*].name}'", 0, &["side main"], &[]),
        ("patch deployment web --subresource=status --type=merge -p '{\"status\":{\"observedGeneration\":1}}'", 0, &["patched"], &[]),
        ("get deploy web --subresource=status -o jsonpath='{.status.observedGeneration}'", 0, &["1"], &[]),
        ("edit cm settings", 0, &["configmap/settings edited"], &[]),
        ("get cm settings -o jsonpath='{.data.color}'", 0, &["green"], &[]),
        ("edit cm settings", 0, &["Edit cancelled, no changes made."], &[]),
        ("replace -f {folder}/replaced.yaml", 1, &["Error from server (Conflict)", "the object has been modified; please apply your changes to the latest version and try again"], &[]),
        ("replace -f apps.yaml", 0, &["deployment.apps/web replaced", "controllerrevision.apps/revision replaced"], &[]),
        ("scale deployment web --replicas=5", 0, &["deployment.apps/web scaled"], &[]),
        ("scale deployment web --replicas=7 --current-replicas=4", 1, &["Expected replicas to be 4, was 5"], &[]),
        ("scale rs/set rc/old sts/db --replicas=3", 0, &["replicaset.apps/set scaled", "replicationcontroller/old scaled", "statefulset.apps/db scaled"], &[]),
        ("get deploy/web sts/db -o jsonpath='{.items[*].spec.replicas}'", 0, &["5 3"], &[]),
        ("scale deployment web --replicas=-1", 1, &["replica"], &[]),
        ("set image deployment/web main=main:9", 0, &["deployment.apps/web image updated"], &[]),
        ("set image deployment/web nobody=main:9", 1, &["unable to find container named \"nobody\""], &[]),
        ("set env deployment/web A=b", 0, &["deployment.apps/web env updated"], &[]),
        ("set resources deployment/web --limits=cpu=1500m,memory=1024Mi", 0, &["resource requirements updated"], &[]),
        ("get deploy web -o jsonpath='{.spec.template.spec.containers[0]}'", 0, &["\"main:9\"", "{\"name\":\"A\",\"value\":\"b\"}", "\"cpu\":\"1500m\"", "\"memory\":\"1Gi\""], &[]),
        ("set selector service front app=web", 0, &["service/front selector updated"], &[]),
        ("set serviceaccount deployment web robot", 0, &["serviceaccount updated"], &[]),
        ("rollout restart deployment web", 0, &["deployment.apps/web restarted"], &[]),
        ("rollout pause deployment web", 0, &["deployment.apps/web paused"], &[]),
        ("rollout resume deployment web", 0, &["deployment.apps/web resumed"], &[]),
        ("cordon worker", 0, &["node/worker cordoned"], &[]),
        ("get node worker", 0, &["SchedulingDisabled"], &[]),
        ("uncordon worker", 0, &["node/worker uncordoned"], &[]),
        ("taint node worker a=b:NoSchedule", 0, &["node/worker tainted"], &[]),
        ("describe node worker", 0, &["Taints:             a=b:NoSchedule", "Unschedulable:      false"], &[]),
        ("taint node worker a-", 0, &["node/worker untainted"], &[]),
    ]);
}

#[test]
fn deletes() {
    let Some(kubectl) = start() else { return };
    kubectl.run("create -f apps.yaml -f core.yaml -f batch.yaml");
    kubectl.run("create configmap held");
    kubectl.run(r#"patch cm held --type=merge -p '{"metadata":{"finalizers":["example.com/hold"]}}'"#);
    kubectl.table(&[
        ("delete cm nobody", 1, &["(NotFound)"], &[]),
        ("delete cm nobody --ignore-not-found", 0, &[], &[]),
        ("delete pod single --wait=true --timeout=50s", 0, &["pod \"single\" deleted"], &[]),
        ("delete deployment web --wait=false", 0, &["deployment.apps \"web\" deleted"], &[]),
        ("delete rs set --cascade=foreground --wait=false", 0, &["replicaset.apps \"set\" deleted"], &[]),
        ("delete sts/db ds/agent --now", 0, &["deleted"], &[]),
        ("delete job once", 0, &["job.batch \"once\" deleted"], &[]),
        ("delete svc -l app=nothing", 0, &["No resources found"], &[]),
        ("delete secrets --all", 0, &["secret \"password\" deleted"], &[]),
        ("delete svc front --grace-period=0 --force", 0, &["service \"front\" force deleted"], &[]),
        ("delete cm held --wait=true --timeout=1s", 1, &["timed out waiting for the condition"], &[]),
        (
            "get cm held -o jsonpath='{.metadata.deletionTimestamp} {.metadata.finalizers}'",
            0,
            &["Z [\"example.com/hold\"]"],
            &[],
        ),
        ("patch cm held --type=merge -p '{\"metadata\":{\"finalizers\":null}}'", 0, &["patched"], &[]),
        ("get cm held", 1, &["NotFound"], &[]),
        ("wait --for=delete cm/held --timeout=50s", 0, &[], &[]),
        ("get pods,deploy,sts,ds,jobs", 0, &["No resources found"], &[]),
    ]);
}

#[test]
fn rollout_history_and_undo() {
    let Some(kubectl) = start() else { return };
    kubectl.run("create -f apps.yaml");
    // What the deployment's controller would have left: a ReplicaSet for each of two revisions.
    let uid = kubectl.run("get deployment web -o jsonpath='{.metadata.uid}'");
    let revision = |number: u32| {
        format!(
            "apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-{number}
  labels: {{app: web, pod-template-hash: h{number}}}
  annotations: {{deployment.kubernetes.io/revision: '{number}', kubernetes.io/change-cause: 'change {number}'}}
  ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: web, uid: {uid}, controller: true}}]
spec:
  selector: {{matchLabels: {{app: web, pod-template-hash: h{number}}}}}
  template:
    metadata: {{labels: {{app: web, pod-template-hash: h{number}}}}}
    spec:
      containers: [{{name: main, image: 'main:{number}'}}]
---
"
        )
    };
    kubectl.installation.scratch.write("revisions.yaml", &(revision(1) + &revision(2)));
    kubectl.table(&[
        (
            "create -f {folder}/revisions.yaml",
            0,
            &["replicaset.apps/web-1 created", "replicaset.apps/web-2 created"],
            &[],
        ),
        ("set image deployment/web main=main:2", 0, &["image updated"], &[]),
        ("rollout history deployment web", 0, &["REVISION", "change 1", "change 2"], &[]),
        ("rollout history deployment web --revision=1", 0, &["with revision #1", "main:1"], &["main:2"]),
        ("rollout undo deployment web --to-revision=1", 0, &["deployment.apps/web rolled back"], &[]),
        (
            "get deploy web -o jsonpath='{.spec.template.spec.containers[0].image} {.spec.template.metadata.labels}'",
            0,
            &["main:1 {\"app\":\"web\"}"],
            &[],
        ),
        ("rollout undo deployment web --to-revision=9", 1, &["unable to find specified revision 9 in history"], &[]),
        ("rollout history daemonset agent", 0, &["daemonset.apps/agent"], &[]),
    ]);
}

#[test]
fn watching_and_events() {
    let Some(kubectl) = start() else { return };
    kubectl.run("create configmap first --from-literal=a=b");
    let watch = Background::start(&kubectl, "get cm -w -o custom-columns=NAME:.metadata.name,A:.data.a --no-headers");
    watch.wait_for("first");
    kubectl.run("create configmap second --from-literal=a=one");
    watch.wait_for("second   one");
    kubectl.run(r#"patch cm second --type=merge -p '{"data":{"a":"two"}}'"#);
    watch.wait_for("second   two");
    drop(watch);
    let table = Background::start(&kubectl, "get deployments --watch --output-watch-events");
    kubectl.run("create -f apps.yaml");
    table.wait_for("ADDED      web    0/2");
    kubectl.run("scale deployment web --replicas=4");
    table.wait_for("MODIFIED   web    0/4");
    kubectl.run("delete deployment web");
    table.wait_for("DELETED    web");
    drop(table);
    let waiting = Background::start(&kubectl, "wait --for=jsonpath='{.data.a}'=three cm/second --timeout=60s");
    kubectl.run(r#"patch cm second --type=merge -p '{"data":{"a":"three"}}'"#);
    waiting.wait_for("condition met");
    drop(waiting);
    kubectl.run("create -f core.yaml");
    kubectl.table(&[
        ("events", 0, &["REASON", "Happened", "Pod/single", "it happened"], &[]),
        ("events --for=pod/single --types=Normal", 0, &["it happened"], &[]),
        ("events --types=Warning", 0, &["No events found"], &[]),
        ("get events --field-selector=involvedObject.name=single -o name", 0, &["event/happened"], &[]),
        ("get events.events.k8s.io", 0, &["Happened", "pod/single"], &[]),
    ]);
}

#[test]
fn kinds_of_every_group() {
    let Some(kubectl) = start() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/whole_server/kubectl");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("manifests").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    assert!(files.len() >= 8, "{files:?}");
    for file in files {
        let kinds = std::fs::read_to_string(&file).expect("a manifest").matches("\nkind: ").count();
        let file = file.display();
        let created = kubectl.run(&format!("create -f {file}"));
        assert_eq!(created.matches(" created\n").count(), kinds, "{file}: {created}");
        let names = names_of(&kubectl, &format!("get -f {file} -o name"));
        assert_eq!(names.len(), kinds, "{file}: {names:?}");
        let table = kubectl.run(&format!("get -f {file}"));
        assert!(names.iter().all(|name| name.starts_with("event") || table.contains(name.as_str())), "{file}: {table}");
        // What is read can be written back, unless a controller has written meanwhile, such as the usage of a quota.
        let replaced = crate::common::wait_for("all is written back", || {
            let read = kubectl.output(&format!("get -f {file} -o json"));
            let output = piped(&kubectl, &read.stdout, "replace -f -");
            let said = said(&output);
            assert!(output.status.success() || said.contains("(Conflict)"), "kubectl replace: {said}");
            output.status.success().then_some(said)
        });
        assert_eq!(replaced.matches(" replaced\n").count(), kinds, "{file}: {replaced}");
        let deleted = kubectl.run(&format!("delete -f {file} --wait=false"));
        assert_eq!(deleted.matches(" deleted\n").count(), kinds, "{file}: {deleted}");
        // Volumes and claims are held until their controller finds them out of use; a definition ends by itself meanwhile.
        let left = format!("get -f {file} --ignore-not-found -o name");
        for held in names_of(&kubectl, &left) {
            kubectl.output(&format!(r#"patch {held} --type=merge -p '{{"metadata":{{"finalizers":null}}}}'"#));
        }
        crate::common::wait_for("nothing is left", || names_of(&kubectl, &left).is_empty().then_some(()));
    }
}

/// What a command prints with `-o name`, without warnings.
fn names_of(kubectl: &Kubectl, line: &str) -> Vec<String> {
    let said = kubectl.run(line);
    said.lines().filter(|line| !line.starts_with("Warning")).map(str::to_owned).collect()
}

/// Runs a command with this input.
fn piped(kubectl: &Kubectl, input: &[u8], line: &str) -> Output {
    let mut command = kubectl.command(line);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("kubectl");
    child.stdin.take().expect("its input").write_all(input).expect("written");
    child.wait_with_output().expect("an end")
}

#[test]
fn forbidden_changes_are_rejected() {
    let Some(kubectl) = start() else { return };
    kubectl.table(&[
        ("delete ns default", 1, &["(Forbidden)", "this namespace may not be deleted"], &[]),
        ("label ns default pod-security.kubernetes.io/enforce=baseline", 0, &["namespace/default labeled"], &[]),
        (
            "run root --image=i --privileged",
            1,
            &["(Forbidden)", "violates PodSecurity \"baseline:latest\": privileged"],
            &[],
        ),
        ("run modest --image=i", 0, &["pod/modest created"], &["Warning"]),
        ("label ns default pod-security.kubernetes.io/warn=restricted", 0, &[], &[]),
        ("run warned --image=i", 0, &["Warning: would violate PodSecurity \"restricted:latest\""], &[]),
    ]);
}

#[test]
fn acting_as_somebody_else() {
    let Some(kubectl) = start() else { return };
    kubectl.table(&[
        ("auth whoami --as=joe --as-group=g --as-uid=1", 0, &["joe", "[g system:authenticated]"], &["system:masters"]),
        ("auth can-i list secrets --as=joe", 1, &["no"], &["yes"]),
        ("create clusterrole reader --verb=list --resource=secrets", 0, &["created"], &[]),
        ("create rolebinding readers --clusterrole=reader --group=g", 0, &["created"], &[]),
        ("auth can-i list secrets --as=joe --as-group=g", 0, &["yes"], &["no"]),
        ("get secrets --as=joe --as-group=g", 0, &["No resources found"], &[]),
        (
            "get secrets --as=joe --as-group=h",
            1,
            &["(Forbidden)", "User \"joe\" cannot list resource \"secrets\""],
            &[],
        ),
        (
            "get configmaps --as=system:serviceaccount:default:x",
            1,
            &["\"system:serviceaccount:default:x\" cannot list"],
            &[],
        ),
    ]);
}

#[test]
fn no_user_grants_more_than_they_hold() {
    let Some(kubectl) = start() else { return };
    const MISSING: &str = "is attempting to grant RBAC permissions not currently held";
    kubectl.table(&[
        ("create role writer --verb=create,update,patch,get --resource=roles,rolebindings", 0, &["created"], &[]),
        ("create rolebinding writers --role=writer --user=joe", 0, &["created"], &[]),
        ("create role reader --verb=get,list --resource=pods", 0, &["created"], &[]),
        ("create rolebinding a --role=reader --user=joe --as=joe", 1, &[MISSING, "Resources:[\"pods\"]"], &[]),
        ("create rolebinding a --role=nothing --user=joe --as=joe", 1, &["\"nothing\" not found"], &[]),
        ("create rolebinding a --clusterrole=cluster-admin --user=joe --as=joe", 1, &[MISSING], &[]),
        ("create role all --verb=* --resource=secrets --as=joe", 1, &[MISSING, "Verbs:[\"*\"]"], &[]),
        ("create role own --verb=get --resource=roles --as=joe", 0, &["created"], &[]),
        ("label role own a=b --as=joe", 0, &["labeled"], &[]),
        (r#"patch role reader --type=json -p [{"op":"add","path":"/metadata/finalizers","value":["a.io/b"]}] --as=joe"#, 0, &["patched"], &[]),
        ("label role reader a=b --as=joe", 1, &[MISSING], &[]),
        ("create role binder --verb=bind --resource=roles --resource-name=reader", 0, &["created"], &[]),
        ("create rolebinding binders --role=binder --user=joe", 0, &["created"], &[]),
        ("create rolebinding a --role=reader --user=joe --as=joe", 0, &["created"], &[]),
        ("create role escalator --verb=escalate --resource=roles", 0, &["created"], &[]),
        ("create rolebinding escalators --role=escalator --user=joe", 0, &["created"], &[]),
        ("create role all --verb=* --resource=secrets --as=joe", 0, &["created"], &[]),
    ]);
}
