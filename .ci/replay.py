"""Replays recorded answers against a server and compares the share that agrees with the floors.

A floor is a line `<area> <percent>`: an area is a folder of contract cases, or a suite of the oracle at a level. An
area that falls below its floor is replayed once more on its own, since some cases depend on timing; if it is still
below, the run fails. `--raise` writes the rates that have risen. What did not agree stands in the logs, case by case.

With `--etcd` the contract cases are replayed on a server that keeps its objects there, too: there each area's floor is what
the same run gave on the store of the server's own, unless a line `etcd: <area> <percent>` says otherwise.
"""
import argparse
import concurrent.futures
import contextlib
import json
import math
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

# The users that the cases were recorded with.
TOKENS = """admin-token,admin,admin-uid,"system:masters"
alice-token,alice,alice-uid,"developers,testers"
bob-token,bob,bob-uid,"viewers"
node-token,system:node:node-1,node-1-uid,"system:nodes"
"""

# Folders of contract cases that one server takes in any order and in parallel.
CONFORMANCE = (
    "concepts/deletion", "concepts/discovery", "concepts/dry-run", "concepts/field-validation", "concepts/lists",
    "concepts/representations", "concepts/verbs-and-uris", "concepts/watches",
    "apply",
    "extend/access", "extend/aggregation", "extend/allocations", "extend/builtin-admission", "extend/crds",
    "extend/policies", "extend/webhooks",
)
# Cases that each set a default of the whole cluster: one at a time, when nothing else is replayed.
ALONE = ("conformance-alone", ["extend/alone"], 1, 120)
# Cases one at a time, for a server with more plugins of admission than are on by default.
WITH_FLAGS = "extend/with-flags"
PLUGINS = (
    "NodeRestriction", "AlwaysPullImages", "OwnerReferencesPermissionEnforcement", "DenyServiceExternalIPs",
    "ExtendedResourceToleration", "PodNodeSelector", "PodTolerationRestriction", "LimitPodHardAntiAffinityTopology",
    "NamespaceAutoProvision", "EventRateLimit",
)
PLUGIN_SETTINGS = """apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: EventRateLimit
  configuration:
    apiVersion: eventratelimit.admission.k8s.io/v1alpha1
    kind: Configuration
    limits: [{type: Namespace, qps: 1, burst: 3, cacheSize: 1000}]
- name: PodNodeSelector
  configuration: {podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: ""}}
"""
# Suite, level, instance. The suite `versions` was recorded only from the instance with every API on.
ORACLE = (
    ("create", "code", "default"), ("create", "causes", "default"), ("create", "full", "default"),
    ("update", "code", "default"), ("update", "causes", "default"), ("update", "full", "default"),
    ("create", "code", "all"), ("update", "code", "all"), ("versions", "full", "all"),
)
# Kinds of CEL cases, the largest first; all on one server.
CEL = ("eval", "compile", "post", "update", "admit", "mutate")
# Cases with a backend: the program starts a server of its own for each group.
BACKENDS = "backends"
BACKENDS_SERVER = (
    "exec %s serve --bind-address 127.0.0.1 --secure-port {port} --data-dir {dir}/data --cert-dir {dir}/certs"
    " --token-auth-file {tokens} --service-account-key-file {sa_key} --service-account-signing-key-file {sa_key}"
    " --controllers= {flags}")
# Before an area's name: replayed on etcd.
ON_ETCD = "etcd: "
EVERYTHING_ON = ["--runtime-config=api/all=true", "--feature-gates=AllAlpha=false,AllBeta=true"]
# A group of contract cases mostly waits; the extensions wait longest.
CONFORMANCE_SECONDS = 300
AGAIN_SECONDS = 120
ORACLE_SECONDS = 240
CEL_SECONDS = 300
BACKENDS_SECONDS = 600
# A replay of those cases: its log, areas, jobs and time.
FLAGGED = ("conformance-with-flags", [WITH_FLAGS], 1, AGAIN_SECONDS)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Etcd:
    """An etcd of one member on free ports, with its own data, until the `with` block ends."""

    def __init__(self, binary):
        self.binary = binary

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="pintle-replay-etcd-")
        self.url, peer = ("http://127.0.0.1:%d" % free_port() for _ in range(2))
        self.log = open(os.path.join(self.dir, "log"), "w")
        # A server waits for it by itself.
        self.process = subprocess.Popen(
            [self.binary, "--data-dir", os.path.join(self.dir, "data"),
             "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer],
            stdout=self.log, stderr=self.log)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)


class Server:
    """A server on a free port, with its own data, until the `with` block ends. As when the cases were recorded, no
    controllers run."""

    def __init__(self, binary, *flags, plugins=()):
        self.binary, self.flags, self.plugins, self.process = binary, list(flags), plugins, None

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="pintle-replay-")
        self.tokens = self.file("tokens.csv")
        with open(self.tokens, "w") as f:
            f.write(TOKENS)
        key = self.file("sa.key")
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, stderr=subprocess.DEVNULL)
        if self.plugins:
            settings = self.file("admission.yaml")
            with open(settings, "w") as f:
                f.write(PLUGIN_SETTINGS)
            self.flags += ["--enable-admission-plugins", ",".join(self.plugins),
                           "--admission-control-config-file", settings, "--advertise-address", "10.9.8.7"]
        port = free_port()
        self.url = "https://127.0.0.1:%d" % port
        self.log = open(self.file("log"), "w+")
        self.process = subprocess.Popen(
            [self.binary, "serve", "--bind-address", "127.0.0.1", "--secure-port", str(port),
             "--data-dir", self.file("data"), "--cert-dir", self.file("certs"), "--token-auth-file", self.tokens,
             "--authorization-mode", "Node,RBAC", "--service-cluster-ip-range", "10.0.0.0/24",
             "--allow-privileged=true", "--controllers=", "--service-account-issuer", "https://kubernetes.default.svc",
             "--service-account-key-file", key, "--service-account-signing-key-file", key] + self.flags,
            stdout=self.log, stderr=self.log)
        try:
            self.wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def file(self, name):
        return os.path.join(self.dir, name)

    def wait_until_ready(self):
        context = ssl._create_unverified_context()
        end = time.monotonic() + 30
        while True:
            try:
                with urllib.request.urlopen(self.url + "/readyz", timeout=5, context=context):
                    return
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.log.seek(0)
                    sys.exit("the server does not get ready: %s\n%s" % (error, self.log.read()))
                time.sleep(0.05)

    def alive(self):
        return self.process.poll() is None

    def __exit__(self, *_):
        if self.process and self.alive():
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)


class Replays:
    def __init__(self, recorded, logs):
        self.recorded, self.logs = recorded, logs

    def run(self, name, seconds, command, **environment):
        """Runs a replay with its output in a log; -> what it reported as JSON, or None, and its last line."""
        log, report = (os.path.join(self.logs, name + end) for end in (".log", ".json"))
        if os.path.exists(report):
            os.remove(report)
        with open(log, "w") as f:
            try:
                subprocess.run([sys.executable] + command + ["--json", os.path.abspath(report)], cwd=self.recorded,
                               env=dict(os.environ, **environment), stdout=f, stderr=f, timeout=seconds)
            except subprocess.TimeoutExpired:
                print("%s: stopped after %d s" % (name, seconds), file=f)
        if not os.path.exists(report):
            return None, last_line(log)
        with open(report) as f:
            return json.load(f), last_line(log)

    def every_conformance(self, server, prefix=""):
        """Group by group, so that one that does not end leaves the others their results. -> {area: (passed, of)}"""
        out = {}
        for group in sorted({area.split("/")[0] for area in CONFORMANCE}):
            areas = [area for area in CONFORMANCE if area.split("/")[0] == group]
            out.update(self.conformance(server, "conformance-" + group, areas, 12, CONFORMANCE_SECONDS, prefix))
        return out

    def conformance(self, server, name, areas, jobs, seconds, prefix=""):
        """-> {area: (passed, of)}, with a prefix before the names of areas and of the log."""
        report, _ = self.run(log_name(prefix + name), seconds, [
            "conform.py", "replay", "--server", server.url, "--token-file", server.tokens, "--jobs", str(jobs), "-v",
        ] + ["conformance/" + area for area in areas])
        out = {}
        for area in areas:
            cases = [bad for path, bad in (report or {}).items() if path.startswith("conformance/" + area + "/")]
            out[prefix + area] = (sum(not bad for bad in cases), len(cases))
        return out

    def oracle(self, server, suite, level, instance, jobs):
        """-> (passed, of)"""
        name = "oracle-%s-%s-%s" % (suite, level, instance)
        _, last = self.run(name, ORACLE_SECONDS, [
            "oracle.py", "replay", "--server", server.url, "--token-file", server.tokens, "--level", level,
            "--instance", instance, "--jobs", str(jobs), "-v", "oracle/" + suite])
        return counts(last)

    def every_cel(self, server):
        """-> {area: (passed, of)}"""
        return {"cel/" + kind: self.cel(server, kind) for kind in CEL}

    def cel(self, server, kind):
        """-> (passed, of)"""
        _, last = self.run("cel-" + kind, CEL_SECONDS, [
            "cel/replay.py", "--server", server.url, "--token", "admin-token", "-v", "cel/%s.jsonl.gz" % kind])
        return counts(last)

    def backends(self, binary, groups=None):
        """Groups of cases with a backend, all by default. -> {area: (passed, of)}"""
        folder = os.path.join(self.recorded, BACKENDS, "cases")
        groups = groups or sorted(os.listdir(folder))
        name = BACKENDS if len(groups) > 1 else BACKENDS + "-" + groups[0]
        report, _ = self.run(name, BACKENDS_SECONDS, [
            os.path.join(BACKENDS, "run.py"), "replay", "-v"] + [os.path.join(BACKENDS, "cases", group) for group in groups],
            SERVER=BACKENDS_SERVER % binary)
        out = {}
        for group in groups:
            cases = [bad for path, bad in (report or {}).items() if "/cases/%s/" % group in path]
            out["%s/%s" % (BACKENDS, group)] = (sum(not bad for bad in cases), len(cases))
        return out


def counts(last):
    """`N passed, M failed` as (passed, of)."""
    words = last.replace(",", "").split()
    if len(words) == 4 and words[1] == "passed" and words[3] == "failed":
        return int(words[0]), int(words[0]) + int(words[2])
    return 0, 0


def log_name(area):
    return area.replace(": ", "-").replace("/", "-")


def last_line(path):
    with open(path, errors="replace") as f:
        lines = f.read().splitlines()
    return lines[-1] if lines else ""


def area_of(suite, level, instance):
    return "oracle/%s/%s/%s" % (suite, instance, level)


def rate(passed, of):
    """The percentage, rounded down to a tenth so that it is a floor that holds."""
    return math.floor(1000 * passed / of) / 10 if of else 0.0


def read_floors(path):
    floors = {}
    if os.path.exists(path):
        with open(path) as f:
            for line in f:
                words = line.split("#")[0].split()
                if words:
                    floors[" ".join(words[:-1])] = float(words[-1])
    return floors


def write_floors(path, floors):
    with open(path, "w") as f:
        f.write("# The least share of recorded answers, in percent, that each area must give; see replay.py.\n")
        for area in sorted(floors):
            f.write("%s %.1f\n" % (area, floors[area]))


def floor_of(area, floors, results):
    """What an area must give: as much as is written, or on etcd as much as without, unless that is written."""
    if area.startswith(ON_ETCD):
        return floors.get(area, rate(*results[area[len(ON_ETCD):]]))
    return floors.get(area, 0.0)


def replay_all(binary, etcd, replays, floors):
    results, again = {}, {}

    def low(area):
        return rate(*results[area]) < floor_of(area, floors, results)

    with contextlib.ExitStack() as stack:
        servers = {"default": stack.enter_context(Server(binary)),
                   "all": stack.enter_context(Server(binary, *EVERYTHING_ON)),
                   "plugins": stack.enter_context(Server(binary, plugins=PLUGINS)),
                   "cel": stack.enter_context(Server(binary))}
        stores = {"": servers["default"]}
        if etcd:
            cluster = stack.enter_context(Etcd(etcd))
            servers["etcd"] = stores[ON_ETCD] = stack.enter_context(Server(binary, "--etcd-servers", cluster.url))
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            # The contract cases mostly wait, the oracle and CEL mostly compute: together they fill two processors.
            cases = [pool.submit(replays.every_conformance, server, prefix) for prefix, server in stores.items()]
            cases.append(pool.submit(replays.conformance, servers["plugins"], *FLAGGED))
            cases.append(pool.submit(replays.backends, binary))
            cases.append(pool.submit(replays.every_cel, servers["cel"]))
            for suite, level, instance in ORACLE:
                results[area_of(suite, level, instance)] = replays.oracle(servers[instance], suite, level, instance, 3)
            for found in cases:
                results.update(found.result())
        results.update(replays.conformance(servers["default"], *ALONE))
        # Those on etcd last, as they are measured by the others.
        for area in sorted((area for area in results if low(area)), key=lambda area: area.startswith(ON_ETCD)):
            before = results[area]
            prefix = ON_ETCD if area.startswith(ON_ETCD) else ""
            if area[len(prefix):] in CONFORMANCE:
                bare = area[len(prefix):]
                with contextlib.ExitStack() as fresh:
                    # What other cases left may be in the way: an address that they were given is one that this case asks for.
                    server = stores[prefix] if prefix else fresh.enter_context(Server(binary))
                    results.update(replays.conformance(
                        server, bare.replace("/", "-") + "-again", [bare], 4, AGAIN_SECONDS, prefix))
            elif area.startswith("cel/"):
                results[area] = replays.cel(servers["cel"], area.split("/")[1])
            elif area.startswith(BACKENDS + "/"):
                results.update(replays.backends(binary, [area.split("/")[1]]))
            elif area in ALONE[1]:
                results.update(replays.conformance(servers["default"], *ALONE))
            elif area == WITH_FLAGS:
                results.update(replays.conformance(servers["plugins"], *FLAGGED))
            else:
                suite, instance, level = area.split("/")[1:]
                results[area] = replays.oracle(servers[instance], suite, level, instance, 2)
            again[area] = before
            if rate(*before) > rate(*results[area]):
                results[area] = before
        dead = [name for name, server in servers.items() if not server.alive()]
    return results, again, dead


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--server-binary", required=True)
    arguments.add_argument("--recorded", required=True, help="folder of the recorded answers and the programs that replay them")
    arguments.add_argument("--etcd", help="a program of etcd's, to replay the contract cases on it too")
    arguments.add_argument("--floors", required=True)
    arguments.add_argument("--logs", required=True)
    arguments.add_argument("--raise", action="store_true", dest="raise_floors", help="write the rates that have risen")
    options = arguments.parse_args()
    # A terminated run ends its servers too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    logs = os.path.join(options.logs, "replays")
    os.makedirs(logs, exist_ok=True)
    floors = read_floors(options.floors)
    results, again, dead = replay_all(os.path.abspath(options.server_binary), options.etcd,
                                      Replays(options.recorded, logs), floors)

    print("%-36s %7s %7s %7s %7s" % ("area", "agree", "of", "%", "floor"))
    low = []
    for area in sorted(results):
        share, floor = rate(*results[area]), floor_of(area, floors, results)
        mark = ""
        if area in again:
            mark = "  again, first %d" % again[area][0]
        if share < floor or not results[area][1]:
            low.append(area)
            mark += "  BELOW ITS FLOOR" if results[area][1] else "  NOTHING WAS REPLAYED"
        print("%-36s %7d %7d %7.1f %7.1f%s" % ((area,) + results[area] + (share, floor, mark)))
    if options.raise_floors:
        risen = {area: rate(*found) for area, found in results.items()
                 if not area.startswith(ON_ETCD) and rate(*found) > floors.get(area, -1.0)}
        write_floors(options.floors, dict(floors, **risen))
        print("%d floors were raised" % len(risen))
    for name in dead:
        print("the server with APIs of instance %r died" % name)
    if low or dead:
        print("below the floor: %s; case by case in %s" % (", ".join(low) or "nothing", logs))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
