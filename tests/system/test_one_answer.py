"""One answer on every surface: limiter, held and idle, and health of the same moment and of the same run, word by word.

A moment is judged live, by what was known then; a report judges in hindsight, and each says which it does. What is live is
compared with `assay export`, sample by sample; what is hindsight with the report's JSON.
"""
import concurrent.futures
import csv
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

from conftest import ROOT, clean_env
from serving import Server, samples
from test_scripts import browser, served, until  # noqa: F401  pylint: disable=unused-import
from test_top import Terminal

TRUTH = ("loader_workers gemm_bf16 held never_used mlp_eager cpu_preproc h2d_pageable results_to_disk warm_then_starved gather llm_decode sleeping_steps "
         "forgotten two_procs").split()
CAPTURES = {"tour": "data/h200-tour.csv", "tour session": "tests/fixtures/session/tour.assay", "no hardware counters": "tests/fixtures/dcgm/dmon-throughput-no-prof.txt",
            "eight GPUs": "tests/fixtures/dcgm/dmon-8gpu.txt", "slices": "tests/fixtures/dcgm/dmon-mig-prof.txt", "nvidia-smi": "tests/fixtures/nvidia-smi/smi-query.csv",
            "scrape": "tests/fixtures/exposition/dcgm-exporter.prom"}
MADE = ("driver alone", "CPU only")  # made of others below
NAMES = [*TRUTH, *CAPTURES, *MADE]
PLAYED_S = 1.2  # every recording is played in so much time


def rows_of_table():
    """{limiter: (brief, words, words without counters, present)}, of the table."""
    text = (ROOT / "src/model/limiters.def").read_text()
    found = {}
    for what, body in re.findall(r"^(LIMITER|WITHOUT_COUNTERS)\((.*?\))\n(?=\n|WITHOUT|LIMITER|#|TURN)", text, re.M | re.S):
        ident, strings = body.split(",")[0], re.findall(r'"([^"]*)"', body)
        if what == "LIMITER":
            found[ident] = [strings[0], strings[1], strings[2], strings[2], strings[3]]
        else:
            found[ident][3] = strings[0]
    return {name: rest for name, *rest in found.values()}


TABLE = rows_of_table()
HELD_BY = {"power": "the power limit", "thermal": "heat", "clock.locked": "a locked clock"}


def words_of(row):
    """What every surface says of a row."""
    _, words, driver, present = TABLE[row["limiter"]]
    likely = row["limit"]["basis"] == "driver"
    if present:
        return present
    held = f", clocks held by {HELD_BY[row['held_by']]}" if row["held_by"] else ""
    return f"{'likely ' if likely else ''}limited by {driver if likely else words}{held}"


def flat(text):
    return " ".join(text.split())


class Told:
    """What the program's files say of one recording, and what a server said while it played it."""

    def __init__(self, program, path, home):
        self.path, self.program, self.home = path, program, home
        home.mkdir()
        self.rows = [json.loads(line) for line in self.run("export", "--format", "jsonl", path).splitlines()]
        self.at = {(r["time"], r["gpu"]): r for r in self.rows}
        first = self.run("once", "--json", "--source", path, "--at", "0") if self.rows else "{}"
        self.begin = json.loads(first).get("time")  # of the first sample, which may have no GPU
        self.report = json.loads(self.run("report", path, "--format", "json"))
        self.now, self.metrics = self.serve() if self.rows else ([], {})

    def run(self, *args):
        return subprocess.run([self.program, *map(str, args)], env=clean_env(self.home), capture_output=True, text=True, check=True, timeout=60).stdout

    def seconds(self):
        return self.rows[-1]["time"] - self.rows[0]["time"]

    def serve(self):
        now, until_s = [], time.monotonic() + 20
        with Server(self.program, self.home, self.path, "--speed", f"{max(1, self.seconds() / PLAYED_S):.2f}") as s:
            while time.monotonic() < until_s and not (now and (now[-1]["status"]["ended"] or self.seconds() == 0)):
                got = s.json("/api/v1/now")
                if got["gpus"] and (got["status"]["ended"] or (got["gpus"][0]["up"] and (not now or got["time"] != now[-1]["time"]))):
                    now.append(got)
                time.sleep(0.04)
            return now, samples(s.metrics())

    def served(self):
        """Every GPU that was said to be up, with what the export says of the same sample."""
        return [(g, self.at[g["time"], g["gpu"]]) for now in self.now for g in now["gpus"] if g["up"]]

    def moment(self, share):
        """The sample that lies so far into the recording: its time, and the --at that shows it."""
        times = sorted({r["time"] for r in self.rows})
        time_s = times[int(share * (len(times) - 1))]
        return time_s, f"{max(0, time_s - self.begin - 0.02):.4f}"

    def counted(self, family, gpu, label=None):
        """Seconds of a family by its label, of one GPU or slice."""
        found = {}
        for name, value in self.metrics.items():
            if name.startswith(family + "_total{") and f'gpu="{gpu}"' in name:
                found[re.search(f'{label}="([^"]*)"', name).group(1) if label else ""] = value
        return found


@pytest.fixture(scope="module")
def told(program, tmp_path_factory):
    home = tmp_path_factory.mktemp("answers")
    env = clean_env(home)
    made = {name: home / f"{name.replace(' ', '-')}.assay" for name in MADE}
    subprocess.run([program, "record", "-q", "--no-profiling", "--source", ROOT / "tests/truth/forgotten.assay", "-o", made["driver alone"]], env=env, check=True)
    subprocess.run([program, "run", "-q", "--poll", "0.1", "-o", made["CPU only"], "--", "sleep", "0.5"], env=env, check=True, stderr=subprocess.DEVNULL)
    paths = {**{n: ROOT / f"tests/truth/{n}.assay" for n in TRUTH}, **{n: ROOT / p for n, p in CAPTURES.items()}, **made}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return dict(zip(NAMES, pool.map(lambda n: Told(program, paths[n], home / n.replace(" ", "-")), NAMES)))


with_gpus = pytest.mark.parametrize("name", [n for n in NAMES if n != "CPU only"])
SAME = ("limiter", "held_by", "limit", "verdict", "health", "ceilings")


def test_the_table_is_read():
    assert len(TABLE) >= 20 and TABLE["compute.tensor"] == ["tensor cores", "the tensor cores", TABLE["compute.tensor"][2], ""]
    assert TABLE["idle.allocated"][3] == "idle, memory is held" and TABLE["host.input"][1] == "the input pipeline"


@with_gpus
def test_once(told, name):
    """JSON, CSV and text of a moment are the export's."""
    t = told[name]
    for share in (0.35, 0.7, 1):
        time_s, at = t.moment(share)
        shown = json.loads(t.run("once", "--json", "--source", t.path, "--at", at))
        assert shown["time"] == time_s
        text = flat(t.run("once", "--source", t.path, "--at", at, "--width", "220"))
        rows = list(csv.DictReader(t.run("once", "--csv", "--source", t.path, "--at", at).splitlines()))
        assert len(rows) == len(shown["gpus"])
        for g, line in zip(shown["gpus"], rows):
            want = t.at[time_s, g["gpu"]]
            for key in SAME:
                assert g[key] == want[key], (time_s, key)
            assert (line["status"], line["health"]) == (g["verdict"]["class"], g["health"]["state"])
            assert g["verdict"]["class"] == "unknown" == g["limiter"].split(".")[0] or words_of(g) in text, (words_of(g), text)
            assert g["limit"]["judged"] == "live"
        assert "Limits are judged live" in text and t.report["judged"] == "hindsight"
        assert {g["health"]["state"] for g in shown["gpus"]} <= set(text.split())


@with_gpus
def test_serve(told, name):
    """What the page is fed with, of each sample that was asked for while the recording played."""
    t = told[name]
    assert len(t.served()) >= (5 if t.seconds() > 5 else 1)
    for g, want in t.served():
        for key in SAME:
            assert g[key] == want[key], (g["time"], key)
        assert g["limit_words"].startswith(words_of(want)) and (g["limiter"] == "unknown" or g["limit_words"] == words_of(want))
        if g["verdict"]["class"] != "unknown":
            assert (g["use"] == "idle") == (g["verdict"]["class"] == "idle")
        if g["limiter"].startswith("idle"):
            assert g["use"] == "idle" and g["held"] == (g["limiter"] == "idle.allocated")


@with_gpus
def test_counters(told, name):
    """What was counted while it was served is what the report of the whole says, to within the samples at its ends."""
    t = told[name]
    slack = max(0.6, 0.03 * t.seconds(), 1.1 * t.seconds() / (len({r["time"] for r in t.rows}) - 1)) if t.seconds() else 0
    for g in t.report["run"]["gpus"]:
        if any(other["uuid"] == g["uuid"] and other is not g for other in t.report["run"]["gpus"]) and "GPU-I " in g["gpu"]:
            continue  # an instance and its only compute instance are one slice for Prometheus
        for family, label, said in (("assay_gpu_class_seconds", "class", g["classes_s"]), ("assay_gpu_idle_allocated_seconds", None, {"": g["idle_allocated_s"]})):
            counted = t.counted(family, g["gpu"], label)
            hindsight = family == "assay_gpu_idle_allocated_seconds" and (g["classes_s"].get("unknown", 0) > 0)
            for key in counted.keys() | said.keys():
                apart = abs(counted.get(key, 0) - said.get(key, 0))
                assert apart <= (0.1 * t.seconds() if hindsight else slack), (family, key, counted, said)
        live = {}
        for a, b in zip(*(lambda own: (own, own[1:]))([r for r in t.rows if r["gpu"] == g["gpu"]])):
            live[b["limiter"]] = live.get(b["limiter"], 0) + b["time"] - a["time"]
        counted = t.counted("assay_gpu_limiter_seconds", g["gpu"], "limiter")
        for key in counted.keys() | live.keys():
            assert abs(counted.get(key, 0) - live.get(key, 0)) <= slack, (key, counted, live)
        bad = {k for k, v in t.counted("assay_gpu_health_seconds", g["gpu"], "health").items() if v > slack}
        assert bad <= {r["health"]["state"] for r in t.rows if r["gpu"] == g["gpu"]}


def test_page(told, browser, served):  # noqa: F811
    """The words of every card."""
    browser.open("about:blank")
    browser.open(served)
    until(browser, "return app.now !== null")
    browser.run("app.source.onmessage = null; app.source.onerror = null; app.source.close(); return 1")
    for name, t in told.items():
        for now in t.now[len(t.now) // 2:][:3]:
            cards = browser.run(f"app.now = {json.dumps(now)}; return app.now.gpus.map((g) => {{ const c = gpuCard(g); return [c.querySelector('.limit').textContent, "
                                "c.querySelector('.pill').textContent, c.querySelector('.class').textContent, isHeldIdle(g), works(g)]; })")
            for g, (words, health, kind, held_idle, works) in zip(now["gpus"], cards):
                if not g["up"]:
                    assert not held_idle and not works, name
                    continue
                row = t.at[g["time"], g["gpu"]]
                assert words == g["limit_words"] and words.startswith(words_of(row)), name
                assert (health, kind) == (row["health"]["state"], row["verdict"]["class"]), name
                assert held_idle == (g["use"] == "idle" and g["held"] is True) and works == (g["use"] == "working"), name


def joined(stretches):
    """Those that follow one another with the same limiter are one to a reader."""
    found = []
    for s in stretches:
        if found and (found[-1]["limiter"], found[-1]["held_by"], found[-1]["end_s"]) == (s["limiter"], s["held_by"], s["begin_s"]):
            found[-1] = {**found[-1], "end_s": s["end_s"]}
        else:
            found.append(s)
    return found


@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
def test_top(told, program, tmp_path):
    """A moment of each, and below it the whole in hindsight."""
    terminal = Terminal(program, tmp_path, width=200, height=40)
    try:
        for name, t in told.items():
            if not t.rows or name in ("scrape", "CPU only"):
                continue
            time_s, at = t.moment(0.7)
            terminal.type(f"clear; {program} top {t.path} --at {at} --speed 0.0001 --layout cards")
            rows = [r for (k, _), r in t.at.items() if k == time_s]
            words = "active" if rows[0]["limiter"] == "unknown" else words_of(rows[0])
            terminal.wait(re.compile(r"hindsight +│" if t.path.suffix == ".assay" else r"\d active"), 20)
            screen = terminal.wait(re.compile(r"\s+".join(map(re.escape, words.split()))), 20)  # a screen comes in pieces
            wanted = {g["gpu"]: g["use"] for now in t.now for g in now["gpus"] if g["time"] == time_s and g["up"]}
            if len(wanted) == len(rows) == 1:
                assert f"{list(wanted.values()).count('working')} active" in screen, (name, screen)
            if t.path.suffix == ".assay":
                stretches = joined(s for s in t.report["stretches"] if t.report["run"]["gpus"][0]["gpu"] in s["gpus"])
                whole = rf"^ hindsight +│(?:[^│\n]*│){{{len(stretches) - 1}}}([^│\n]*)$"
                lane = re.search(r"^ hindsight +│(.*)$", terminal.wait(re.compile(whole, re.M)), re.M).group(1).split("│")
                for shown, s in zip(lane, stretches):
                    whole = TABLE[s["limiter"]][0] + (f", {s['held_by']}" if s["held_by"] else "")
                    assert whole.startswith(shown.strip("─… ")), (name, shown, whole)
            terminal.keys("q")
            terminal.wait(re.compile(r"^\$\s*\Z", re.M))
    finally:
        terminal.close()


def test_report(told, program, tmp_path):
    """Text, page and list of runs say what the JSON says."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for name, t in told.items():
        text, page = flat(t.run("report", t.path)), flat(html.unescape(t.run("report", t.path, "--format", "html")))
        for f in t.report["findings"][:3]:
            assert flat(f["text"]) in text and flat(f["text"]) in page, (name, f["text"])
            said = re.search(r"in (\d+) stretches", f["text"])
            at = [s for s in t.report["stretches"] if (s["limiter"], s["held_by"], s["basis"]) == (f["limiter"], f["held_by"], f["basis"])]
            assert not said or len(at) != f["stretches"] or len(joined(at)) > 1, (name, f["text"])
            assert {s["limiter"] for s in t.report["stretches"]} >= {f["limiter"]}
        bad = {h for g in t.report["run"]["gpus"] for h in g["health"]}
        assert len(bad) == len(t.report["unhealthy"]) or bad, name
        if t.path.suffix == ".assay" and t.path not in (ROOT / p for p in CAPTURES.values()):
            shutil.copy(t.path, folder / f"{name.replace(' ', '-')}.assay")
    clean = clean_env(tmp_path)
    listed = json.loads(subprocess.run([program, "report", folder, "--format", "json"], env=clean, capture_output=True, text=True, check=True).stdout)["runs"]
    table = subprocess.run([program, "report", folder], env={**clean, "COLUMNS": "200"}, capture_output=True, text=True, check=True).stdout
    assert len(listed) >= len(TRUTH)
    for row in listed:
        t = told[pathlib.Path(row["file"]).stem if pathlib.Path(row["file"]).stem in told else pathlib.Path(row["file"]).stem.replace("-", " ")]
        if t.report["findings"]:
            assert row["limiter"] == t.report["findings"][0]["limiter"], row
            assert re.search(r"\b" + re.escape(TABLE[row["limiter"]][0]), table), row


PYTHON = """
import assay, json, os, sys
from assay.notebook import Notebook
said = {}
for path in sys.argv[1:]:
    with assay.Monitor(source=path, speed=0) as m:
        frames = list(m.frames())
    rows = [[f["time"], g["gpu"], g["limiter"], g["held_by"], g["verdict"]["class"], g["health"]["state"], g["limit"]["judged"]] for f in frames for g in f["gpus"]]
    session = assay.open_session(path)
    notebook = Notebook()
    notebook.attach(path)
    said[path] = {"rows": rows, "findings": [[f.limiter, f.text] for f in session.findings()], "report": str(session.report()), "notebook": str(notebook.report())}
    notebook.drop()
print(json.dumps(said))
"""


@pytest.mark.skipif(bool(os.environ.get("SANITIZED")), reason="the interpreter has no sanitizer")
def test_python_and_notebook(told, program, tmp_path):
    """The library's frames and findings, and the report of a recording that a notebook imports."""
    env = {**clean_env(tmp_path), "PYTHONPATH": str(ROOT / "python"), "ASSAY_LIB": os.environ.get("ASSAY_LIB", str(pathlib.Path(program).parent / "libassay.so.0"))}
    paths = {str(t.path): t for name, t in told.items() if t.rows and name != "scrape"}
    done = subprocess.run([sys.executable, "-c", PYTHON, *paths], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    for path, said in json.loads(done.stdout).items():
        t = paths[path]
        assert said["rows"]
        for time_s, gpu, *rest in said["rows"]:
            want = t.at[time_s, gpu]
            assert rest == [want["limiter"], want["held_by"], want["verdict"]["class"], want["health"]["state"], "live"], (path, time_s)
        assert said["findings"] == [[f["limiter"], f["text"]] for f in t.report["findings"]]
        for f in t.report["findings"][:3]:
            assert flat(f["text"]) in flat(said["report"]) and flat(f["text"]) in flat(said["notebook"]), path


def test_without_a_gpu(told):
    """No surface names a limiter of a GPU that is not there."""
    t = told["CPU only"]
    assert t.rows == [] and t.report["findings"] == [] and t.report["run"]["gpus"] == []
    text = t.run("report", t.path)
    assert "limited by" not in text and "GPU 0" not in text
