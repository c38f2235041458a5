"""deploy/: every file is used by the program that it is for. Dashboards get data for every panel, rules fire and are silent, Alertmanager hears of it."""
import contextlib
import fnmatch
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import time
import urllib.request

import pytest
import yaml

from conftest import FIXTURES, ROOT
from engines import Prometheus, VictoriaMetrics, need
from serving import Server, free_port
from test_serve_owners import TWO, UUID1, kubelet, pod

DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus" / "rules"
BOARDS = ("fleet", "node", "job", "user", "health")
sys.path[:0] = [str(DEPLOY / "grafana"), str(ROOT / "tests" / "fleet"), str(ROOT / "tests" / "tools")]
import chart  # noqa: E402
import make  # noqa: E402

END = int(time.time()) // 300 * 300 - 4 * 3600
SPAN, STEP = 3600, 60


def run(*command, **more):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, timeout=120, **more)


def alerts():
    return [rule for group in yaml.safe_load((RULES / "alerts.yml").read_text())["groups"] for rule in group["rules"]]


def questions():
    """[(dashboard, panel, PromQL)] of all dashboards."""
    return [(name, p["title"], t["expr"]) for name in BOARDS for p in json.loads((DEPLOY / "grafana" / f"{name}.json").read_text())["panels"]
            for t in p.get("targets", [])]


# --- dashboards as files ----------------------------------------------------------------------------


def test_dashboards_are_made_from_the_tables(tmp_path):
    done = run(sys.executable, DEPLOY / "grafana" / "make.py", tmp_path)
    assert done.returncode == 0, done.stderr
    for name in BOARDS:
        assert (tmp_path / f"{name}.json").read_text() == (DEPLOY / "grafana" / f"{name}.json").read_text(), f"run deploy/grafana/make.py: {name}"


@pytest.mark.parametrize("name", BOARDS)
def test_dashboard_is_whole(name):
    board = json.loads((DEPLOY / "grafana" / f"{name}.json").read_text())
    assert board["uid"] == f"assay-{name}" and board["schemaVersion"] >= 36
    ids, taken = [p["id"] for p in board["panels"]], set()
    assert len(ids) == len(set(ids)) > 10
    for p in board["panels"]:
        at = p["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & taken, p["title"]
        taken |= cells
        if p["type"] != "row":
            assert p["description"] and p["datasource"]["uid"] == "${datasource}" and p["targets"], p["title"]


def test_only_series_that_are_exposed():
    """Every family that a panel or rule asks for is one of the exposition's, or of the recording rules."""
    recorded = {rule["record"] for group in yaml.safe_load((RULES / "fleet.yml").read_text())["groups"] for rule in group["rules"]}
    texts = [q for _, _, q in questions()] + [p.read_text() for p in RULES.glob("*.yml")]
    for text in texts:
        for name in re.findall(r"\bassay_(?:gpu|job|process|up|build|push|sampler|scrape)\w*", text):
            assert name in make.HELP, name
        for name in re.findall(r"\bassay:[\w:]+", text):
            assert name in recorded, name


# --- dashboards with data ---------------------------------------------------------------------------


def table_series():
    """[(name, labels, counter)] of every row of own.def."""
    name, found = "", []
    for line in (ROOT / "src/present/exposition/own.def").read_text().splitlines():
        if match := re.match(r'OWN_FAMILY\("(\w+)", (\w+)', line):
            name, counter = match.group(1) + ("_total" if match.group(2) == "COUNTER" else ""), match.group(2) == "COUNTER"
        elif match := re.match(r'OWN_(?:INTEGRAL|GAUGE)\(\w+, \d+, "(\w*)", "(\w*)"\)', line):
            found.append((name, {match.group(1): match.group(2)} if match.group(1) else {}, counter))
    return found


def states():
    for name, label, value in [("class", "class", "idle"), ("limiter", "limiter", "kernel"), ("health", "health", "WARN"), ("finding", "finding", "link_narrow")]:
        yield f"assay_gpu_{name}_seconds_total", {label: value}, True
    yield "assay_gpu_xid_total", {"xid": "31"}, True
    yield "assay_gpu_up", {}, False
    yield "assay_gpu_info", {"model": "NVIDIA H200", "pci": "00000000:18:00.0"}, False
    yield "assay_gpu_owner_info", {"slot": "1", "kind": "slurm", "exported_job": "4711", "user": "ada", "account": "a"}, False
    for name in ("held", "held_observed", "held_idle_unobserved", "held_real_utilization"):
        yield f"assay_gpu_{name}_seconds_total", {"slot": "1"}, True
    yield "assay_gpu_wasted_seconds_total", {"slot": "1", "reason": "memory_held"}, True


def fleet_series():
    """{(name, labels): value at a second since the begin} of two nodes with two GPUs each."""
    found = {}
    for node in ("n1", "n2"):
        for gpu in ("0", "1"):
            own = {"job": "assay", "instance": node, "uuid": f"GPU-{node}-{gpu}", "gpu": gpu}
            for name, labels, counter in [*table_series(), *states()]:
                found[name, tuple({**own, **labels}.items())] = (lambda t: 0.9 * t) if counter else (lambda t: 1)
        own = {"job": "assay", "instance": node}
        for name, labels, counter in [("assay_up", {"source": "nvml"}, False), ("assay_build_info", {"version": "0"}, False), ("up", {}, False),
                                      ("assay_sampler_ticks_total", {"result": "late"}, True), ("assay_job_cpu_seconds_total", {"kind": "slurm", "exported_job": "4711"}, True),
                                      ("assay_job_memory_bytes", {"exported_job": "4711"}, False), ("assay_job_memory_limit_bytes", {"exported_job": "4711"}, False),
                                      ("assay_job_io_bytes_total", {"exported_job": "4711", "direction": "read"}, True)]:
            found[name, tuple({**own, **labels}.items())] = (lambda t: 0.9 * t) if counter else (lambda t: 1)
    return found


def text_of(series, factor):
    """Lines with times; factor 1 for seconds, 1000 for milliseconds. A family's lines stand together."""
    lines = []
    for (name, labels), points in sorted(series.items()):
        block = ",".join(f'{k}="{v}"' for k, v in labels)
        lines += [f"{name}{{{block}}} {v:.6f} {int(t * factor)}" for t, v in points]
    return "\n".join(lines) + "\n"


def base_points():
    return {key: [(END - SPAN + t, value(t)) for t in range(0, SPAN + 1, STEP)] for key, value in fleet_series().items()}


def recorded_points(engine):
    """What the recording rules would have recorded: their questions at every five minutes."""
    found = {}
    for group in yaml.safe_load((RULES / "fleet.yml").read_text())["groups"]:
        for rule in group["rules"]:
            if "assay:" in rule["expr"]:
                continue  # made of other rules' series, which this engine has not recorded; tests/fleet/rules_test.yml has them
            answer = engine.ask("/api/v1/query_range", query=rule["expr"], start=END - SPAN + 600, end=END, step=300)
            assert answer["data"]["result"], rule["record"]
            for r in answer["data"]["result"]:
                found[rule["record"], tuple(sorted((k, v) for k, v in r["metric"].items() if k != "__name__"))] = [(t, float(v)) for t, v in r["values"]]
    return found


def fill_prometheus(engine, series):
    engine.stop()
    (engine.folder / "om.txt").write_text(text_of(series, 1) + "# EOF\n")
    done = run("promtool", "tsdb", "create-blocks-from", "openmetrics", engine.folder / "om.txt", engine.folder / "data")
    assert done.returncode == 0, done.stderr + done.stdout
    engine.start()


def fill_victoria(engine, series):
    request = urllib.request.Request(f"{engine.url}/api/v1/import/prometheus", text_of(series, 1000).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=30):
        engine.query("vector(1)")


@pytest.mark.parametrize("kind,fill", [(Prometheus, fill_prometheus), (VictoriaMetrics, fill_victoria)], ids=["prometheus", "victoria-metrics"])
def test_every_panel_has_data(kind, fill, tmp_path):
    need(kind.kind)
    need("promtool")
    values = {"$__rate_interval": "5m", "$__range": "1h", "$instance": ".*", "$gpu": ".*", "$job": ".*", "$pod": ".*", "$user": ".*"}
    with kind(tmp_path) as engine:
        fill(engine, base_points())
        fill(engine, recorded_points(engine))
        empty = []
        for board, title, text in questions():
            for name, value in values.items():
                text = text.replace(name, value)
            assert "$" not in text, text
            if not kind.__mro__[1].query(engine, text, time=END):
                empty.append((board, title, text))
        assert not empty


# --- rules ------------------------------------------------------------------------------------------


def test_rules_are_tested():
    """promtool's own tests pass; each alert has one in which it fires, and one in which it is silent."""
    need("promtool")
    path = DEPLOY / "prometheus" / "tests" / "alerts.yml"
    done = run("promtool", "test", "rules", path)
    assert done.returncode == 0, done.stdout + done.stderr
    names = [t["name"] for t in yaml.safe_load(path.read_text())["tests"]]
    for rule in alerts():
        assert any(n.startswith(rule["alert"] + ": ") for n in names), rule["alert"]
        assert any(n.startswith(rule["alert"] + " is silent: ") for n in names), rule["alert"]


def minutes(text):
    return sum(int(n) * {"h": 60, "m": 1, "s": 0}[unit] for n, unit in re.findall(r"(\d+)([hms])", text))


def written(values):
    """[(minute, value or None)] of promtool's shorthand: '1x3', '0+60x130', '_x20', 'stale'; promtool knows more."""
    found = []
    for word in values.split():
        if match := re.fullmatch(r"_(?:x(\d+))?", word):
            found += [None] * int(match.group(1) or 1)
        elif match := re.fullmatch(r"(-?[\d.]+)(?:([+-][\d.]+))?(?:x(\d+))?", word):
            start, step, n = float(match.group(1)), float(match.group(2) or 0), int(match.group(3) or 0)
            found += [start + step * i for i in range(n + 1)]
        else:
            assert word == "stale", word
            found.append(struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0])
    return list(enumerate(found))


def test_alerts_are_the_same_on_victoriametrics(tmp_path):
    """Every case of promtool's, with real VictoriaMetrics: what it says of a series that begins is not what Prometheus says."""
    need("victoria-metrics")
    sim = pytest.importorskip("sim", reason="remote-write needs numpy")
    cases, apart, series = yaml.safe_load((DEPLOY / "prometheus" / "tests" / "alerts.yml").read_text())["tests"], 9 * 3600, []
    base = END - len(cases) * apart
    for i, case in enumerate(cases):
        for row in case["input_series"]:
            name, labels = re.fullmatch(r"(\w+)(\{.*\})", row["series"]).groups()
            times, values = zip(*((base + i * apart + 60 * t, v) for t, v in written(row["values"]) if v is not None))
            series.append(({"__name__": name, **dict(re.findall(r'(\w+)="([^"]*)"', labels))}, sim.np.array(times, float), sim.np.array(values)))
    with VictoriaMetrics(tmp_path) as e:
        sim.backfill(e.url, series, base, END, slice_s=END - base)
        e.query("vector(1)")
        for i, case in enumerate(cases):
            for want in case["promql_expr_test"]:
                assert want["expr"] == 'count by (alertname) (ALERTS{alertstate="firing"})'
                at = base + i * apart + 60 * minutes(want["eval_time"])
                firing = {}
                for rule in alerts():
                    wait = 60 * minutes(rule.get("for", "0m"))
                    found = e.ask("/api/v1/query_range", query=rule["expr"], start=at - wait, end=at, step=60)["data"]["result"]
                    if n := sum(len(one["values"]) == wait // 60 + 1 for one in found):
                        firing[rule["alert"]] = n
                expected = {re.search(r'alertname="(\w+)"', s["labels"]).group(1): s["value"] for s in want["exp_samples"]}
                assert firing == expected, (case["name"], firing)


def test_alerts_say_what_was_seen():
    docs = (ROOT / "docs" / "FLEET.md").read_text()
    for rule in alerts():
        assert {"summary", "seen", "look"} == set(rule["annotations"]) - {"dump"} and rule["labels"]["severity"] in ("info", "warning", "critical")
        assert f"`{rule['alert']}`" in docs, f"docs/FLEET.md does not name {rule['alert']}"


def test_fatal_xids_are_those_of_health():
    """And what a program causes by itself alarms nobody as hardware."""
    table = re.findall(r"^XID\((\d+), (\w+), (\w+),", (ROOT / "src/model/xids.def").read_text(), flags=re.M)
    grave = [n for n, _, effect in table if effect == "GRAVE"]
    program = [n for n, fault, effect in table if fault == "PROGRAM" and effect == "ERROR"]
    ended = [n for n, fault, effect in table if fault == "PROGRAM" and effect == "NOTE"]
    assert {"13", "31", "43"} <= set(program) and ended == ["45"]
    wanted = {"AssayXidFatal": ("=", grave), "AssayXid": ("!", grave + program + ended), "AssayXidProgram": ("=", program)}
    found = {rule["alert"]: re.findall(r'xid([=!])~"([\d|]+)"', rule["expr"]) for rule in alerts()}
    for name, (sign, numbers) in wanted.items():
        assert found.pop(name) == [(sign, "|".join(numbers))] * 3, name
    assert not any(found.values())


def test_findings_are_those_of_health():
    names = set(re.findall(r'^FINDING\(\w+, "(\w+)"', (ROOT / "src/model/findings.def").read_text(), flags=re.M))
    asked = {name for rule in alerts() for text in re.findall(r'finding=~?"([\w|]+)"', rule["expr"]) for name in text.split("|")}
    assert asked and asked <= names


def test_configurations(tmp_path):
    need("promtool")
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    for folder in ("prometheus", "victoriametrics"):
        (tmp_path / "deploy" / folder / "token").write_text("x")
        (tmp_path / "deploy" / folder / "targets.json").write_text('[{"targets": ["n1:9400"]}]')
    done = run("promtool", "check", "config", tmp_path / "deploy/prometheus/prometheus.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    done = run("promtool", "check", "rules", *RULES.glob("*.yml"))
    assert done.returncode == 0, done.stdout + done.stderr
    if shutil.which("victoria-metrics"):
        done = run("victoria-metrics", f"-promscrape.config={tmp_path}/deploy/victoriametrics/scrape.yml", "-dryRun", "-promscrape.config.strictParse")
        assert done.returncode == 0, done.stderr
    if shutil.which("vmagent"):
        done = run("vmagent", f"-promscrape.config={tmp_path}/deploy/victoriametrics/scrape.yml", "-remoteWrite.url=http://127.0.0.1:1", "-dryRun")
        assert done.returncode == 0, done.stderr
    if shutil.which("vmalert"):
        done = run("vmalert", "-dryRun", *(f"-rule={p}" for p in RULES.glob("*.yml")))
        assert done.returncode == 0, done.stderr
    if shutil.which("amtool"):
        done = run("amtool", "check-config", DEPLOY / "alertmanager" / "alertmanager.yml")
        assert done.returncode == 0, done.stderr + done.stdout


REMAP = """DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H200",Hostname="n1"} 5
DCGM_FI_DEV_ROW_REMAP_FAILURE{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H200",Hostname="n1"} 1
DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H200",Hostname="n1"} 3
"""


class Manager:
    """A real Alertmanager with our configuration."""

    def __init__(self, folder):
        need("prometheus-alertmanager")
        self.port = free_port()
        self.process = subprocess.Popen(["prometheus-alertmanager", f"--config.file={DEPLOY}/alertmanager/alertmanager.yml", f"--storage.path={folder}/am",
                                         f"--web.listen-address=127.0.0.1:{self.port}", "--cluster.listen-address="], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def all(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v2/alerts", timeout=10) as answer:
            return json.load(answer)

    def heard(self, name):
        return [a for a in self.all() if a["labels"]["alertname"] == name]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=20)


def prometheus_config(manager):
    config = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
    return config.replace("127.0.0.1:9093", f"127.0.0.1:{manager.port}").replace("15s", "1s").replace("evaluation_interval: 1m", "evaluation_interval: 1s")


@pytest.mark.slow
def test_alertmanager_hears_of_it(program, tmp_path):
    """assay serve, Prometheus with our configuration and rules, Alertmanager: all real. Times are shorter, nothing else."""
    need("prometheus")
    (tmp_path / "gpu.prom").write_text(REMAP)
    (tmp_path / "token").write_text("0123456789abcdef0123456789abcdef")
    (tmp_path / "engine").mkdir()
    shutil.copytree(RULES, tmp_path / "engine" / "rules")
    shutil.copy(tmp_path / "token", tmp_path / "engine" / "token")
    with Manager(tmp_path) as manager, Server(program, tmp_path, tmp_path / "gpu.prom", "--backend", "prometheus", "--auth-token-file", tmp_path / "token") as s:
        (tmp_path / "engine" / "targets.json").write_text(json.dumps([{"targets": [f"127.0.0.1:{s.port}"]}]))
        with Prometheus(tmp_path / "engine", prometheus_config(manager)) as e:
            found = e.wait(lambda: manager.heard("AssayRemapFailed"))
            assert not e.query('{__name__=~"assay_.+_created"}')
    assert len(found) == 1 and found[0]["labels"]["instance"] == "127.0.0.1" and found[0]["labels"]["severity"] == "critical"
    assert "GPU 0 of 127.0.0.1" in found[0]["annotations"]["summary"] and "uncorrectable 3" in found[0]["annotations"]["seen"]


@pytest.mark.slow
def test_an_alert_names_the_dump(program, assay, tmp_path):
    """From the alert to the evidence: a GPU falls off the bus, its node writes a dump by itself, the alert says which, and it opens at the moment."""
    need("prometheus")
    build = pathlib.Path(program).parent / "tests"
    (tmp_path / "scenario").write_text((FIXTURES / "nvml/h200-bf16.scn").read_text() + "\n@15 xid = 79\n")
    (tmp_path / "token").write_text("0123456789abcdef0123456789abcdef")
    (tmp_path / "token").chmod(0o600)
    (tmp_path / "engine").mkdir()
    shutil.copytree(RULES, tmp_path / "engine" / "rules")
    shutil.copy(tmp_path / "token", tmp_path / "engine" / "token")
    env = {"FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(build / "libnvidia-ml-fake.so")}
    with Manager(tmp_path) as manager, Server(program, tmp_path, "--auth-token-file", tmp_path / "token", env=env) as s:
        (tmp_path / "engine" / "targets.json").write_text(json.dumps([{"targets": [f"127.0.0.1:{s.port}"]}]))
        # An XID that was there before the first scrape would be an old one.
        with Prometheus(tmp_path / "engine", prometheus_config(manager), ["--rules.alert.resend-delay=1s"]) as engine:
            [alert] = engine.wait(lambda: [a for a in manager.heard("AssayXidFatal") if a["annotations"].get("dump")], 90)
    assert alert["labels"]["xid"] == "79" and alert["labels"]["gpu"] == "0"
    [path] = (tmp_path / ".local/state/assay/dumps").glob(f"*/{alert['annotations']['dump']}")
    report = assay("report", path)
    assert report.returncode == 0 and "XID 79: the GPU has fallen off the bus" in report.stdout
    at = float(re.search(r"^ +([\d.]+) s +XID 79", report.stdout, re.M)[1])
    gpus = [json.loads(assay("once", path, "--at", max(at + d, 0), "--json").stdout)["gpus"][0] for d in (-1, 0.5)]
    assert ["CRIT" in str(g["health"]) for g in gpus] == [False, True]


@contextlib.contextmanager
def vmalert(engine, manager, rules):
    need("vmalert")
    command = ["vmalert", f"-rule={rules}/alerts.yml", f"-datasource.url={engine.url}", f"-notifier.url=http://127.0.0.1:{manager.port}",
               f"-httpListenAddr=127.0.0.1:{free_port()}", "-evaluationInterval=1s"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Prometheus, VictoriaMetrics], ids=["prometheus", "vmalert"])
def test_a_hang_and_a_lost_gpu_are_heard_of(kind, tmp_path):
    """Half an hour of a node on which one GPU hangs and one fell off the bus, the others work or idle: an alert of each, with what was seen; no other."""
    need(kind.kind)
    sim = pytest.importorskip("sim", reason="the simulated fleet needs numpy")
    now = int(time.time())
    fleet = sim.Fleet(1, now - 7200, now + 3600, seed=3, split=0)
    owner = fleet.hang(0, 3, now - 2400)
    fleet.fail(0, 5, now - 240)
    shutil.copytree(RULES, tmp_path / "rules")
    text = (RULES / "alerts.yml").read_text()
    (tmp_path / "rules" / "alerts.yml").write_text(re.sub(r"for: \d+m", "for: 0s", text))
    with Manager(tmp_path) as manager, contextlib.ExitStack() as more:
        again = ["--rules.alert.resend-delay=1s"] if kind is Prometheus else []  # the first may be lost: it looks for Alertmanager every five seconds
        engine = more.enter_context(kind(tmp_path, prometheus_config(manager), again))
        sim.backfill(engine.url, sim.scraped(fleet, 0, range(now - 2100, now, 15)), now - 2100, now)
        if kind is VictoriaMetrics:
            more.enter_context(vmalert(engine, manager, tmp_path / "rules"))
        [hang] = engine.wait(lambda: manager.heard("AssayHang"))
        [lost] = engine.wait(lambda: manager.heard("AssayGpuLost"))
        [xid] = engine.wait(lambda: manager.heard("AssayXidFatal"))
        assert len(manager.all()) == 3
        # Why it was lost is told, too.
        engine.wait(lambda: {a["labels"]["alertname"]: a["status"]["state"] for a in manager.all()} == dict.fromkeys(("AssayHang", "AssayGpuLost", "AssayXidFatal"), "active"))
    assert hang["labels"]["gpu"] == "3" and hang["labels"]["instance"] == "n0000"
    assert hang["annotations"]["summary"] == "the program on GPU 3 of n0000 seems to hang"
    assert f"at 190 W; held by {owner['user']} {owner['job']}" in hang["annotations"]["seen"] and "100%" in hang["annotations"]["seen"]
    assert "py-spy" in hang["annotations"]["look"]
    assert lost["labels"]["gpu"] == "5" and "XIDs so far: 79 (×1)" in lost["annotations"]["seen"]
    assert xid["labels"]["xid"] == "79"


# --- Kubernetes and systemd -------------------------------------------------------------------------


def documents():
    return {path.name: list(yaml.safe_load_all(path.read_text())) for path in (DEPLOY / "kubernetes").glob("*.yaml")}


def without_instance(one):
    """The same without the label that tells two releases of a chart apart."""
    if isinstance(one, dict):
        return {k: without_instance(v) for k, v in one.items() if k != "app.kubernetes.io/instance"}
    return [without_instance(v) for v in one] if isinstance(one, list) else one


def test_chart_is_the_daemonset():
    """The chart's defaults are deploy/kubernetes/daemonset.yaml; vendors, a priority and a policy change what they name."""
    [written] = documents()["daemonset.yaml"]
    [made] = chart.manifests()
    assert without_instance(made) == written
    assert made["spec"]["selector"]["matchLabels"].items() <= made["spec"]["template"]["metadata"]["labels"].items()
    for vendor in ("amd", "intel"):
        [d] = chart.manifests([yaml.safe_load((DEPLOY / "helm" / "assay" / f"values-{vendor}.yaml").read_text())])
        pod = d["spec"]["template"]["spec"]
        assert "runtimeClassName" not in pod and len(pod["nodeSelector"]) == 1 and vendor in str(pod["nodeSelector"]) and "nvidia" not in str(d)
        # /proc/PID/fdinfo of others, where use by process is, wants root and this right.
        assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["SYS_PTRACE"]} and pod["securityContext"]["runAsUser"] == 0
    [d, policy] = chart.manifests([{"networkPolicy": {"enabled": True}, "priorityClassName": "node-tools", "runtimeClassName": "", "allocations": True,
                                    "extraArgs": ["--names", "new"]}], release="gpus", namespace="mon")
    pod = d["spec"]["template"]["spec"]
    assert pod["priorityClassName"] == "node-tools" and "runtimeClassName" not in pod and pod["securityContext"]["runAsUser"] == 0
    assert pod["containers"][0]["args"][-2:] == ["--names", "new"] and (d["metadata"]["name"], d["metadata"]["namespace"]) == ("gpus", "mon")
    assert policy["kind"] == "NetworkPolicy" and policy["spec"]["podSelector"] == d["spec"]["selector"] and policy["spec"]["ingress"][0]["ports"] == [{"port": 9400, "protocol": "TCP"}]


@pytest.mark.slow
def test_chart_by_gos_templates(tmp_path):
    """What helm's engine is made of gives the same objects as tests/tools/chart.py: Go's text/template, sprig and its YAML, as Debian has them."""
    sources = pathlib.Path("/usr/share/gocode/src")
    if not shutil.which("go") or not all((sources / name).is_dir() for name in ("github.com/Masterminds/sprig", "sigs.k8s.io/yaml")):
        pytest.skip("wants golang-go, golang-github-masterminds-sprig-dev and golang-k8s-sigs-yaml-dev")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "-p=1"}
    program = tmp_path / "chart"
    subprocess.run(["go", "build", "-o", program, ROOT / "tests" / "tools" / "chart.go"], env=env, check=True, cwd=tmp_path)
    files = [[], *([yaml.safe_load((DEPLOY / "helm" / "assay" / f"values-{vendor}.yaml").read_text())] for vendor in ("amd", "intel"))]
    more = {"networkPolicy": {"enabled": True}, "priorityClassName": "node-tools", "runtimeClassName": "", "allocations": True, "extraArgs": ["--names", "new: 'quoted'"],
            "nodeSelector": {"a/b": "c"}, "tolerations": [{"key": "x", "operator": "Exists"}], "resources": {"limits": {"memory": "1Gi"}}}
    for values in (*files, [more], [*files[1], more]):
        assert chart.manifests_of_go(program, values, release="gpus", namespace="mon") == list(chart.manifests(values, release="gpus", namespace="mon"))


@pytest.mark.parametrize("values", [{"vendor": "voodoo"}, {"vendr": "amd"}, {"image": {"repository": "a b", "tag": "1"}}, {"image": {"tag": None}}, {"tokenSecret": "x; rm"},
                                    {"extraArgs": "--names new"}, {"networkPolicy": {"enabled": "yes"}}, {"nodeSelector": {"a": True}}])
def test_chart_refuses_values_that_make_no_sense(values):
    with pytest.raises(AssertionError, match="values"):
        list(chart.manifests([values]))


def test_kubernetes_daemonset():
    """What the API server would refuse, and what we promise: no root, no rights, no privilege."""
    [d] = documents()["daemonset.yaml"]
    assert (d["apiVersion"], d["kind"]) == ("apps/v1", "DaemonSet")
    template, pod = d["spec"]["template"], d["spec"]["template"]["spec"]
    labels = d["spec"]["selector"]["matchLabels"]
    assert labels.items() <= template["metadata"]["labels"].items()
    assert pod["automountServiceAccountToken"] is False and "serviceAccountName" not in pod and not pod.get("hostNetwork")
    assert pod["securityContext"]["runAsNonRoot"] is True and pod["securityContext"]["runAsUser"] > 0
    [c] = pod["containers"]
    assert c["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    volumes = {v["name"] for v in pod["volumes"]}
    assert {m["name"] for m in c["volumeMounts"]} == volumes and len(volumes) == len(pod["volumes"])
    for v in pod["volumes"]:
        mount = next(m for m in c["volumeMounts"] if m["name"] == v["name"])
        assert mount.get("readOnly") or "hostPath" not in v
    assert {p["httpGet"]["port"] for p in (c["livenessProbe"], c["readinessProbe"])} == {c["ports"][0]["name"]}
    kinds = {doc.get("kind") for docs in documents().values() for doc in docs}
    assert not kinds & {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount"}


def test_kubernetes_arguments(assay, tmp_path):
    """The program takes the arguments of the DaemonSet; the monitor asks for the same pods and port."""
    [d], [m] = documents()["daemonset.yaml"], documents()["podmonitor.yaml"]
    container = d["spec"]["template"]["spec"]["containers"][0]
    (tmp_path / "token").write_text("0123456789abcdef0123456789abcdef")
    args = [a.replace("/etc/assay/token", str(tmp_path / "token")) for a in container["args"]]
    assert assay(*args, "--check-config").returncode == 0
    assert m["spec"]["selector"] == d["spec"]["selector"] and m["spec"]["podMetricsEndpoints"][0]["port"] == container["ports"][0]["name"]
    [patch] = documents()["allocations.yaml"]
    assert set(patch["spec"]["template"]["spec"]) == {"securityContext"}


# What the operator makes of any PodMonitor before the relabelings that are in it.
OPERATOR = [{"source_labels": ["__meta_kubernetes_namespace"], "target_label": "namespace"}, {"source_labels": ["__meta_kubernetes_pod_container_name"], "target_label": "container"},
            {"source_labels": ["__meta_kubernetes_pod_name"], "target_label": "pod"}, {"target_label": "job", "replacement": "assay"},
            {"target_label": "endpoint", "replacement": "metrics"}]


def as_prometheus(rules):
    return [{re.sub("[A-Z]", lambda m: "_" + m.group().lower(), k): v for k, v in rule.items()} for rule in rules]


@pytest.mark.parametrize("kind", [Prometheus, VictoriaMetrics])
def test_the_operators_labels_are_not_ours(kind, program, tmp_path):
    """Scraped as behind the PodMonitor, with the labels an operator adds: dashboards find the pods that hold GPUs, and not assay's own."""
    need(kind.kind)
    [monitor] = documents()["podmonitor.yaml"]
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    answer = pod("llm-0", "ml", ("trainer", {"nvidia.com/gpu": [UUID1]}))
    with kubelet(tmp_path / "k.sock", lambda: answer), Server(program, tmp_path, TWO, "--pod-resources-kubelet-socket", tmp_path / "k.sock") as s:
        meta = {"__meta_kubernetes_namespace": "assay", "__meta_kubernetes_pod_name": "assay-x7k2p", "__meta_kubernetes_pod_container_name": "assay",
                "__meta_kubernetes_pod_node_name": "worker-7"}
        job = {"job_name": "podMonitor/assay/assay/0", "scrape_interval": "1s", "scrape_timeout": "1s", "static_configs": [{"targets": [f"127.0.0.1:{s.port}"], "labels": meta}],
               "relabel_configs": OPERATOR + as_prometheus(endpoint["relabelings"]), "metric_relabel_configs": as_prometheus(endpoint["metricRelabelings"])}
        config = yaml.safe_dump({"global": {"scrape_interval": "1s"}, "scrape_configs": [job]})
        (tmp_path / "scrape.yml").write_text(config)
        more = ["-promscrape.config=" + str(tmp_path / "scrape.yml")] if kind is VictoriaMetrics else []
        s.wait(lambda: "assay_gpu_owner_info{" in s.metrics())
        with kind(tmp_path / "engine", config if kind is Prometheus else "", more) as e:
            [one] = e.wait(lambda: e.query("assay_gpu_owner_info == 1"))
            assert {k: one["metric"].get(k) for k in ("namespace", "pod", "container", "instance", "job", "exported_pod", "endpoint")} == {
                "namespace": "ml", "pod": "llm-0", "container": "trainer", "instance": "worker-7", "job": "assay", "exported_pod": None, "endpoint": None}
            [panel] = [q for name, title, q in questions() if (name, title) == ("job", "GPUs")]
            found = e.query(panel.replace("$job", ".*").replace("$pod", "llm-0"))
            assert [one["value"][1] for one in found] == ["1"]
            assert e.query('up{job="assay",instance="worker-7"}')[0]["value"][1] == "1"


def test_kubernetes_documents_are_of_their_schema():
    if not shutil.which("kubeconform"):
        pytest.skip("no kubeconform")
    done = run("kubeconform", "-strict", "-ignore-missing-schemas", DEPLOY / "kubernetes" / "daemonset.yaml")
    assert done.returncode == 0, done.stdout


def test_node_name(program, tmp_path):
    """A pod is called as its node."""
    with Server(program, tmp_path, ROOT / "data" / "h200-tour.csv", "--state", "none", env={"NODE_NAME": "worker-7"}) as s:
        assert 'Hostname="worker-7"' in s.ready().metrics()


def test_one_unit_file():
    """The packages install the unit that the documents speak of, and the program takes its options."""
    units = [p for p in ROOT.glob("**/*.service") if "build" not in str(p.relative_to(ROOT)).split("/", 1)[0]]
    assert [p.relative_to(ROOT).as_posix() for p in units] == ["deploy/systemd/assay-serve.service"]
    for path in ("packaging/debian/rules", "packaging/rpm/assay.spec"):
        assert "deploy/systemd/assay-serve.service" in (ROOT / path).read_text()
    if shutil.which("systemd-analyze"):
        done = run("systemd-analyze", "verify", "--man=no", units[0])
        wrong = [line for line in done.stderr.splitlines() if "assay-serve.service" in line and "is not executable" not in line]
        assert not wrong, wrong


# The character devices of /proc/devices, by branch of the driver.
KERNEL_LISTS = {
    "470": "195 nvidia-frontend\n236 nvidia-nvswitch\n237 nvidia-nvlink\n238 nvidia-caps\n511 nvidia-uvm",
    "535": "195 nvidia-frontend\n234 nvidia-nvswitch\n235 nvidia-nvlink\n236 nvidia-caps\n237 nvidia-caps-imex-channels\n511 nvidia-uvm",
    "580": "195 nvidia\n195 nvidiactl\n195 nvidia-modeset\n236 nvidia-caps\n237 nvidia-caps-imex-channels\n511 nvidia-uvm",
}


@pytest.mark.parametrize("branch", KERNEL_LISTS)
def test_the_unit_lets_the_driver_be_asked(branch):
    """GPUs, the control device and MIG's capabilities are reached by names that the kernel lists; systemd compares them as file names are."""
    unit = (DEPLOY / "systemd" / "assay-serve.service").read_text()
    allowed = re.findall(r"^DeviceAllow=char-(\S+) rw$", unit, flags=re.M)
    listed = [line.split()[1] for line in KERNEL_LISTS[branch].splitlines()]
    opened = [name for name in listed if any(fnmatch.fnmatch(name, pattern) for pattern in allowed)]
    # Major 195 has all of /dev/nvidia0, /dev/nvidiactl; the nodes of MIG are below /dev/nvidia-caps.
    assert set(opened) & {"nvidia-frontend", "nvidia"} and "nvidia-caps" in opened
    assert "nvidia-uvm" not in opened  # computing is not asking


def test_epilog_reads_the_services_records():
    unit, epilog = (DEPLOY / "systemd" / "assay-serve.service").read_text(), (DEPLOY / "slurm" / "epilog.sh").read_text()
    folder = re.search(r"^StateDirectory=(\S+)$", unit, flags=re.M).group(1)
    assert f"STATE=${{ASSAY_STATE:-/var/lib/{folder}}}\n" in epilog
