"""'assay fleet' against a real Prometheus and a real VictoriaMetrics with 200 simulated GPUs, whose books it must meet; and against servers that misbehave."""
import contextlib
import http.server
import json
import subprocess
import sys
import threading
import time

import pytest

from conftest import ROOT
from engines import Prometheus, VictoriaMetrics, need
from test_top import Terminal

sys.path.insert(0, str(ROOT / "tests" / "fleet"))
sim = pytest.importorskip("sim", reason="the simulated fleet needs numpy")

WINDOW = 4 * 3600
LEAD = 4500
SCRAPE = 60


def make_fleet(end):
    """25 nodes, a third of them shared, with everything that goes wrong in a fleet."""
    fleet = sim.Fleet(25, end - WINDOW - LEAD, end, seed=7, users=8)
    fleet.short_jobs(2, 3, end - 4000)  # jobs within a scrape interval
    fleet.short_jobs(5, 1, end - 9000, count=9, length=12)
    fleet.gone[4] = [(end - 8000, end - 7400)]  # a node that is away for ten minutes
    fleet.gone[8] = [(end - 5000, end - 4935)]  # an exporter that is restarted
    fleet.reset[7] = end - 5000  # counters that begin at 0
    fleet.skew[9], fleet.skew[10] = 22, -17  # clocks that differ
    return fleet


class Loaded:
    def __init__(self, engine, fleet):
        self.engine, self.fleet, self.end = engine, fleet, int(fleet.end)

    def ask(self, assay, *words, window="4h"):
        until = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.end))
        return assay("fleet", *words, "--engine", self.engine.url, "--window", window, "--until", until, "--format", "json", "--limit", "500")

    def json(self, assay, *words, **more):
        done = self.ask(assay, *words, **more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module", params=[Prometheus, VictoriaMetrics])
def loaded(request, tmp_path_factory):
    need(request.param.kind)
    end = int(time.time()) // 300 * 300
    fleet = make_fleet(end)
    with request.param(tmp_path_factory.mktemp(request.param.kind)) as engine:
        sim.backfill(engine.url, fleet.all_series(SCRAPE), fleet.start, fleet.end, slice_s=3600)
        engine.wait(lambda: engine.query("count(assay_gpu_info)", time=end))
        yield Loaded(engine, fleet)


def check(told, books, late, what):
    """Within 1 % of the books. The newest scrape is up to a minute old: the books of a minute before are as right."""
    assert set(told) == set(books), what
    for who, want in books.items():
        least, most = sorted((want, late.get(who, 0)))
        assert least * 0.99 <= told[who] <= most * 1.01, (what, who, told[who], want)


def totals(books):
    return {who: sum(b["wasted"].values()) for who, b in books.items()}


def test_books(loaded, assay):
    """Every user's time held and wasted, in all and by reason."""
    start = loaded.end - WINDOW
    books, late = loaded.fleet.books(start, loaded.end), loaded.fleet.books(start - SCRAPE, loaded.end - SCRAPE)
    report = loaded.json(assay, "users")
    rows = {row["owner"]: row for row in report["owners"]}
    check({u: r["held_seconds"] for u, r in rows.items()}, {u: b["held"] for u, b in books.items()}, {u: b["held"] for u, b in late.items()}, "held")
    check({u: r["wasted_seconds"] for u, r in rows.items()}, totals(books), totals(late), "wasted")
    assert not report["recorded"] and all(r["kind"] == "slurm" and 0.9 < r["observed"] <= 1 for r in rows.values())
    wasted = {row["owner"]: row for row in loaded.json(assay, "wasted")["owners"]}
    for reason in sim.REASONS[:4]:
        check({u: r[f"{reason}_seconds"] for u, r in wasted.items()}, {u: b["wasted"].get(reason, 0) for u, b in books.items()},
              {u: b["wasted"].get(reason, 0) for u, b in late.items()}, reason)


def test_jobs_of_seconds(loaded, assay):
    """Nine jobs of twelve seconds one after the other, within two scrapes: each has its own time."""
    first = next(s for s in loaded.fleet.gpus[5][1].stays if s.end - s.start == 12)
    for stay in [s for s in loaded.fleet.gpus[5][1].stays if s.end - s.start == 12][:4]:
        card = loaded.json(assay, "job", stay.owner["job"], window="6h")["job"]
        assert card["owner"] == stay.owner["user"] and card["gpus"] == 1 and card["kind"] == "slurm"
        if stay is not first:
            assert card["held_seconds"] is None or card["held_seconds"] <= 12.5


def test_card(loaded, assay):
    """A job of a whole node against its books."""
    books = loaded.fleet.books(loaded.fleet.start - 86400, loaded.end, key="job")
    stay = max((s for node in loaded.fleet.gpus for s in node[0].stays if loaded.fleet.start + 600 < s.start and s.end < loaded.end - 900), key=lambda s: s.end - s.start)
    job = stay.owner["job"]
    report = loaded.json(assay, "job", job, window="6h")
    card = report["job"]
    assert card["job"] == job and card["owner"] == stay.owner["user"] and card["account"] == stay.owner["account"]
    assert abs(card["held_seconds"] - books[job]["held"]) <= 0.01 * books[job]["held"] + SCRAPE
    assert abs(card["wasted_seconds"] - sum(books[job]["wasted"].values())) <= 0.01 * sum(books[job]["wasted"].values())
    assert abs(card["begin"] - stay.start) <= 2 * SCRAPE and abs(card["end"] - stay.end) <= 900
    assert len(report["gpus"]) == card["gpus"] and report["limiters"]


def test_overview(loaded, assay):
    report = loaded.json(assay, "overview")
    fleet = report["fleet"]
    assert (fleet["gpus"], fleet["nodes"], fleet["answering"]) == (200, 25, 200)
    assert 0.95 < fleet["observed"] <= 1 and 0 <= fleet["unattributed_seconds"] < 0.01 * fleet["held_seconds"]
    wasted = totals(loaded.fleet.books(loaded.end - WINDOW, loaded.end))
    assert abs(fleet["wasted_seconds"] - sum(wasted.values())) < 0.02 * sum(wasted.values())
    assert {row["health"] for row in report["health"]} == {"OK"} and report["limiters"][0]["limiter"] == "compute.tensor"
    nodes = {row["node"]: row for row in loaded.json(assay, "nodes")["nodes"]}
    assert len(nodes) == 25 and nodes["n0003"]["gpus"] == 8 and nodes["n0003"]["answering"] == 8


def test_every_view_and_format(loaded, assay):
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(loaded.end))
    for view, form in (("jobs", "text"), ("nodes", "csv"), ("wasted", "csv"), ("limiters", "text"), ("health", "text"), ("users", "text")):
        done = assay("fleet", view, "--engine", loaded.engine.url + "/api/v1/", "--format", form, "--limit", "3", "--window", "5m", "--until", until)
        assert done.returncode == 0 and done.stdout, (view, form, done.stderr)
    # What was stored ends: at a later time nothing is of now, and it says so.
    done = assay("fleet", "--engine", loaded.engine.url, "--window", "40m", "--until", time.strftime("%Y-%m-%d %H:%M", time.localtime(loaded.end + 1800)))
    assert done.returncode == 0 and "what is shown is old" in done.stdout and "was not observed" in done.stdout


def test_rules_give_the_same(loaded, assay):
    """The recording rules, evaluated every five minutes over the window and stored: the same sums, and they are used."""
    if loaded.engine.kind == "prometheus":
        pytest.skip("promtool tests the rules; here VictoriaMetrics evaluates the same text")
    rules = json.loads(subprocess.run(["/usr/bin/python3", "-c", "import json,sys,yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)"],
                                      input=(ROOT / "deploy/prometheus/rules/fleet.yml").read_text(), capture_output=True, text=True, check=True).stdout)
    before = {row["owner"]: row for row in loaded.json(assay, "users")["owners"]}
    fleet = loaded.json(assay, "overview")["fleet"]
    # Those of the fleet are made of the nodes'.
    for made_of in ("assay_gpu", "assay:"):
        series = []
        for rule in [r for r in rules["groups"][0]["rules"] if made_of in r["expr"]]:
            got = loaded.engine.ask("/api/v1/query_range", query=rule["expr"], start=loaded.end - WINDOW - 600, end=loaded.end, step=300, nocache=1)["data"]["result"]
            for one in got:
                times, values = zip(*one["values"])
                series.append(({**one["metric"], "__name__": rule["record"]}, sim.np.array(times, float), sim.np.array(values, float)))
        sim.backfill(loaded.engine.url, series, loaded.end - WINDOW - 600, loaded.end + 1, slice_s=86400)
        loaded.engine.wait(lambda: loaded.engine.query("assay:node_gpus:count", time=loaded.end))
    loaded.engine.wait(lambda: loaded.engine.query("assay:fleet_nodes:count", time=loaded.end))
    told = loaded.json(assay, "overview")
    assert told["recorded"] and (told["fleet"]["gpus"], told["fleet"]["nodes"]) == (200, 25)
    for key in ("answering", "held_now", "held_seconds", "wasted_seconds", "real_util"):
        assert told["fleet"][key] == pytest.approx(fleet[key], rel=0.02), key
    report = loaded.json(assay, "users")
    assert report["recorded"]
    for row in report["owners"]:
        for key in ("held_seconds", "wasted_seconds", "real_util"):
            assert row[key] == pytest.approx(before[row["owner"]][key], rel=0.01), (row["owner"], key)


def test_rules_with_promtool():
    need("promtool")
    done = subprocess.run(["promtool", "test", "rules", "tests/fleet/rules_test.yml"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_ask_what_the_program_asks(assay):
    """One question has one text: a rule's is what 'assay fleet --queries' shows."""
    rules = (ROOT / "deploy/prometheus/rules/fleet.yml").read_text().replace("[5m]", "[300s]").replace("offset 5m", "offset 300s")
    for view in ("users", "nodes", "limiters", "health"):
        asked = assay("fleet", view, "--queries").stdout.split("# with the recording rules")[0].replace("{}", "")
        for line in asked.splitlines():
            if line.startswith("sum_over_time(("):
                assert line[len("sum_over_time(("):line.rindex(")[")] in rules, line


# --- servers that misbehave ------------------------------------------------------------------------


@contextlib.contextmanager
def answering(respond):
    """A server; respond(handler, form) does what it wants."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            with contextlib.suppress(OSError):
                respond(self, self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def send(handler, status, body, **headers):
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def vector(*series):
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": [{"metric": m, "value": [1, v]} for m, v in series]}}).encode()


WRONG = [
    # status, body, exit status, words
    (200, b"<html>hello</html>", 1, "is none of a PromQL API: it is not JSON"),
    (200, b"", 1, "it is not JSON"),
    (200, b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{}}]}}', 1, "a series has no labels or no value"),
    (200, vector(), 3, "has no series of 'assay serve' in this window"),
    (400, b'{"status":"error","errorType":"bad_data","error":"parse error: \\u001b[31mred"}', 3, "refuses a question: parse error: ?[31mred"),
    (503, b'{"status":"error","errorType":"timeout","error":"query timed out"}', 3, "query timed out"),
    (401, b"no", 3, "--token-file"),
    (404, b"no", 3, "--engine wants the base address"),
    (302, b"", 3, "redirects are not followed"),
    (502, b"bad gateway", 3, "the server answers 502"),
    (200, b"[" * 100000, 1, "it is not JSON"),
]


@pytest.mark.parametrize("status,body,code,words", WRONG)
def test_wrong_answers(assay, status, body, code, words):
    with answering(lambda handler, form: send(handler, status, body)) as url:
        done = assay("fleet", "users", "--engine", url)
    assert done.returncode == code and words in done.stderr and not done.stdout, done.stderr
    assert "\x1b" not in done.stderr and url in done.stderr


def test_slow_and_down(assay):
    until = threading.Event()
    with answering(lambda handler, form: until.wait(20)) as url:
        begun = time.monotonic()
        done = assay("fleet", "--engine", url, "--timeout", "0.3")
        took = time.monotonic() - begun
        until.set()
    assert done.returncode == 3 and "no answer within 0.3 s" in done.stderr and "--window" in done.stderr and took < 15
    done = assay("fleet", "--engine", url)
    assert done.returncode == 3 and "cannot ask" in done.stderr


def test_who_asks(assay, tmp_path):
    """Token, tenant and user go where they belong, and nowhere else."""
    seen = []

    def respond(handler, form):
        seen.append((handler.path, dict(handler.headers)))
        send(handler, 200, vector(({"user": "u"}, "60")))

    (tmp_path / "token").write_text("s3cret\n")
    with answering(respond) as url:
        done = assay("fleet", "users", "--engine", url + "/select/0/prometheus", "--token-file", tmp_path / "token", "--tenant", "team-a")
        assert done.returncode == 0, done.stderr
        assert all(path == "/select/0/prometheus/api/v1/query" for path, _ in seen) and len(seen) == 5
        assert all(h["Authorization"] == "Bearer s3cret" and h["X-Scope-OrgID"] == "team-a" for _, h in seen)
        done = assay("fleet", "users", "--engine", url.replace("//", "//me:hunter2@"), "--format", "json")
        assert "hunter2" not in done.stdout and seen[-1][1]["Authorization"].startswith("Basic ")
    assert assay("fleet", "--engine", url, "--tenant", "a b").returncode == 2


@pytest.mark.parametrize("args,words", [
    ((), "no engine to ask"), (("--engine", "ftp://x"), "not the address of an engine"), (("nope",), "unknown view 'nope'"), (("users", "x"), "unexpected argument 'x'"),
    (("job",), "name one job"), (("--window", "5x"), "--window: '5x' is not a span"), (("--since", "x"), "--since: 'x' is not a time"),
    (("--since", "1h", "--until", "2h"), "is not before the end"), (("--live", "--engine", "http://x"), "needs a terminal"), (("--engine", "http://x/?a=b"), "not the address"),
])
def test_wrong_usage(assay, args, words):
    done = assay("fleet", *args)
    assert done.returncode == 2 and words in done.stderr, done.stderr


def test_live_marks_old_data(program, tmp_path, monkeypatch):
    """The screen keeps what it has when the engine goes away, and says how old it is."""
    need("tmux")
    monkeypatch.chdir(tmp_path)
    fails = threading.Event()

    def respond(handler, form):
        send(handler, 503 if fails.is_set() else 200, b"down" if fails.is_set() else vector(({"user": "alice", "kind": "slurm", "reason": "starved"}, "7200")))

    with answering(respond) as url:
        terminal = Terminal(program, tmp_path, width=110, height=20)
        try:
            terminal.type(f"stty -a >before; {program} fleet users --live --poll 0.3 --engine {url}; echo rc=$?; stty -a >after")
            screen = terminal.wait("alice")
            assert "2 users" in screen and "2.00" in screen and "100.0" in screen
            fails.set()
            screen = terminal.wait("OLD: no answer")
            assert "alice" in screen and "the server answers 503" in screen
            fails.clear()
            terminal.keys("r")
            terminal.wait("every 0.3 s")
            terminal.keys("5")
            terminal.wait("Wasted, by owner")
            terminal.keys("?")
            terminal.wait("a longer or shorter window")
            terminal.keys("q", "q")
            assert terminal.intact() == 0
        finally:
            terminal.close()
