#!/usr/bin/env python3
"""Draws docs/benchmarks/chart.svg and fills the table of docs/benchmarks.md from the load test's results.

    tools/chart.py                        write the chart and the table
    tools/chart.py --check                fail if they do not match the results
    tools/chart.py --trim RUN.json... >F  reduce the load test's files to what is used here; medians of several runs

The results are docs/benchmarks/kube-apiserver.json and docs/benchmarks/pintle.json, made with --trim. Needs Python's standard library only.
"""
import json
import statistics
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs/benchmarks"
FIELDS = ["cpu_ms_per_1000", "ops_s", "p99_ms"]
# The rows of the chart: name and requests in flight, as the load test names them, and a label.
CHARTED = [
    ("create/configmap", 16, "create a ConfigMap"),
    ("create/pod", 16, "create a pod"),
    ("get/pod", 16, "get a pod"),
    ("update/pod", 16, "get and update a pod"),
    ("patch/strategic", 16, "patch a pod"),
    ("apply/create", 16, "apply a new Deployment"),
    ("apply/change", 16, "apply a changed Deployment"),
    ("crd/create", 16, "create a custom resource"),
    ("crd/list", 1, "list 1,000 custom resources"),
    ("list/json", 1, "list 1,000 pods, JSON"),
    ("list/protobuf", 1, "list 1,000 pods, protobuf"),
    ("list/label-1pct", 1, "list 10 of 1,000 pods by label"),
    ("watch/fanout-w100", 100, "deliver an event to a watcher"),
]


def load(name):
    rows = json.loads((RESULTS / f"{name}.json").read_text())["rows"]
    return {(row["name"], row["c"]): row for row in rows}


def trim(files):
    runs = [json.loads(Path(file).read_text()) for file in files]
    rows = {}
    for run in runs:
        for row in run["rows"]:
            rows.setdefault((row["name"], row["c"]), []).append(row)
    kept = [
        {"name": name, "c": c, **{field: round(statistics.median(row[field] for row in same), 2) for field in FIELDS}}
        for (name, c), same in rows.items()
        if name != "idle"
    ]
    machine = runs[0]["meta"]["machine"]
    meta = {"runs": runs[0].get("merged_from", len(runs)), "cpus": machine["cpus"], "model": machine["model"]}
    lines = ",\n".join("    " + json.dumps(row) for row in kept)
    return f'{{\n  "meta": {json.dumps(meta)},\n  "rows": [\n{lines}\n  ]\n}}\n'


def number(value):
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def duration(microseconds):
    return f"{number(microseconds / 1000)} ms" if microseconds >= 1000 else f"{number(microseconds)} µs"


STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 }
  .quiet { font-size: 12px; fill: #59636e }
  .reference { fill: #8c959f }
  .pintle { fill: #bc4c00 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .quiet { fill: #9198a1 }
    .reference { fill: #656c76 }
    .pintle { fill: #f0883e }
  }
"""


def chart(reference, pintle):
    left, bar, top, step = 220, 420, 70, 42
    height = top + step * len(CHARTED) + 28
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" width="760" height="{height}" role="img" aria-labelledby="title">',
        f"<style>{STYLE}</style>",
        '<text id="title" class="title" x="16" y="26">CPU time of the server per operation (shorter is better)</text>',
        '<rect class="reference" x="16" y="40" width="12" height="12"/><text class="quiet" x="34" y="50">kube-apiserver 1.36 + etcd 3.6</text>',
        '<rect class="pintle" x="244" y="40" width="12" height="12"/><text class="quiet" x="262" y="50">Pintle</text>',
    ]
    for index, (name, c, label) in enumerate(CHARTED):
        y = top + index * step
        theirs, ours = (rows[name, c]["cpu_ms_per_1000"] for rows in (reference, pintle))
        width = max(bar * ours / theirs, 1.5)
        out += [
            f'<text x="{left - 10}" y="{y + 18}" text-anchor="end">{escape(label)}</text>',
            f'<rect class="reference" x="{left}" y="{y}" width="{bar}" height="13"/>',
            f'<text class="quiet" x="{left + bar + 8}" y="{y + 11}">{duration(theirs)}</text>',
            f'<rect class="pintle" x="{left}" y="{y + 15}" width="{width:.1f}" height="13"/>',
            f'<text class="quiet" x="{left + width + 8:.1f}" y="{y + 26}">{duration(ours)}</text>',
        ]
    out.append(f'<text class="quiet" x="16" y="{height - 12}">Each pair of bars has its own scale. Two machines of 2 processors; method in docs/benchmarks.md.</text>')
    return "\n".join(out) + "\n</svg>\n"


def full(reference, pintle):
    lines = [
        "| scenario | in flight | CPU µs: reference | CPU µs: Pintle | ratio | per s: reference | per s: Pintle | p99 ms: reference | p99 ms: Pintle |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for key, ours in pintle.items():
        theirs = reference[key]
        cells = [f"{ours['cpu_ms_per_1000'] / theirs['cpu_ms_per_1000']:.2f}"]
        cells = [number(rows["cpu_ms_per_1000"]) for rows in (theirs, ours)] + cells
        cells += [number(rows[field]) for field in ("ops_s", "p99_ms") for rows in (theirs, ours)]
        lines.append(f"| {key[0]} | {key[1]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def between_markers(file, table):
    begin, end = "<!-- table -->\n", "<!-- /table -->\n"
    head, rest = file.read_text().split(begin, 1)
    return head + begin + table + "\n" + end + rest.split(end, 1)[1]


def main(arguments):
    if arguments[:1] == ["--trim"]:
        sys.stdout.write(trim(arguments[1:]))
        return 0
    if arguments not in ([], ["--check"]):
        sys.stderr.write(__doc__)
        return 2
    reference, pintle = load("kube-apiserver"), load("pintle")
    files = {
        RESULTS / "chart.svg": chart(reference, pintle),
        ROOT / "docs/benchmarks.md": between_markers(ROOT / "docs/benchmarks.md", full(reference, pintle)),
    }
    stale = [file for file, text in files.items() if not file.exists() or file.read_text() != text]
    if arguments:
        for file in stale:
            print(f"{file.relative_to(ROOT)} does not match docs/benchmarks/*.json: run tools/chart.py")
        return 1 if stale else 0
    for file in stale:
        file.write_text(files[file])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
