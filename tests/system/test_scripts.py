"""The JavaScript of the pages, run on data that is known: every number and every place is the one that it must be.

Curves and bands are SVG, whose places are compared.
"""
import functools
import http.server
import json
import re
import shutil
import threading
import time

import pytest

from browser import DRIVER, Browser
from conftest import ROOT

pytestmark = pytest.mark.skipif(not DRIVER or not shutil.which("chromium"), reason="no chromium")

PAGE = ROOT / "src" / "present" / "page"
REPORT = "\n".join((ROOT / "src" / "present" / name).read_text() for name in ("document/plot.js", "document/chart.js", "document/sort.js"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("scripts") / "profile", 1100, 1000) as b:
        b.open("about:blank")
        yield b


# --- the page of `assay serve` -------------------------------------------------------------------

END = 1_760_000_000  # 08:53:20 UTC


def metrics(**more):
    names = ("real_util sm_active tensor_active dram_active gpu_util fb_used fb_total power power_limit gpu_temp processes").split()
    return {**dict.fromkeys(names), **more}


def gpu(name, index, **more):
    return {"gpu": name, "name": name, "index": index, "gi": None, "up": True, "tick": 1, "time": END, "source": "nvml", "identity": {"model": "NVIDIA H200", "hostname": "n1"},
            "verdict": {"class": "tensor-heavy compute"}, "health": {"state": "OK"}, "limiter": "compute.tensor", "limit_words": "limited by the tensor cores", "use": "working", "held": True,
            "why": "tensor-heavy compute: tensor 61 %", "advice": "use FP8", "health_text": "", "metrics": metrics(), "ceilings": {}, **more}


NOW = {
    "time": END, "status": {"up": True, "source": "nvml", "error": "", "capture": False}, "owners": [
        {"kind": "slurm", "job": "4711", "user": "ann", "index": 0, "gi": -1, "processes": 2}, {"kind": "slurm", "job": "4711", "user": "ann", "index": 1, "gi": -1, "processes": 3},
        {"kind": "kubernetes", "job": "", "namespace": "team", "pod": "llm-0", "container": "main", "user": "", "index": 2, "gi": -1, "processes": None}],
    "gpus": [
        gpu("0", 0, limit_words="limited by the tensor cores, clocks held by the power limit", metrics=metrics(real_util=62, sm_active=0.81, tensor_active=0.614, dram_active=0.355, gpu_util=0.99, fb_used=60 * 2**30,
                                                     fb_total=140 * 2**30, power=690.6, power_limit=700, gpu_temp=61, processes=2), ceilings={"sm": 0.81, "pcie_in": 0.05}),
        gpu("1", 1, verdict={"class": "idle"}, limiter="idle.allocated", limit_words="idle, memory is held", use="idle",
            metrics=metrics(real_util=2, sm_active=0, fb_used=1011 * 2**20, fb_total=140 * 2**30, power=75.4, power_limit=700, gpu_temp=31, processes=3)),
        gpu("2", 2, health={"state": "CRIT"}, limiter="unknown", limit_words="limiter unknown", use="unknown", held=None, verdict={"class": "unknown"}, metrics=metrics(power=80)),
        gpu("3", 3, up=False, metrics=metrics()),
    ],
    "host": {"name": "n1", "system": {"figures": {"load_1": 12.5, "load_5": 9.25, "load_15": 100, "net_rx": 1.5e8, "net_tx": 999, "swap_total": 2**33, "swap_used": 2**30,
                                                  "cpu_iowait": 0.034, "pressure_io": 0.31}, "cores": [1, 0.5, None]},
             "levels": [{"figures": {"cpu_share": 0.42, "cpu": 26.9, "cpus": 64, "memory_share": 0.15, "memory": 3 * 2**30, "memory_limit": 20 * 2**30, "io_read": 2.25e9,
                                     "io_write": 1500, "processes": 312, "threads": 1204}}]},
}
JOB = {"id": 7, "kind": "slurm", "job": "4711", "user": "ann", "account": "physics", "partition": "long", "gpus": "0,2", "n_gpus": 2, "start": END, "end": END + 3600, "final": True,
       "gpu_seconds": 7200, "wasted_seconds": 1800, "coverage": 0.972, "real_util": 0.2, "sm_active": 0.5, "gpu_util": 0.95, "peak_memory": 5 * 2**30,
       "counters": {"energy": 3.6e6, "throttle_power": 700, "throttle_heat": 0, "throttle_power_brake": 77}, "class_s": {"idle": 500, "memory-bound": 1500},
       "limiter_s": {"unknown": 9000, "compute.tensor": 3000, "idle.allocated": 1000}, "findings": []}
JOBS = {"limiter_texts": {"unknown": "limiter unknown", "compute.tensor": "the tensor cores", "idle.allocated": "idle, memory is held"},
        "jobs": [JOB, {**JOB, "id": 6, "job": "4700", "final": False, "wasted_seconds": 0, "limiter_s": {}, "real_util": None}]}
FINDINGS = {"now": [{"state": "CRIT", "gpu": "2", "text": "the GPU does not answer"}], "log": [{"time": END, "gpu": "2", "kind": "health", "text": "is CRIT, was OK"}]}
SESSIONS = {"sessions": [{"id": "a", "name": "one.assay", "time": END, "size": 1536}]}

PROCESSES = {"known": True, "processes": [{"gpu": "0", "pid": 77, "user": "ann", "name": "python3", "gpu_memory": 2**31, "sm_util": 0.5, "cpu": 1.25, "elapsed": 7300},
                                          {"gpu": "0/7", "pid": 78, "user": "bob", "name": None, "gpu_memory": None, "sm_util": None, "cpu": None, "elapsed": None},
                                          {"gpu": "1", "pid": 79, "user": "eve", "name": "x", "gpu_memory": 1, "sm_util": 0, "cpu": 0, "elapsed": 1}]}


def history(span):
    """An hour in seconds: the power rises by a watt each, the last ten seconds of SM activity are known; three runs of limiters."""
    n, step = (3600, 1) if span == 3600 else (1440, 60)
    none = [None] * n
    series = {"power": {"mean": [float(i) for i in range(n)]}, "sm_active": {"mean": none[:-10] + [0.1 * (i + 1) for i in range(10)]},
              "real_util": {"mean": none[:-200] + [50.0] * 200}}
    if step > 1:
        series["power"].update(least=[i - 5.0 for i in range(n)], most=[i + 5.0 for i in range(n)])
    return {"end": END, "step": step, "series": series, "limiters": [[None, n - 300], ["host.input", 100], ["compute.tensor", 200]],
            "limiter_texts": {"host.input": "the input pipeline", "compute.tensor": "the tensor cores"}}


class Canned(http.server.SimpleHTTPRequestHandler):
    """The page's own files, and answers that are always the same."""

    def do_GET(self):
        path, _, query = self.path.partition("?")
        canned = {"/api/v1/jobs": JOBS, "/api/v1/findings": FINDINGS, "/api/v1/sessions": SESSIONS, "/api/v1/processes": PROCESSES, "/api/v1/history": history(int(query.rpartition("=")[2] or 0) if "span" in query else 0)}
        if path == "/api/v1/events":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(f"data: {json.dumps(NOW)}\n\n".encode())
            self.wfile.flush()
            self.server.over.wait(5)
        elif path in canned:
            body = json.dumps(canned[path]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        else:
            super().do_GET()

    def translate_path(self, path):
        shared = {"/style.css": "page.css", "/dark.css": "dark.css", "/plot.js": "plot.js"}
        return str(PAGE.parent / "document" / shared[path]) if path in shared else super().translate_path(path)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def served():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Canned, directory=str(PAGE)))
    server.daemon_threads, server.over = True, threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.over.set()
    server.shutdown()


def until(browser, script, seconds=20):
    end = time.monotonic() + seconds
    while not (got := browser.run(script)):
        assert time.monotonic() < end, (script, browser.run("return document.body.innerText")[:600], browser.complaints())
        time.sleep(0.03)
    return got


@pytest.fixture
def page(browser, served):
    """The page with its first news; no more come."""
    browser.open("about:blank")
    browser.open(served)
    until(browser, "return app.now !== null && document.querySelectorAll('a[data-gpu]').length === 4")
    browser.run("app.source.onmessage = null; app.source.onerror = null; app.source.close(); return 1")
    return browser


def evaluate(browser, rows):
    """Compares each expression with its value."""
    got = browser.run("return [" + ",\n".join(f"(() => {{ try {{ return {text} }} catch (e) {{ return String(e) }} }})()" for text, _ in rows) + "]")
    wrong = [(text, value, wanted) for (text, wanted), value in zip(rows, got) if value != wanted]
    assert wrong == []


def test_numbers_are_written(page):
    evaluate(page, [
        ("percent(0.614)", "61 %"), ("percent(null)", "--"), ("percent(0)", "0 %"), ("number(690.6, 0, 'W')", "691 W"), ("number(26.94, 1, '')", "26.9"), ("number(null, 1, 'W')", "--"),
        ("scaled(0, 'B')", "0 B"), ("scaled(0.5, 'W')", "0.5 W"), ("scaled(9, 'W')", "9 W"), ("scaled(999, 'W')", "999 W"), ("scaled(1000, 'W')", "1.0 kW"), ("scaled(9940, 'W')", "9.9 kW"),
        ("scaled(12345, 'W')", "12 kW"), ("scaled(1e6, 'W')", "1.0 MW"), ("scaled(2.25e9, 'B/s')", "2.3 GB/s"), ("scaled(5e12, 'B/s')", "5.0 TB/s"), ("scaled(5e15, 'B/s')", "5000 TB/s"),
        ("scaled(1023, 'B', 1024)", "1023 B"), ("scaled(1024, 'B', 1024)", "1.0 KiB"), ("scaled(60 * 2**30, 'B', 1024)", "60 GiB"), ("scaled(null, 'B')", "--"), ("scaled(-2000, 'W')", "-2.0 kW"),
        ("duration(0)", "0 s"), ("duration(119.4)", "119 s"), ("duration(120)", "2 min"), ("duration(7199)", "120 min"), ("duration(7200)", "2.0 h"), ("duration(9000)", "2.5 h"), ("duration(null)", "--"),
        ("clock(1760000000).length", 19), ("clock(1760000000).slice(0, 7)", "2025-10"), ("timeOfDay(1760000000)", page.run("return clock(1760000000).slice(-8)")), ("two(7)", "07"), ("two(12)", "12"),
        ("there(0)", True), ("there(null)", False), ("there(undefined)", False),
    ])


def test_words_about_gpus(page):
    evaluate(page, [
        *((f"sideOf({json.dumps(name)})", side) for name, side in [
            (None, "none"), ("unknown", "none"), ("idle", "idle"), ("idle.allocated", "idle"), ("host.input", "host"), ("launch", "host"), ("copy.h2d", "copy"), ("memory.bandwidth", "memory"),
            ("compute.tensor", "compute"), ("latency", "compute")]),
        ("limitText(app.now.gpus[0])", "limited by the tensor cores, clocks held by the power limit"), ("limitText(app.now.gpus[1])", "idle, memory is held"),
        ("limitText(app.now.gpus[2])", "limiter unknown"), ("limitText(app.now.gpus[3])", None),
        ("works(app.now.gpus[0])", True), ("works(app.now.gpus[1])", False), ("works(app.now.gpus[2])", False), ("works(app.now.gpus[3])", False),
        ("app.now.gpus.map(isHeldIdle)", [False, True, False, False]), ("app.now.gpus.map(realOf)", [0.62, 0.02, None, None]),
        ("isHeldIdle({...app.now.gpus[1], held: false})", False), ("isHeldIdle({...app.now.gpus[1], held: null})", False), ("isHeldIdle({...app.now.gpus[1], up: false})", False),
        ("app.now.gpus.map((g) => ownersOf(g).length)", [1, 1, 1, 0]), ("app.now.owners.map(ownerName)", ["job 4711 (ann)", "job 4711 (ann)", "team/llm-0"]),
        ("ownerName({kind: 'process', user: 'bob'})", "bob"), ("ownerName({kind: 'process', user: ''})", "somebody"), ("ownerName({kind: 'slurm', job: '9', user: ''})", "job 9"),
        ("app.now.gpus.map(holderText)", ["job 4711 (ann)", "job 4711 (ann)", "team/llm-0", ""]), ("holderText({...app.now.gpus[2], index: 8})", "its holder is not known"),
        ("holderText({...app.now.gpus[0], index: 8})", "not in use"), ("nameSome(app.now.gpus.slice(0, 2))", "GPU 0, 1"),
        ("nameSome(Array.from({length: 8}, (_, i) => ({name: i})))", "GPU 0, 1, 2, 3, 4, 5 and 2 more"), ("nameSome(Array.from({length: 6}, (_, i) => ({name: i})))", "GPU 0, 1, 2, 3, 4, 5"),
        ("sum([1, null, 2.5], (v) => v)", 3.5), ("sum([null], (v) => v)", None), ("knownCells([null, null, 1, null])", 2), ("knownCells([null])", 0), ("knownCells(undefined)", 0), ("knownCells([0])", 1),
        ("usedOf({fb_used: 2**30, fb_total: 2**31})", "1.0 GiB of 2.0 GiB"), ("usedOf({fb_used: 2**30, fb_total: null})", "1.0 GiB"),
        ("shares({limiters: [['a', 1], [null, 7], ['b', 2], ['a', 2], ['b', 5]]})", [["b", 0.7], ["a", 0.3]]), ("shares({limiters: null})", []),
        ("limiterWords({x: 'idle, it rests'}, 'x')", "idle, it rests"), ("limiterWords(null, 'y')", "y"),
    ])


def test_the_view_of_all_gpus(page):
    tiles = page.run("return [...document.querySelectorAll('.tile')].map((t) => [...t.children].map((c) => c.textContent))")
    assert tiles == [["GPUs at work", "1 of 4", "1 idle"], ["Real Utilization", "32", "mean of 2 of 4"], ["Power", "846 W", "of 1.4 kW"], ["Memory", "61 GiB", "of 280 GiB"],
                     ["Held and idle", "1", "GPU 1"], ["Problems", "2", "GPU 2, 3"]]
    cards = page.run("return [...document.querySelectorAll('a[data-gpu]')].map((c) => [...c.querySelectorAll('strong, .pill, .big, .class, .limit, .meter, .facts span, .WARN')].map((e) => e.textContent.replaceAll('\\u00a0', '_')))")
    assert cards[0] == ["GPU 0", "OK", "62", "tensor-heavy compute", "limited by the tensor cores, clocks held by the power limit", "SM81 %", "tensor61 %", "DRAM36 %", "util99 %",
                        "60 GiB of 140 GiB", "691 W of 700", "61 °C"]
    assert cards[1][2:5] == ["2", "idle", "idle, memory is held"] and cards[1][9:] == ["1011 MiB of 140 GiB", "75 W of 700", "31 °C"]
    assert cards[3] == ["GPU 3", "does not answer", "--", "", "_", "SM--", "tensor--", "DRAM--", "util--", "--", "--", "--"]
    bars = page.run("return [...document.querySelector('a[data-gpu]').querySelectorAll('.bar span')].map((e) => e.style.width)")
    assert bars == ["81%", "61.4%", "35.5%", "99%"]
    until(page, "return app.history['0 3600']")
    page.run("app.update(); return 1")
    assert page.run("return document.querySelector('.legend.sides').textContent").startswith("Real Utilization over 3 min, limited by")
    assert page.run("return document.title") == "n1 - assay"
    assert page.run("return [...document.querySelectorAll('#state span')].map((e) => e.textContent)") == ["n1, nvml", page.run(f"return timeOfDay({END})")]


def test_what_the_head_says(page):
    """The source's state stands beside the time of the last news; what is wrong is marked, and the tab has the host's name."""
    time = page.run(f"return timeOfDay({END})")
    rows = page.run(f"""
      const e = document.getElementById("state"), now = app.now;
      const said = (more, status) => {{ take({{...now, ...more, status: {{...now.status, ...status}}}}); return [...[...e.children].map((c) => c.textContent), e.className, document.title]; }};
      return [said({{}}, {{}}), said({{}}, {{capture: true}}), said({{}}, {{up: false, error: "it is gone"}}), said({{}}, {{up: false}}), said({{}}, {{up: false, ended: true}}),
              said({{gpus: []}}, {{source: "dcgm"}}), said({{gpus: [], host: null}}, {{source: "dcgm"}}), said({{gpus: [], host: null}}, {{source: ""}}), said({{}}, {{}})]""")
    assert rows == [
        ["n1, nvml", time, "", "n1 - assay"], ["n1, nvml (a recording)", time, "", "n1 - assay"], ["it is gone", "", "bad", "n1 - assay"],
        ["no source delivers", "", "bad", "n1 - assay"], ["the recording has ended", time, "", "n1 - assay"], ["n1, dcgm", time, "", "n1 - assay"],
        ["dcgm", time, "", "assay"], ["", time, "", "assay"], ["n1, nvml", time, "", "n1 - assay"]]


def test_news_move_the_past(page):
    """Polled every fifth second: five cells a time, in values and in limiters alike; a GPU that is gone leaves a gap."""
    until(page, "return app.history['0 3600'] && app.history['1 3600']")
    got = page.run(f"""
      const past = app.history['0 3600'], g = app.now.gpus[0];
      past.series.power.mean = past.series.power.mean.slice(-8); past.series.sm_active.mean = past.series.sm_active.mean.slice(-8); delete past.series.real_util;
      past.limiters = [[null, 1], ['host.input', 3], ['compute.tensor', 4]];
      const out = [], note = () => out.push(JSON.stringify([past.series.power.mean, past.limiters, past.last - {END}, past.end - {END}]));
      append({{...g, metrics: {{power: 7, sm_active: 0.5}}}}, {END} + 5.2); note();
      append({{...g, metrics: {{power: 8, sm_active: 0.5}}, limiter: 'host.input'}}, {END} + 7); note();
      append({{...g, metrics: {{power: 9, sm_active: 0.5}}}}, {END} + 7.9); note();
      append({{...g, metrics: {{power: 1, sm_active: 0.5}}}}, {END} + 6); note();
      append({{...g, up: false, metrics: {{}}}}, {END} + 8); note();
      append({{...g, metrics: {{power: 3}}}}, {END} + 4000); note();
      return out""")
    assert [json.loads(line) for line in got] == [
        [[3597.0, 3598.0, 3599.0, None, None, None, None, 7], [["compute.tensor", 8]], 5, pytest.approx(5.2)],
        [[3599.0, None, None, None, None, 7, None, 8], [["compute.tensor", 6], ["host.input", 2]], 7, 7],
        [[3599.0, None, None, None, None, 7, None, 9], [["compute.tensor", 6], ["host.input", 2]], 7, pytest.approx(7.9)],
        [[3599.0, None, None, None, None, 7, None, 9], [["compute.tensor", 6], ["host.input", 2]], 7, pytest.approx(7.9)],
        [[None, None, None, None, 7, None, 9, None], [["compute.tensor", 5], ["host.input", 2], [None, 1]], 8, 8],
        [[None, None, None, None, 7, None, 9, None], [["compute.tensor", 5], ["host.input", 2], [None, 1]], 8, 8]]
    # The interval is learnt from what passes, and says how far apart two samples of one line may be.
    interval = page.run(f"""
      app.interval = 0; const at = (t) => {{ take({{...app.now, time: t}}); return [Math.round(app.interval * 1000) / 1000, gap()]; }};
      return [at({END} + 5), at({END} + 10), at({END} + 20), at({END} + 2000)]""")
    assert interval == [[5, 15], [5, 15], [6, 18], [6, 18]]


def test_the_cells_of_a_minute_keep_their_values(page):
    """In a day's past a cell is a minute: the newest value is put into it once."""
    until(page, "return app.history['0 3600']")
    page.run("app.done = 0; fetchHistory('0', 86400).then(() => { app.done = 1; }); return 1")
    until(page, "return app.done === 1")
    got = page.run(f"""
      const past = app.history['0 86400'], g = app.now.gpus[0], minute = Math.floor({END} / 60), last = () => past.series.power.mean.slice(-3), out = [];
      append({{...g, metrics: {{power: 7}}}}, 60 * minute + 59); out.push(last());
      append({{...g, metrics: {{power: 8}}}}, 60 * minute + 61); out.push(last());
      append({{...g, metrics: {{power: 9}}}}, 60 * minute + 70); out.push(last());
      return out""")
    assert got == [[1437, 1438, 1439], [1438, 1439, 8], [1438, 1439, 8]]


CHART = """
const box = document.createElement('div');
box.className = 'chart';
box.style.cssText = 'position: absolute; left: 0; top: 0; width: 864px; height: 150px; border: 0; padding: 0';
const chart = new Chart(box, {format: (v) => v.toFixed(1), gap: () => 2, onzoom: (view) => { window.zoomed = view; }, onpoint: (t) => { window.pointed = t; }, top: %s, base: %s});
document.body.append(box);
const all = (what, ...names) => [...box.querySelectorAll(what)].map((e) => names.map((k) => (isNaN(e.getAttribute(k)) ? e.getAttribute(k) : Math.round(100 * e.getAttribute(k)) / 100)));
"""


def chart(top="null", base="null"):
    return CHART % (top, base)


def test_a_chart_draws_where_it_must(page):
    """864 pixels wide: the curve has 800 of them from 58 to 858, and 124 in height from 8 to 132."""
    lines, curve, texts = page.run(chart("10") + f"""
      chart.set({END}, 1, [{{name: 'a', mean: [0, 5, 10, null, null, null, 2.5, 20, 4]}}]);
      return [all('line.grid', 'x1', 'y1', 'x2', 'y2'), all('path.mean', 'd', 'stroke'), [...box.querySelectorAll('text')].map((e) => [e.textContent, +e.getAttribute('x'), +e.getAttribute('y')])]""")
    assert [line for line in lines if line[1] == line[3]] == [[58, 132, 858, 132], [58, 70, 858, 70], [58, 8, 858, 8]]
    assert curve == [["M58.0 132.0h.6L158.0 70.0L258.0 8.0M658.0 101.0h.6L758.0 8.0L858.0 82.4", "var(--c0)"]], "what is above the top is at the top"
    assert texts[-3:] == [["0.0", 52, 136], ["5.0", 52, 74], ["10.0", 52, 12]]
    assert [t[1:] for t in texts[:-3]] == [[x, 146] for x in (58, 258, 458, 658, 840)], "one tick in two seconds"
    assert texts[1][0] == page.run(f"return timeOfDay({END} - 6)")


def test_a_band_and_a_limit(page):
    ranges, limits = page.run(chart("10") + f"""chart.ceiling = 8;
      chart.set({END}, 60, [{{name: 'a', mean: [5, 6, null], min: [4, 5, null], max: [6, 8, null]}}]); return [all('path.range', 'd', 'fill'), all('line.limit', 'x1', 'y1', 'x2', 'y2')]""")
    assert ranges == [["M58.0 57.6L458.0 32.8L458.0 70.0L58.0 82.4Z", "var(--c0)"]] and limits == [[58, 32.8, 858, 32.8]]
    assert page.run(chart("10") + f"chart.ceiling = 11; chart.set({END}, 60, [{{name: 'a', mean: [5, 6]}}]); return all('line.limit', 'x1')") == [], "a limit above the chart"


PRESS = "window.zoomed = 0; box.setPointerCapture = () => {}; const press = (x) => chart.press({button: 0, clientX: x, shiftKey: false, pointerId: 1})"


def test_a_chart_is_zoomed_and_asked(page):
    evaluate(page, [(f"(() => {{ {chart('10')} chart.set({END}, 1, [{{name: 'a', mean: Array.from({{length: 101}}, (_, i) => i)}}]); {script} }})()", wanted) for script, wanted in [
        (f"return chart.range().map((t) => t - {END})", [-100, 0]),
        (f"chart.known = {END} - 40; return chart.range().map((t) => t - {END})", [-40, 0]),
        (f"chart.view = [5, 9]; return chart.range()", [5, 9]),
        (f"return [58, 458, 858].map((x) => chart.time({{clientX: x}}) - {END})", [-100, -50, 0]),
        (f"return [0, -1, -49.6, -100].map((t) => chart.index({END} + t))", [100, 99, 50, 0]),
        (f"return [0, -1, -100, -101, 1].map((t) => chart.at({END} + t)[0])", [100, 99, 0, None, None]),
        (f"chart.move({{clientX: 258}}); chart.point(window.pointed); return [window.pointed - {END}, ...all('.cross', 'x1', 'visibility')[0]]", [-75, 258, "visible"]),
        (f"window.pointed = 1; chart.move({{clientX: 20}}); chart.point(window.pointed); return [window.pointed, ...all('.cross', 'visibility')[0]]", [None, "hidden"]),
        (f"{PRESS}; press(258); chart.move({{clientX: 158}}); const seen = all('.pick', 'x', 'width', 'visibility')[0]; chart.draw(); const kept = all('.pick', 'x', 'width', 'visibility')[0]; "
         f"chart.drop({{clientX: 158}}); return [seen, kept, all('.pick', 'visibility')[0], window.zoomed.map((t) => Math.round((t - {END}) * 10) / 10)]",
         [[158, 100, "visible"], [158, 100, "visible"], ["hidden"], [-87.5, -75]]),
        (f"{PRESS}; press(158); chart.drop({{clientX: 163}}); return [window.zoomed, chart.from === undefined]", [0, True]),
        (f"{PRESS}; press(158); chart.drop({{clientX: 165}}); return window.zoomed !== 0", True),
        (f"{PRESS}; chart.press({{button: 0, pointerType: 'touch', clientX: 158}}); return chart.from === undefined", True),
        *((f"chart.key(new KeyboardEvent('keydown', {{key: '{key}'}})); return window.zoomed && window.zoomed.map((t) => t - {END})", wanted) for key, wanted in [
            ("+", [-75, -25]), ("=", [-75, -25]), ("-", [-150, 50]), ("ArrowLeft", [-125, -25]), ("ArrowRight", [-75, 25]), ("0", None)]),
        (f"window.zoomed = 1; chart.key(new KeyboardEvent('keydown', {{key: 'x'}})); return window.zoomed", 1),
    ]])


def test_the_top_of_a_chart_is_round(page):
    evaluate(page, [(f"(() => {{ {chart('null', base)} chart.set({END}, 1, [{{name: 'a', mean: {values}}}]); return chart.top() }})()", top) for values, base, top in [
        ("[0, 0]", "null", 1), ("[null]", "null", 1), ("[3]", "null", 3), ("[3.2]", "null", 3.5), ("[3.6]", "null", 4), ("[690]", "null", 700), ("[1234]", "null", 1500), ("[9.6]", "null", 10),
        ("[2**30, 3.2 * 2**30]", "1024", 3.5 * 2**30), ("[700 * 2**20]", "1024", 700 * 2**20), ("[0.4]", "null", 0.4), ("[0.43]", "null", 0.45)]])
    evaluate(page, [(f"(() => {{ {chart()} chart.set({END}, 1, [{{name: 'a', mean: [9, 1, 2, 3], max: [90, 10, 20, 30], min: [9, 1, 2, 3]}}]); chart.view = [{END} - 2, {END}]; return chart.top() }})()", 30)])


def test_a_long_past_is_thinned_to_its_peaks(page):
    path = page.run(chart("10") + f"""const v = new Array(17281).fill(1); v[8641] = 9; v[3] = 7;
      chart.set({END}, 1, [{{name: 'a', mean: v}}]); return all('path.mean', 'd')[0][0]""")
    curve = [tuple(float(v) for v in point.replace("h.6", "").split()) for point in re.split("[ML]", path)[1:]]
    assert 1000 < len(curve) < 2000 and [y for _, y in curve if y != 119.6] == [45.2, 20.4], "10 cells a point, and none of the peaks is lost"
    assert [x for x, y in curve if y == 20.4] == [458]


def small(draw, query, *attributes):
    """What a small picture of 864 × 126 pixels has; draw gets its box."""
    names = ", ".join(f"e.getAttribute('{a}')" if a != "text" else "e.textContent" for a in attributes)
    return f"""(() => {{ const box = document.createElement('div');
        for (const [name, size] of [['clientWidth', 864], ['clientHeight', 126]]) Object.defineProperty(box, name, {{get: () => size}});
        {draw}; return [...box.querySelectorAll('{query}')].map((e) => [{names}]); }})()"""


def test_sparks_and_strips(page):
    # from 124.5 at nothing to 1.5 at the top; one line where the gap is not larger than two cells
    drawn = page.run("return " + small("spark(box, [0, 50, null, null, null, 100, 200], 100, 2)", "path", "class", "d"))
    assert drawn == [["range", "M0.0 124.5L144.0 63.0L144.0 124.5L0.0 124.5ZM720.0 1.5L864.0 1.5L864.0 124.5L720.0 124.5Z"],
                     ["mean", "M0.0 124.5h.6L144.0 63.0M720.0 1.5h.6L864.0 1.5"]]
    values = "Array.from({length: 1728}, (_, i) => (i % 4 === 0 ? null : i < 864 ? 20 : 40))"
    [[d]] = page.run("return " + small(f"spark(box, {values}, 100, 2)", "path.mean", "d"))
    points = d[1:].replace("h.6", "").split("L")
    assert (len(points), points[0], points[-1]) == (864, "0.0 99.9", "864.0 75.3"), "each pixel is the mean of its two cells"
    assert page.run("return " + small("spark(box, [], 1, 1)", "path", "d")) == []
    runs = "[['host.input', 100], [null, 100], ['compute.tensor', 200]]"
    for window, wanted in [
        ("[400, 0]", ["M0.0 0H216.0V126H0.0Z", "M432.0 0H864.0V126H432.0Z"]),
        ("[200, 0]", ["M0.0 0H864.0V126H0.0Z"]),
        ("[300, 100]", ["M432.0 0H864.0V126H432.0Z"]),
        ("[400, 300]", ["M0.0 0H864.0V126H0.0Z"]),
    ]:
        assert [d for d, in page.run("return " + small(f"strip(box, {runs}, {window})", "path", "d"))] == wanted, window
    assert page.run("return " + small("strip(box, null, [400, 0])", "svg", "class")) == []
    # with words: each part has its own, where it fits, else its letter, else nothing; two runs of one limiter are one part
    runs = "[['host.input', 10], ['host.input', 90], ['host.code', 20], ['compute.tensor', 3], ['host.input', 277]]"
    words = page.run("return " + small(f"strip(box, {runs}, [400, 0], (name) => [name, name.at(5)])", "text", "text", "x"))
    assert [(text, round(float(x), 2)) for text, x in words] == [("host.input", 3), ("c", 219), ("host.input", 268.68)]


def test_the_view_of_one_gpu(page):
    page.run("location.hash = 'gpu/0'; return 1")
    until(page, "return app.charts.length && app.charts[1].chart.series.length === 1")
    got = page.run("return app.charts.filter((c) => !c.card.hidden).map((c) => [c.p.title, c.chart.series.map((s) => s.name), c.legend.textContent, c.chart.ceiling, c.chart.box.getAttribute('aria-label')])")
    assert got == [
        ["Activity", ["real_util", "sm_active"], "Real 50SM 100 %", None, "Activity of GPU 0 over 60 min: real_util now 50, sm_active now 100 %"],
        ["Power", ["power"], "board 3599 W", 700, "Power of GPU 0 over 60 min: power now 3599 W"]]
    band = page.run("return [app.band.box.getAttribute('aria-label'), app.band.legend.textContent]")
    assert band == ["What limited GPU 0: compute.tensor 67 %, host.input 33 %", "A the tensor cores 67 %B the input pipeline 33 %"]
    # The pointer asks all charts for the same moment.
    page.run(f"pointAll({END} - 9); return 1")
    at = page.run(f"return timeOfDay({END} - 9)")
    assert page.run("return app.charts.slice(0, 2).map((c) => c.legend.textContent)") == [f"Real 50SM 10 %{at}", f"board 3590 W{at}"]
    assert page.run("return [...document.querySelectorAll('.ceilings .meter')].map((e) => e.textContent)") == ["sm81 %", "pcie in5 %"]
    page.run("pointAll(null); return 1")
    assert page.run("return app.charts[1].legend.textContent") == "board 3599 W"
    facts = dict(page.run("return [...document.querySelectorAll('dt')].map((e) => [e.textContent, e.nextSibling.textContent])"))
    assert facts == {"Memory": "60 GiB of 140 GiB", "Power": "691 W of 700 W", "Temperature": "61 °C", "Node": "n1"}
    said = page.run("return [...document.querySelectorAll('.hero p')].map((e) => e.textContent)")
    assert said == ["tensor-heavy compute  tensor 61 %", "limited by the tensor cores, clocks held by the power limit", "To try: use FP8."]
    until(page, "app.update(); return document.querySelectorAll('tbody').length === 2")
    tables = page.run("return [...document.querySelectorAll('tbody')].map((b) => [...b.rows].map((r) => [...r.cells].map((c) => c.textContent)))")
    assert tables == [[["slurm", "job 4711 (ann)", "2", "--"]], [["77", "ann", "python3", "2.0 GiB", "50 %", "125 %", "2.0 h"], ["78", "bob", "", "--", "--", "--", "--"]]]
    # Ten minutes are a part of the hour; a day is asked for.
    press = "const b = [...document.querySelectorAll('.tools button')]; b[%d].click(); return [app.span, app.zoom && app.zoom.map((t) => t - %d), b.slice(0, 3).map((e) => e.ariaPressed)]"
    assert page.run(press % (0, END)) == [3600, [-600, 0], ["true", "false", "false"]]
    assert page.run(press % (2, END)) == [86400, None, ["false", "false", "true"]]
    assert page.run(press % (1, END)) == [3600, None, ["false", "true", "false"]]
    # A server that has just begun has no more than it knows: two minutes at least.
    assert page.run(f"drawCharts(); return app.charts[0].chart.range().map((t) => t - {END})") == [-3599, 0]
    # Both in one go: the page asks for the history again.
    assert page.run(f"""const range = (name) => {{ delete app.history['0 3600'].series[name]; drawCharts(); return app.charts[0].chart.range().map((t) => t - {END}); }};
        return [range('power'), range('real_util')]""") == [[-200, 0], [-120, 0]]


def test_the_views_of_lists(page):
    page.run("location.hash = 'jobs'; return 1")
    until(page, "return document.querySelectorAll('tbody').length === 2")
    read = "return [...document.querySelectorAll('tbody')].map((b) => [...b.rows].map((r) => [...r.cells].map((c) => c.textContent)))"
    day = page.run(f"return clock({END} + 3600).slice(0, 16)")
    assert page.run(read) == [
        [["job 4711 (ann)", "0 1 ", "5", "32", "1 of 2 idle"], ["team/llm-0", "2 ", "--", "--", "limiter unknown"]],
        [["job 4711", "ann", day, "2", "2.00", "20", "0.50 h", "the tensor cores"], ["job 4700", "ann", "goes on", "2", "2.00", "--", "--", ""]]]
    page.run("location.hash = 'job/7'; return 1")
    until(page, "return document.querySelectorAll('dt').length > 5")
    facts = dict(page.run("return [...document.querySelectorAll('dt')].map((e) => [e.textContent, e.nextSibling.textContent])"))
    assert facts == {"GPUs": "0,2", "Begin": page.run(f"return clock({END})"), "End": page.run(f"return clock({END} + 3600)"), "GPU-hours": "2.00", "Observed": "97 %", "SM": "50 %",
                     "Peak memory": "5.0 GiB", "Energy": "3.6 MJ", "Account": "physics", "Partition": "long", "Throttled": "power 12 min, power brake 77 s"}
    assert page.run("return [...document.querySelectorAll('.huge')].map((e) => e.textContent)") == ["20", "0.50 h"]
    assert page.run("return [...document.querySelectorAll('.share')].map((e) => e.textContent)") == [
        "limiter unknown69 %2.5 h", "the tensor cores23 %50 min", "idle, memory is held8 %17 min", "memory-bound75 %25 min", "idle25 %8 min"]
    page.run("location.hash = 'findings'; return 1")
    until(page, "return document.querySelector('.finding')")
    assert page.run("return document.querySelector('.finding').textContent") == "CRITGPU 2the GPU does not answer"
    assert page.run(read) == [[[page.run(f"return clock({END})"), "2", "health", "is CRIT, was OK"]]]
    page.run("location.hash = 'recordings'; return 1")
    until(page, "return document.querySelector('td') && document.querySelector('h2').textContent === 'Recordings'")
    assert page.run(read) == [[["one.assay", page.run(f"return clock({END}).slice(0, 16)"), "1.5 KiB", "Report"]]]


def test_the_view_of_the_host(page):
    page.run("location.hash = 'host'; return 1")
    until(page, "return document.querySelector('.cores')")
    assert page.run("return [...document.querySelectorAll('.tile')].map((t) => [...t.children].slice(0, 3).map((c) => c.textContent.replaceAll('\\u00a0', '')))") == [
        ["CPU", "42 %", "26.9 of 64 CPUs busy"], ["Memory", "15 %", "3.0 GiB of 20 GiB"], ["Read from storage", "2.3 GB/s", ""], ["Written to storage", "1.5 kB/s", ""],
        ["Network in", "150 MB/s", ""], ["Network out", "999 B/s", ""]]
    assert dict(page.run("return [...document.querySelectorAll('dt')].map((e) => [e.textContent, e.nextSibling.textContent])")) == {
        "Load": "12.5, 9.3, 100.0", "Processes": "312", "Threads": "1204", "Swap": "1.0 GiB of 8.0 GiB", "CPU waits for I/O": "3 %"}
    assert page.run("return [...document.querySelectorAll('.cores span')].map((e) => [e.title, e.style.opacity])") == [["CPU 0: 100 %", "1"], ["CPU 1: 50 %", "0.575"], ["CPU 2: --", "0.15"]]
    assert page.run("return app.hosts[0]") == {"time": END, "cpu": 0.42, "memory": 0.15, "read": 2.25e9, "write": 1500, "rx": 1.5e8, "tx": 999}
    page.run("for (let i = 0; i < 1300; i++) keepHost({...app.now, time: i}); return 1")
    assert page.run("return [app.hosts.length, app.hosts[0].time, app.hosts.at(-1).time]") == [1200, 100, 1299]


def test_keys_choose(page):
    press = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true})); return location.hash"
    assert [page.run(press % key) for key in "23451"] == ["#jobs", "#host", "#findings", "#recordings", "#fleet"]
    until(page, "return document.querySelectorAll('a[data-gpu]').length === 4")
    focus = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true})); return document.activeElement.dataset.gpu"
    assert [page.run(focus % key) for key in ("j", "j", "ArrowDown", "j", "j", "k", "ArrowUp", "k", "k")] == ["0", "1", "2", "3", "3", "2", "1", "0", "0"]
    before = page.run("return document.documentElement.dataset.theme")
    page.run(press % "t")
    assert page.run("return document.documentElement.dataset.theme") == {"dark": "light", "light": "dark"}[before]


def test_a_late_answer_does_not_fill_the_next_view(page):
    page.run("""window.give = null; load = () => new Promise((resolve) => { window.give = resolve; }); location.hash = '#recordings'; return 1""")
    until(page, "return window.give !== null")
    page.run("location.hash = '#fleet'; return 1")
    until(page, "return document.querySelectorAll('a[data-gpu]').length === 4")
    page.run("window.give({sessions: []}); return 1")
    assert page.run("return new Promise((done) => setTimeout(() => done(document.querySelectorAll('a[data-gpu]').length), 0))") == 4


def test_elements_stay_when_they_are_renewed(page):
    got = page.run("""
      const root = h('div', {}, h('p', {id: 'x', title: 'old'}, 'a'), h('p', {}, 'b'), 'text', h('i', {})), first = root.firstChild;
      first.style.width = '5px';
      renew(root, h('p', {id: 'y'}, 'c', h('b', {}, 'd')), h('em', {}, 'b'), 'other');
      return [root.innerHTML, root.firstChild === first]""")
    assert got == ['<p id="y" style="width: 5px;">c<b>d</b></p><em>b</em>other', True]
    assert page.run("return h('a', {class: 'k', hidden: true, title: null, open: false}, [['x', null], 0, undefined]).outerHTML") == '<a class="k" hidden="">x0</a>'


# --- the report's page ---------------------------------------------------------------------------

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def pack(values, top):
    """Two letters a value, as the report has them."""
    numbers = [4095 if v is None else round(v / top * 4094) for v in values]
    return "".join(LETTERS[n // 64] + LETTERS[n % 64] for n in numbers)


# 80 seconds in 8 cells. A picture is 872 wide, of which a curve has 800 from 62: ten pixels a second; 86 in height from 24 to 110.
DATA = {
    "seconds": 80, "seconds_all": 80, "step": 0.1, "gap": 10, "start": 1_760_000_000, "many": False,
    "gpus": [{"name": "GPU 0", "classes": [[0, 40, 1], [40, 80, 0]]}, {"name": "GPU 1", "classes": [[10, 20, 1]]}],
    "phases": [["warm up", 0, 20], ["a phase with a long name", 20, 80], ["inside", 30, 35]], "events": [[5, "start"], [90, "late"]],
    "classes": [["idle", "idle"], ["compute", "compute"], ["unused", "mixed"]],
    "limiters": {"host.input": {"side": "host", "hatch": 1, "brief": "input", "words": "the input pipeline"},
                 "compute.tensor": {"side": "compute", "hatch": 0, "brief": "tensor cores", "words": "the tensor cores"}},
    "stretches": [[0, 30, [0, 1], "host.input", ""], [30, 80, [0], "compute.tensor", "power"]],
    "legend": [["compute.tensor", "tensor cores, power", "62 %", "the tensor cores, clocks held by the power limit"], ["host.input", "input", "38 %", "the input pipeline"]],
    "charts": [
        {"id": "sm", "title": "SM active", "unit": "%", "top": 100, "says": "mean 50", "gpus": True, "limits": [["limit", 80], ["beyond", 101]],
         "curves": [{"name": "GPU 0", "mean": pack([0, 50, 100, None, None, None, 50, 25], 100), "min": pack([0, 40, 100, None, None, None, 50, 25], 100),
                     "max": pack([0, 60, 100, None, None, None, 50, 25], 100)},
                    {"name": "GPU 1", "mean": pack([25] * 8, 100)}]},
        {"id": "io", "title": "Storage I/O", "unit": "GB/s", "top": 2.5, "says": "", "limits": [],
         "curves": [{"name": "read", "mean": pack([1] * 8, 2.5)}, {"name": "write", "mean": pack([2] * 8, 2.5)}]}]}
TABLE = """<div><table><thead><tr><th>name</th><th>power</th><th>share</th></tr></thead><tbody>
<tr><td>b10</td><td data-v="9">9 W</td><td>--</td></tr><tr><td>b9</td><td data-v="100">100 W</td><td data-v="3">3</td></tr><tr><td>a</td><td data-v="">--</td><td data-v="20">20</td></tr>
<tr><td>c</td><td data-v="50.5">50.5 W</td><td data-v="-1">-1</td></tr></tbody></table></div>"""


@pytest.fixture
def report(browser, tmp_path):
    """A page of data and a table; gives the browser."""

    def open_page(**changes):
        boxes = "".join(f'<div class="chart" data-m="{m}"></div>' for m in ("sm", "io", "strips"))
        data = json.dumps({**DATA, **changes})
        (tmp_path / "report.html").write_text(f"""<!DOCTYPE html><meta charset=utf-8><style>body {{margin: 0}} .chart {{width: 872px}} .chart svg {{display: block}}</style>
            <svg id=svg width=0 height=0 style="display: block"></svg><div id=tip style="position: fixed; display: none"></div><div id=bar></div><div id=chips></div>{boxes}<div id=legend></div>
            {TABLE}<script type=application/json id=data>{data}</script><script>{REPORT}</script>""")
        browser.open((tmp_path / "report.html").as_uri())
        return browser

    return open_page


def paths(page, chart, kind):
    return page.run(f"return [...document.querySelectorAll('[data-m={chart}] path.{kind}')].map((p) => p.getAttribute('d'))")


def lines(page, chart, kind):
    return page.run(f"return [...document.querySelectorAll('[data-m={chart}] line.{kind}')].map((l) => ['x1', 'y1', 'x2', 'y2'].map((k) => Math.round(100 * l.getAttribute(k)) / 100))")


def texts(page, chart):
    return page.run(f"return [...document.querySelectorAll('[data-m={chart}] text')].map((t) => [t.textContent, Math.round(100 * t.getAttribute('x')) / 100, +t.getAttribute('y')])")


def test_curves_stand_where_they_must(report):
    page = report()
    assert paths(page, "sm", "mean") == ["M112.0 110.0h.6L212.0 67.0L312.0 24.0M712.0 67.0h.6L812.0 88.5",
                                         "M112.0 88.5h.6" + "".join(f"L{x}.0 88.5" for x in range(212, 900, 100))]
    assert paths(page, "sm", "range") == ["M112.0 110.0L212.0 58.4L312.0 24.0L312.0 24.0L212.0 75.6L112.0 110.0ZM712.0 67.0L812.0 88.5L812.0 88.5L712.0 67.0Z"]
    assert paths(page, "io", "mean") == [f"M112.0 {y}h.6" + "".join(f"L{x}.0 {y}" for x in range(212, 900, 100)) for y in ("75.6", "41.2")]
    assert lines(page, "sm", "limit") == [[62, 41.2, 862, 41.2]]
    assert lines(page, "sm", "event") == [[112, 24, 112, 110]]
    assert [line for line in lines(page, "sm", "grid") if line[1] == line[3]] == [[62, 110, 862, 110], [62, 67, 862, 67], [62, 24, 862, 24]]
    assert [line[0] for line in lines(page, "sm", "grid") if line[0] == line[2]] == [62, 212, 362, 512, 662, 812]
    assert texts(page, "sm") == [
        ["SM active, %", 62, 15], *([f"{15 * i} s", 62 + 150 * i, 124] for i in range(6)),
        ["warm up", 65, 35], ["a phase with a long name", 265, 35], ["inside", 365, 47], ["0", 56, 114], ["50", 56, 71], ["100", 56, 28], ["limit 80.0", 862, 15]]
    assert texts(page, "io")[-5:] == [["0", 56, 114], ["1.25", 56, 71], ["2.5", 56, 28], ["read", 232, 15], ["write", 292, 15]]
    assert page.run("return [...document.querySelectorAll('[data-m=sm] rect.band')].map((r) => [r.getAttribute('class'), ...['x', 'y', 'width', 'height'].map((k) => +r.getAttribute(k))])") == [
        ["band", 62, 24, 200, 86], ["band odd", 262, 24, 600, 86], ["band", 362, 24, 50, 86]]
    assert page.run("return document.querySelector('[data-m=sm]').ariaLabel") == "SM active, %: mean 50"
    assert page.complaints() == []


def test_classes_and_limiters_of_gpus(report):
    page = report()
    # Two lanes a GPU, of 15 and 19 pixels: its classes, below them its limiters, which have a hatch each beside their colour.
    got = page.run("return Object.fromEntries([...document.querySelectorAll('[data-m=strips] path')].map((p) => [p.getAttribute('fill'), p.getAttribute('d')]))")
    assert got == {"var(--side-compute)": "M62.0 24H462.0V39H62.0ZM362.0 39H862.0V58H362.0ZM162.0 62H262.0V77H162.0Z", "var(--side-idle)": "M462.0 24H862.0V39H462.0Z",
                   "var(--side-host)": "M62.0 39H362.0V58H62.0ZM62.0 77H362.0V96H62.0Z", "url(#hatch1)": "M62.0 39H362.0V58H62.0ZM62.0 77H362.0V96H62.0Z"}
    assert page.run("return [...document.querySelectorAll('#svg pattern')].map((p) => p.id)") == [f"hatch{i}" for i in range(1, 8)]
    assert [t for t in texts(page, "strips") if t[0].startswith("GPU")] == [["GPU 0", 56, 45], ["GPU 1", 56, 83]]
    words = page.run("return [...document.querySelectorAll('[data-m=strips] .word')].map((t) => [t.textContent, +t.getAttribute('x'), +t.getAttribute('y')])")
    assert words == [["compute", 262, 35.5], ["idle", 662, 35.5], ["input", 212, 52.5], ["tensor cores", 612, 52.5], ["compute", 212, 73.5], ["input", 212, 90.5]]
    assert page.run("return [...document.querySelectorAll('#legend > span')].map((e) => [e.textContent, e.title])") == [
        ["Limiters, of the run:", ""], ["tensor cores, power 62 %", "the tensor cores, clocks held by the power limit"], ["input 38 %", "the input pipeline"], ["Classes:", ""], ["idle", ""], ["compute", ""]]


def test_words_stand_where_they_have_room(report):
    """A stretch too short for its word has its hatch; several of one limiter have one word."""
    page = report(stretches=[[0, 5, [0], "compute.tensor", ""], [5, 30, [0], "host.input", ""], [30, 50, [0], "host.input", "power"], [50, 80, [0], "compute.tensor", ""]])
    words = page.run("return [...document.querySelectorAll('[data-m=strips] .word')].filter((t) => +t.getAttribute('y') > 40 && +t.getAttribute('y') < 60).map((t) => [t.textContent, +t.getAttribute('x')])")
    assert words == [["input", 337], ["tensor cores", 712]]


def test_of_many_gpus_the_limiter_of_most_is_in_words(report):
    names = [{"name": f"GPU {i}", "classes": []} for i in range(20)]
    page = report(gpus=names, many=True, charts=[], stretches=[[0, 40, list(range(20)), "host.input", ""], [40, 80, list(range(15)), "compute.tensor", ""], [40, 80, [15, 16, 17, 18, 19], "host.input", ""]])
    assert page.run("return [...document.querySelectorAll('[data-m=strips] .word')].map((t) => [t.textContent, +t.getAttribute('x')])") == [["input", 262], ["tensor cores", 662]]
    assert [t[0] for t in texts(page, "strips")][7:] == ["most GPUs", "GPU 0", "GPU 8", "GPU 16", "input", "tensor cores"]
    assert point(page, "strips", 662, 24 + 22 + 17 * 14 + 3)[1].split("\n")[1:] == ["GPU 17", "class  --", "limiter  the input pipeline"]


POINT = """const b = document.querySelector('[data-m=%s]').getBoundingClientRect();
document.querySelector('[data-m=%s]').dispatchEvent(new PointerEvent('pointer%s', {clientX: b.left + %s, clientY: b.top + %s, button: 0, pointerId: 1, shiftKey: %s, bubbles: true}));
return [document.getElementById('tip').style.display, document.getElementById('tip').textContent]"""


def point(page, chart, x, y=60, what="move", shift="false"):
    page.run("Element.prototype.setPointerCapture = () => {}; return 1")
    return page.run(POINT % (chart, chart, what, x, y, shift))


@pytest.mark.parametrize("chart, x, y, said", [
    ("sm", 213, 60, "15.1 s  08:53:35 UTC  warm up\nGPU 0  50.0 %  (40.0 to 60.0)\nGPU 1  25.0 %"),
    ("sm", 362, 60, "30.0 s  08:53:50 UTC  a phase with a long name > inside\nGPU 0  100 %\nGPU 1  25.0 %"),
    ("sm", 482, 60, "42.0 s  08:54:02 UTC  a phase with a long name\nGPU 0  --\nGPU 1  25.0 %"),
    ("sm", 862, 60, "80.0 s  08:54:40 UTC  a phase with a long name\nGPU 0  25.0 %\nGPU 1  25.0 %"),
    ("io", 62, 60, "0.0 s  08:53:20 UTC  warm up\nread  1.00 GB/s\nwrite  2.00 GB/s"),
    ("strips", 172, 30, "11.0 s  08:53:31 UTC  warm up\nGPU 0\nclass  compute\nlimiter  the input pipeline"),
    ("strips", 562, 30, "50.0 s  08:54:10 UTC  a phase with a long name\nGPU 0\nclass  idle\nlimiter  the tensor cores, clocks held by power"),
    ("strips", 562, 66, "50.0 s  08:54:10 UTC  a phase with a long name\nGPU 1\nclass  --\nlimiter  --"),
    ("strips", 62, 4, "0.0 s  08:53:20 UTC  warm up\nGPU 0\nclass  compute\nlimiter  the input pipeline"),
    ("strips", 172, 90, "11.0 s  08:53:31 UTC  warm up\nGPU 1\nclass  compute\nlimiter  the input pipeline"),
])
def test_the_pointer_is_told_what_was_there(report, chart, x, y, said):
    page = report()
    assert point(page, chart, x, y) == ["block", said]
    assert lines(page, "io", "cross") == [[x, 24, x, 110]]
    assert point(page, chart, 40, y)[0] == "none"


def seconds(page):
    """From where to where the pictures go."""
    return [float(point(page, "io", x)[1].split(" ")[0]) for x in (62, 862)]


def test_zoom_and_pan(report):
    page = report()
    press = "const b = [...document.querySelectorAll('#bar button')].find((b) => b.ariaLabel === '%s'); b.click(); return 1"
    for label, wanted in (("zoom in", [20, 60]), ("zoom in", [30, 50]), ("earlier", [25, 45]), ("later", [30, 50]), ("later", [35, 55]), ("zoom out", [25, 65]), ("zoom out", [0, 80]),
                          ("zoom in", [20, 60]), ("earlier", [10, 50]), ("earlier", [0, 40]), ("earlier", [0, 40]), ("whole run", [0, 80])):
        page.run(press % label)
        assert seconds(page) == wanted, label
    key = "document.querySelector('[data-m=io]').dispatchEvent(new KeyboardEvent('keydown', {key: '%s'})); return 1"
    for name, wanted in (("+", [20, 60]), ("=", [30, 50]), ("ArrowRight", [35, 55]), ("ArrowLeft", [30, 50]), ("-", [20, 60]), ("x", [20, 60]), ("0", [0, 80])):
        page.run(key % name)
        assert seconds(page) == wanted, name

    def drag(a, b, shift="false"):
        point(page, "sm", a, what="down", shift=shift)
        point(page, "sm", b)
        pick = page.run("const r = document.querySelector('[data-m=sm] .pick'); return [r.getAttribute('visibility'), +r.getAttribute('x'), +r.getAttribute('width')]")
        point(page, "sm", b, what="up")
        return pick

    assert drag(662, 262) == ["visible", 262, 400] and seconds(page) == [20, 60]
    drag(262, 462, "true")
    assert seconds(page) == [10, 50], "shift moves what is under the pointer along"
    drag(262, 267)
    assert seconds(page) == [10, 50], "a click is no drag"
    page.run("document.querySelector('[data-m=sm]').dispatchEvent(new MouseEvent('dblclick')); return 1")
    assert seconds(page) == [0, 80]
    assert page.run("return document.querySelector('[data-m=sm] .pick').getAttribute('visibility')") == "hidden"
    for _ in range(12):
        page.run(press % "zoom in")
    assert seconds(page) == [39.6, 40.4], "no closer than eight cells"


def test_zoomed_curves_go_on_at_the_edges(report):
    page = report()
    page.run("[...document.querySelectorAll('#bar button')].find((b) => b.ariaLabel === 'zoom in').click(); return 1")
    assert paths(page, "sm", "mean") == ["M62.0 67.0h.6L162.0 24.0M862.0 67.0h.6", "M62.0 88.5h.6L162.0 88.5L362.0 88.5L562.0 88.5L762.0 88.5L862.0 88.5"]
    assert ["a phase with a long name", 65, 35] in texts(page, "sm") and ["warm up", 65, 35] not in texts(page, "sm")


def test_chips_choose_gpus(report):
    page = report()
    chips = "const b = [...document.querySelectorAll('#chips button')]; b[%d].click(); return b.map((e) => [e.textContent, e.ariaPressed, e.style.borderLeft])"
    assert page.run(chips % 0) == [["GPU 0", "false", "8px solid var(--c0)"], ["GPU 1", "true", "8px solid var(--c1)"]]
    assert len(paths(page, "sm", "mean")) == 1 and len(paths(page, "io", "mean")) == 2
    assert page.run(chips % 0)[0][1] == "true" and len(paths(page, "sm", "mean")) == 2
    assert page.run("return [...document.querySelectorAll('[data-m=sm] path.mean')].map((p) => p.getAttribute('stroke'))") == ["var(--c0)", "var(--c1)"]


def test_many_gpus_are_a_mean_until_one_is_chosen(report):
    chart = {**DATA["charts"][0], "all": {"mean": pack([30] * 8, 100), "min": pack([25] * 8, 100), "max": pack([50] * 8, 100)}}
    page = report(many=True, charts=[chart])
    band = "".join(f"{'M' if x == 112 else 'L'}{x}.0 67.0" for x in range(112, 900, 100)) + "".join(f"L{x}.0 88.5" for x in range(812, 100, -100)) + "Z"
    assert paths(page, "sm", "range") == [band] and len(paths(page, "sm", "mean")) == 1
    said = point(page, "sm", 213)[1].split("\n")[1:]
    assert said == ["mean  30.0 %  (25.0 to 50.0)", "lowest  GPU 1  25.0 %", "highest  GPU 0  50.0 %"]
    page.run("document.querySelectorAll('#chips button')[1].click(); return 1")
    assert page.run("return [...document.querySelectorAll('[data-m=sm] path.mean')].map((p) => p.getAttribute('stroke'))") == ["var(--c0)", "var(--c2)"]
    assert point(page, "sm", 213)[1].split("\n")[4:] == ["GPU 1  25.0 %"]


@pytest.mark.parametrize("length, moment, labels", [
    (80, "40.0 s", ["0 s", "15 s", "30 s"]), (179, "89.5 s", ["0 s", "30 s", "60 s"]), (3600, "30:00 min", ["0:00 min", "10:00 min", "20:00 min"]),
    (7200, "60:00 min", ["0:00 min", "30:00 min", "60:00 min"]), (86400, "12:00 h", ["0:00 h", "6:00 h", "12:00 h"]), (2, "1.0 s", ["0 s", "1 s", "2 s"])])
def test_the_axis_of_time(report, length, moment, labels):
    page = report(seconds=length, seconds_all=length, phases=[], start=0)
    assert point(page, "io", 462)[1].split("\n")[0] == moment
    assert [t[0] for t in texts(page, "io") if re.search(r" (s|min|h)$", t[0])][:3] == labels


@pytest.mark.parametrize("column, clicks, order, sort", [
    (0, 1, ["c", "b10", "b9", "a"], "descending"), (0, 2, ["a", "b9", "b10", "c"], "ascending"),
    (1, 1, ["b9", "c", "b10", "a"], "descending"), (1, 2, ["b10", "c", "b9", "a"], "ascending"), (1, 3, ["b9", "c", "b10", "a"], "descending"),
    (2, 1, ["a", "b9", "c", "b10"], "descending"), (2, 2, ["c", "b9", "a", "b10"], "ascending")])
def test_what_is_missing_is_sorted_last(report, column, clicks, order, sort):
    page = report()
    got = page.run(f"""for (let i = 0; i < {clicks}; i++) document.querySelectorAll('th button')[{column}].click();
      return [[...document.querySelectorAll('tbody tr')].map((r) => r.cells[0].textContent), [...document.querySelectorAll('th')].map((h) => h.ariaSort)]""")
    assert got == [order, [sort if i == column else None for i in range(3)]]
