"""'assay fleet' against a real Prometheus and a real VictoriaMetrics with 200 simulated GPUs, whose books it must meet; and against servers that misbehave."""
import contextlib
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

import pytest
import yaml

from conftest import ROOT
from engines import Prometheus, VictoriaMetrics, need
from test_schema import check as check_schema
from test_schema import schema_of
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
    fleet.short_jobs(6, 1, end - 1000, count=2, length=120)  # and the job of the last minutes
    fleet.gone[4] = [(end - 8000, end - 7400)]  # a node that is away for ten minutes
    fleet.gone[8] = [(end - 5000, end - 4935)]  # an exporter that is restarted
    fleet.reset[7] = end - 5000  # counters that begin at 0
    fleet.skew[9], fleet.skew[10] = 22, -17  # clocks that differ
    fleet.mix({13: "A100", 14: "A100", 15: "MI300X", 16: "MI300X", 17: "mig", 18: "mig", 19: "shared", 20: "shared"})
    return fleet


NODE_WATTS = {"cpu": 200, "node": 3000}
NO_METER = 3  # a node whose machine counts nothing


def node_energy(fleet):
    for n in range(fleet.nodes):
        for part, watts in NODE_WATTS.items():
            t = fleet.node_times(n, SCRAPE)
            if n != NO_METER:
                yield {"__name__": "assay_node_energy_joules_total", "job": "assay", "instance": f"n{n:04d}", "part": part}, t, (t - t[0]) * watts


def stored(fleet):
    """The series as engines have them that know a node twice: two replicas scraped one; the labels of another changed, and those of a third with its pod."""
    middle = fleet.end - 6000
    yield from node_energy(fleet)
    for labels, t, v in fleet.all_series(SCRAPE):
        if labels["instance"] == "n0011":
            yield {**labels, "replica": "a"}, t, v
            keep = abs(t - middle) > 700
            yield {**labels, "replica": "b"}, t[keep], v[keep]
        elif labels["instance"] in ("n0007", "n0012"):
            at = fleet.reset.get(int(labels["instance"][1:]), middle)
            yield {**labels, "pod": "assay-x"}, t[t < at], v[t < at]
            yield {**labels, "pod": "assay-y"}, t[t >= at], v[t >= at]
        else:
            yield labels, t, v


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
        sim.backfill(engine.url, [one for one in stored(fleet) if len(one[1])], fleet.start, fleet.end, slice_s=3600)
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
    assert not report["recorded"] and all(r["kind"] == "slurm" and 0.6 < r["observed"] <= 1 for r in rows.values())
    wasted = {row["owner"]: row for row in loaded.json(assay, "wasted")["owners"]}
    for reason in sim.REASONS[:4]:
        check({u: r[f"{reason}_seconds"] for u, r in wasted.items()}, {u: b["wasted"].get(reason, 0) for u, b in books.items()},
              {u: b["wasted"].get(reason, 0) for u, b in late.items()}, reason)


def test_what_is_not_known_is_no_zero(loaded, assay):
    """Nodes without counters: their waste counts, what they did else is unknown, and neither makes anyone's Real Utilization smaller."""
    use = loaded.fleet.use(loaded.end - WINDOW, loaded.end)
    told = {row["owner"]: row for row in loaded.json(assay, "users")["owners"]}
    for user, want in use.items():
        held = told[user]["held_seconds"]
        assert told[user]["real_util"] == pytest.approx(want["real"] / want["counted"], rel=0.02), user
        assert told[user]["observed"] * held == pytest.approx(want["known"], rel=0.01), user
    nodes = {row["node"]: row for row in loaded.json(assay, "nodes")["nodes"]}
    for n in loaded.fleet.uncounted:
        row = nodes[f"n{n:04d}"]
        assert row["real_util"] is None and 0 <= row["observed"] < 1 and row["wasted_seconds"] >= 0
    assert any(nodes[f"n{n:04d}"]["wasted_seconds"] > 600 for n in loaded.fleet.uncounted)
    assert nodes["n0001"]["real_util"] > 0 and nodes["n0001"]["observed"] > 0.99


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
    ledger = {row["part"]: row["seconds"] for row in report["ledger"]}
    assert sum(ledger.values()) == pytest.approx(card["held_seconds"]) and sum(row["share"] for row in report["ledger"]) == pytest.approx(1)
    assert ledger["work"] == pytest.approx(card["goodput"] * card["held_seconds"])
    assert sum(s for part, s in ledger.items() if part not in ("work", "unobserved")) == pytest.approx(card["wasted_seconds"])
    assert ledger.get("unobserved", 0) == pytest.approx((1 - card["observed"]) * card["held_seconds"], abs=1)
    lost = loaded.json(assay, "jobs", window="6h")["jobs"]
    assert all(row["goodput"] is None or 0 <= row["goodput"] <= row["observed"] - row["wasted"] + 1e-6 for row in lost) and any(row["goodput"] for row in lost)


def test_energy_of_a_jobs_nodes(loaded, assay):
    """What its nodes used while it held a GPU of theirs; where a node counts nothing it is unknown, and no sum of the others."""
    ended = [s for node in loaded.fleet.gpus for s in node[0].stays if loaded.fleet.start + 600 < s.start and s.end < loaded.end - 900 and s.end - s.start > 1200]
    alone = {job for job in (s.owner["job"] for s in ended) if len({n for n, node in enumerate(loaded.fleet.gpus) for g in node for s in g.stays if s.owner["job"] == job}) == 1}
    metered = next(s for s in ended if s.owner["job"] in alone and s not in loaded.fleet.gpus[NO_METER][0].stays)
    card = json.loads(loaded.ask(assay, "job", metered.owner["job"], "--co2", "400", window="6h").stdout)["job"]
    length = metered.end - metered.start
    assert card["cpu_energy_j"] == pytest.approx(length * 200, rel=0.01, abs=2 * SCRAPE * 200)
    assert card["node_energy_j"] == pytest.approx(length * 3000, rel=0.01, abs=2 * SCRAPE * 3000)
    assert card["node_co2_g"] == pytest.approx(card["node_energy_j"] / 3.6e6 * 400)
    without = loaded.fleet.gpus[NO_METER][0].stays[-1]
    card = loaded.json(assay, "job", without.owner["job"], window="6h")["job"]
    assert card["cpu_energy_j"] is None and card["node_energy_j"] is None and card["node_co2_g"] is None


def test_card_of_the_last_minutes(loaded, assay):
    """Without --window a month is looked at: a job of two minutes is found in it, and the last quarter of an hour counts."""
    at = loaded.end - 60
    for stay in loaded.fleet.gpus[6][1].stays[-3:]:
        until = time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
        done = assay("fleet", "job", stay.owner["job"], "--engine", loaded.engine.url, "--until", until, "--format", "json")
        assert done.returncode == 0, done.stderr
        card = json.loads(done.stdout)["job"]
        # Jobs of two minutes begin after their slot's first scrape and end before their last.
        want = min(stay.end, at) - stay.start
        assert want - 2 * SCRAPE <= (card["held_seconds"] or 0) <= want * 1.01 and card["owner"] == stay.owner["user"], (want, card)
    assert card["held_seconds"] > 500


def test_no_more_is_wasted_than_held(loaded, assay):
    """Short windows within a long idle stay: what was known to be wasted only in the window is of the time before, too."""
    for back in (1200, 2400, 3000):
        until = time.strftime("%Y-%m-%d %H:%M", time.localtime(loaded.end - back))
        for view, rows in (("nodes", "nodes"), ("users", "owners"), ("jobs", "jobs")):
            done = assay("fleet", view, "--engine", loaded.engine.url, "--window", "5m", "--until", until, "--format", "json", "--limit", "500")
            assert done.returncode == 0, done.stderr
            for row in json.loads(done.stdout)[rows]:
                assert (row["wasted_seconds"] or 0) <= (row["held_seconds"] or 0) + 1e-6, (back, row)


def archive_rules():
    groups = yaml.safe_load((ROOT / "deploy" / "prometheus" / "archive" / "archive.yml").read_text())["groups"]
    assert [g["interval"] for g in groups] == ["15m"]
    return {rule["record"]: rule["expr"] for rule in groups[0]["rules"]}


def test_archive_has_each_job(loaded):
    """What the rules of the archive write every quarter of an hour adds up to each job's books."""
    books = loaded.fleet.books(loaded.end - WINDOW, loaded.end, key="job")
    for record, value in (("assay:job_held_seconds:increase15m", lambda b: b["held"]), ("assay:job_wasted_seconds:increase15m", lambda b: sum(b["wasted"].values()))):
        told = {}
        for at in range(loaded.end - WINDOW + 900, loaded.end + 1, 900):
            for one in loaded.engine.query(archive_rules()[record], time=at):
                assert set(one["metric"]) <= {"kind", "user", "account", "partition", "exported_job", "job", "pod"} and float(one["value"][1]) > 0
                told[one["metric"]["exported_job"]] = told.get(one["metric"]["exported_job"], 0) + float(one["value"][1])
        # The first minutes of a slot that was never used before are not counted.
        long = {job: value(b) for job, b in books.items() if value(b) > 3600}
        assert len(long) > 20
        for job, want in long.items():
            gpus = sum(s.owner["job"] == job for node in loaded.fleet.gpus for g in node for s in g.stays)
            assert abs(told.get(job, 0) - want) <= 0.01 * want + 900 * gpus, (record, job, told.get(job), want)
        assert sum(told.values()) == pytest.approx(sum(map(value, books.values())), rel=0.02)


@pytest.mark.parametrize("kind, most", [(Prometheus, 1024), (VictoriaMetrics, 700)])
def test_archive_takes_less_than_a_kilobyte_a_job(kind, most, tmp_path):
    """4,000 jobs of three hours on disk: what is kept, so not what an engine saves of its memory for a quicker start."""
    need(kind.kind)
    jobs, end = 4000, int(time.time()) // 7200 * 7200 - 4 * 7200
    sizes = []
    for n in (0, jobs):
        folder = tmp_path / str(n)
        with kind(folder) as engine:
            series = [({"__name__": record, "cluster": "a", "kind": "slurm", "user": f"user{job % 200:03d}", "account": f"account{job % 20}", "partition": "gpu", "job": "assay",
                        "exported_job": str(4_000_000 + job)}, sim.np.arange(end - 10800, end, 900.0), sim.np.full(12, 7200.0) - (job * 37 % 700))
                      for job in range(n) for record in archive_rules()]
            if series:
                sim.backfill(engine.url, series, end - 10800, end, slice_s=3600)
                assert engine.wait(lambda: engine.query("count(assay:job_held_seconds:increase15m)", time=end - 899))[0]["value"][1] == str(jobs)
            for path in ("flush", "merge") if kind is VictoriaMetrics else ():
                urllib.request.urlopen(f"{engine.url}/internal/force_{path}", timeout=60).read()
        sizes.append(sum(p.stat().st_size for p in (folder / "data").rglob("*") if p.is_file() and "cache" not in p.parts))
    assert 0 < (sizes[1] - sizes[0]) / jobs < most, sizes


def idle_jobs(fleet, at, grace):
    """{job: (user, GPUs)} that the books say: held during the whole of the grace, and idle for nine tenths of it."""
    found = {}
    for node in fleet.gpus:
        for gpu in node:
            for s in gpu.stays:
                if s.start <= at < s.end:
                    wasted = sum(max(0, min(b, at) - max(a, at - grace)) for a, b, _ in fleet.wasted_parts(s))
                    one = found.setdefault(s.owner["job"], [s.owner["user"], 0, 0.0, 0.0])
                    one[1] += 1
                    one[2] += min(at, s.end) - max(s.start, at - grace)
                    one[3] += wasted
    sure = {job: (user, n) for job, (user, n, held, wasted) in found.items() if wasted > 0.95 * held and held > 0.97 * n * grace}
    maybe = {job for job, (_, n, held, wasted) in found.items() if wasted > 0.85 * held and held > 0.85 * n * grace}
    return sure, maybe


def test_idle_jobs_and_their_users(loaded, assay, tmp_path):
    """Who is told of what, who is left out, and that nobody is told twice; nothing is cancelled, and a dry run sends nothing."""
    at, grace = loaded.end, 1800
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    base = ("fleet", "idle", "--engine", loaded.engine.url, "--until", until, "--grace", "30m", "--limit", "1000")
    table = json.loads(assay(*base, "--format", "json").stdout)["jobs"]
    sure, maybe = idle_jobs(loaded.fleet, at, grace)
    told = {row["job"]: row for row in table}
    assert len(sure) >= 3 and set(sure) <= set(told) <= maybe, (sure, sorted(told), maybe)
    for job, (user, gpus) in sure.items():
        assert told[job]["owner"] == user and told[job]["gpus"] == gpus and told[job]["wasted_seconds"] == pytest.approx(gpus * grace, rel=0.12), (job, told[job])
    lines = assay(*base, "--scancel").stdout.splitlines()
    assert {line.split("#")[0].strip() for line in lines} == {f"scancel {job}" for job in told}
    # A dry run: digests by user, and no mail.
    bin_, state, box = tmp_path / "bin", tmp_path / "state", tmp_path / "box"
    bin_.mkdir()
    box.mkdir()
    (bin_ / "sendmail").write_text(f"#!/bin/sh\n[ ! -e {tmp_path}/broken ] || exit 75\necho \"$@\" > {box}/args-$3\ncat > {box}/$3\n")
    (bin_ / "sendmail").chmod(0o755)
    env = {"PATH": f"{bin_}:/usr/bin:/bin"}
    mail = (*base, "--notify", "mail", "--mail-domain", "example.org", "--state", str(state))
    users = {row["owner"] for row in table}
    dry = assay(*mail, env=env).stdout
    assert {line[7:] for line in dry.splitlines() if line.startswith("--- to")} == {f"{user}@example.org" for user in users}
    assert "nothing was sent: --send sends it" in dry and not list(box.iterdir()) and not state.exists()
    # One user is an exception, and so is a job.
    out_user, out_job = sorted(users)[0], next(job for job, row in sorted(told.items()) if row["owner"] != sorted(users)[0])
    (tmp_path / "except").write_text(f"# on leave\nuser {out_user}\njob {out_job}\nnode none*\n")
    left = {row["owner"] for row in table if row["owner"] != out_user and row["job"] != out_job}
    mail += ("--except", str(tmp_path / "except"))
    (tmp_path / "broken").write_text("")
    done = assay(*mail, "--send", env=env)
    assert done.returncode == 1 and "did not take the mail" in done.stderr and f"0 digests sent, {len(left)} failed" in done.stdout and not list(box.iterdir())
    (tmp_path / "broken").unlink()
    done = assay(*mail, "--send", env=env)
    assert done.returncode == 0 and f"{len(left)} digest" in done.stdout, done.stderr
    mails = {p.name: p.read_text() for p in box.iterdir() if not p.name.startswith("args")}
    assert set(mails) == {f"{user}@example.org" for user in left}
    for user in left:
        text = mails[f"{user}@example.org"]
        mine = {row["job"] for row in table if row["owner"] == user and row["job"] != out_job}
        assert text.startswith(f"To: {user}@example.org\n") and "Nothing was cancelled" in text and "GPU-hours idle, mostly: " in text
        assert set(re.findall(r"scancel (\d+)", text)) == mine and (box / f"args-{user}@example.org").read_text() == f"-i -- {user}@example.org\n"
    # Nobody is told again before --repeat is over.
    for p in box.iterdir():
        p.unlink()
    done = assay(*mail, "--send", env=env)
    assert done.returncode == 0 and "0 digests sent" in done.stdout and not list(box.iterdir())
    assert assay(*mail, "--repeat", "0s", "--send", env=env).returncode == 0 and len(list(box.iterdir())) == 2 * len(left)


def test_idle_digests_by_web_hook(loaded, assay, tmp_path):
    got = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append((self.path, self.headers["Content-Type"], json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(500 if "broken" in self.path else 200)
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/services/T1/B2"
    words = ("fleet", "idle", "--engine", loaded.engine.url, "--until", time.strftime("%Y-%m-%d %H:%M", time.localtime(loaded.end)), "--grace", "30m", "--state", tmp_path / "s")
    done = assay(*words, "--notify", url, "--send")
    assert done.returncode == 0 and got, done.stderr
    assert {path for path, _, _ in got} == {"/services/T1/B2"} and {kind for _, kind, _ in got} == {"application/json"}
    assert len({body["user"] for _, _, body in got}) == len(got) and all(body["jobs"] and "left them idle" in body["text"] for _, _, body in got)
    broken = assay(*words, "--notify", url + "/broken", "--send", "--repeat", "0s")
    assert broken.returncode == 1 and "it answers 500" in broken.stderr
    server.shutdown()
    for words, why in ((("nodes", "--notify", "mail"), "'assay fleet idle'"), (("idle", "--send"), "--notify mail"), (("idle", "--window", "1h"), "--grace"),
                       (("idle", "--grace", "5m"), "between 10 minutes"), (("idle", "--except", str(tmp_path / "none")), "cannot read"),
                       (("idle", "--scancel", "--notify", "mail"), "two things")):
        done = assay("fleet", *words, "--engine", loaded.engine.url)
        assert done.returncode == 2 and why in done.stderr, (words, done.stderr)
    (tmp_path / "bad").write_text("user a\nusr b\n")
    done = assay("fleet", "idle", "--engine", loaded.engine.url, "--except", tmp_path / "bad")
    assert done.returncode == 2 and "line 2: 'usr b' is no exception" in done.stderr


@pytest.mark.parametrize("kind", [Prometheus, VictoriaMetrics])
def test_filters(kind, assay, tmp_path):
    """Two clusters that call their nodes, GPUs and jobs the same; and parts of a fleet."""
    need(kind.kind)
    end = int(time.time()) // 300 * 300
    fleets = {name: sim.Fleet(3, end - WINDOW - LEAD, end, seed=seed, users=4) for name, seed in (("a", 3), ("b", 4))}
    fleets["b"].mix({1: "A100"})
    with kind(tmp_path) as engine:
        series = [({**labels, "cluster": name}, t, v) for name, fleet in fleets.items() for labels, t, v in fleet.all_series(SCRAPE)]
        sim.backfill(engine.url, [one for one in series if len(one[1])], end - WINDOW - LEAD, end, slice_s=3600)
        engine.wait(lambda: engine.query("count(assay_gpu_info)", time=end))
        until = time.strftime("%Y-%m-%d %H:%M", time.localtime(end))

        def ask(*words):
            return assay("fleet", *words, "--engine", engine.url, "--window", "4h", "--until", until, "--format", "json", "--limit", "500")

        def rows(name, *words):
            done = ask(*words)
            assert done.returncode == 0, (words, done.stderr)
            return json.loads(done.stdout)[name]
        books = {name: fleet.books(end - WINDOW, end) for name, fleet in fleets.items()}
        late = {name: fleet.books(end - WINDOW - SCRAPE, end - SCRAPE) for name, fleet in fleets.items()}
        nodes = {(row["cluster"], row["node"]): row for row in rows("nodes", "nodes")}
        assert set(nodes) == {(c, f"n{n:04d}") for c in "ab" for n in range(3)} and all(row["gpus"] == 8 for row in nodes.values())
        for name in "ab":
            held = {u: b["held"] for u, b in books[name].items()}
            check({row["owner"]: row["held_seconds"] for row in rows("owners", "users", "--cluster", name)}, held, {u: b["held"] for u, b in late[name].items()}, name)
            everyone = {row["owner"]: row["held_seconds"] for row in rows("owners", "users") if row["cluster"] == name}
            check(everyone, held, {u: b["held"] for u, b in late[name].items()}, name)
        one = rows("owners", "users", "--cluster", "a", "--user", "u01,nobody")
        assert [row["owner"] for row in one] == ["u01"] and {row["account"] for row in rows("owners", "wasted", "--account", "acct2")} == {"acct2"}
        assert rows("owners", "users", "--partition", "gp*") and ask("users", "--partition", "cpu").returncode == 0
        assert [(row["cluster"], row["node"]) for row in rows("nodes", "nodes", "--node", "n000[1-1]", "--cluster", "b")] == [("b", "n0001")]
        assert {(row["cluster"], row["node"]) for row in rows("nodes", "nodes", "--model", "a100")} == {("b", "n0001")}
        assert rows("fleet", "overview", "--model", "a100,nothing")["gpus"] == 8 and rows("fleet", "overview", "--node", "n*")["gpus"] == 48
        slow = sum(row["held_seconds"] for row in rows("owners", "users", "--model", "A100"))
        assert slow == pytest.approx(nodes["b", "n0001"]["held_seconds"], rel=0.01)
        both = ask("job", "1001")
        stay = next(s for node in fleets["b"].gpus for g in node for s in g.stays if s.end > end - WINDOW)
        both = ask("job", stay.owner["job"])
        card = rows("job", "job", stay.owner["job"], "--cluster", "b")
        assert card["owner"] == stay.owner["user"]
        assert both.returncode == 0 or ("several clusters" in both.stderr and "--cluster a" in both.stderr) or "several owners" in both.stderr
        for words, why in ((("nodes", "--user", "u01"), "users, jobs and wasted"), (("users", "--node", ","), "is empty"), (("users", "--node", "n[1-"), "n[1-"),
                           (("users", "--node", "node[0001-9999]"), "too long"), (("--live", "--node", "n1"), "is for tables")):
            done = assay("fleet", *words, "--engine", engine.url)
            assert done.returncode == 2 and why in done.stderr, (words, done.stderr)
        for hostile in ('"} or vector(1) #', "a\\", "(", "a{b}"):
            done = ask("users", "--cluster", hostile)
            assert done.returncode in (0, 2, 3) and "refuses" not in done.stderr, done.stderr
            assert done.returncode != 0 or not json.loads(done.stdout)["owners"]


def test_overview(loaded, assay):
    report = loaded.json(assay, "overview")
    fleet = report["fleet"]
    assert (fleet["gpus"], fleet["nodes"], fleet["answering"]) == (200, 25, 200)
    assert 0.8 < fleet["observed"] < 0.97 and 0 <= fleet["unattributed_seconds"] < 0.01 * fleet["held_seconds"]
    wasted = totals(loaded.fleet.books(loaded.end - WINDOW, loaded.end))
    assert abs(fleet["wasted_seconds"] - sum(wasted.values())) < 0.02 * sum(wasted.values())
    assert {row["health"] for row in report["health"]} == {"OK"} and report["limiters"][0]["limiter"] == "compute.tensor"
    nodes = {row["node"]: row for row in loaded.json(assay, "nodes")["nodes"]}
    assert len(nodes) == 25 and nodes["n0003"]["gpus"] == 8 and nodes["n0003"]["answering"] == 8


def test_views_are_of_the_schema(loaded, assay, program):
    job = loaded.json(assay, "jobs")["jobs"][0]
    for words in (["overview"], ["users"], ["jobs"], ["nodes"], ["wasted"], ["limiters"], ["health"], ["job", f"{job['owner']}/{job['job']}"]):
        check_schema(schema_of(program, "fleet"), [loaded.json(assay, *words)], f"fleet_{words[0]}_view")
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(loaded.end))
    done = assay("fleet", "idle", "--engine", loaded.engine.url, "--grace", "30m", "--until", until, "--format", "json")
    assert done.returncode == 0, done.stderr
    check_schema(schema_of(program, "fleet"), [json.loads(done.stdout)], "fleet_idle_view")


def test_every_view_and_format(loaded, assay):
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(loaded.end))
    for view, form in (("jobs", "text"), ("nodes", "csv"), ("wasted", "csv"), ("limiters", "text"), ("health", "text"), ("users", "text")):
        done = assay("fleet", view, "--engine", loaded.engine.url + "/api/v1/", "--format", form, "--limit", "3", "--window", "5m", "--until", until)
        assert done.returncode == 0 and done.stdout, (view, form, done.stderr)
    done = assay("fleet", "--engine", loaded.engine.url, "--window", "5m", "--until", until)
    assert "… and " not in done.stdout or "more; their own view shows them" in done.stdout
    assert "more; --limit shows them" in assay("fleet", "nodes", "--limit", "2", "--engine", loaded.engine.url, "--window", "5m", "--until", until).stdout
    # What was stored ends: at a later time nothing is of now, and it says so.
    done = assay("fleet", "--engine", loaded.engine.url, "--window", "40m", "--until", time.strftime("%Y-%m-%d %H:%M", time.localtime(loaded.end + 1800)))
    assert done.returncode == 0 and "what is shown is old" in done.stdout and "was not observed" in done.stdout


def report_of(assay, engine, at, *words):
    """What is answered about a day that ends at a second."""
    done = assay("fleet", *words, "--engine", engine.url, "--until", f"{int(time.time()) - at}s", "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", [Prometheus, VictoriaMetrics])
def test_a_window_begins_with_the_past(kind, assay, tmp_path):
    """What an engine could not store yet is no capacity: in the first half hour nearly all was observed, and not 0.3 % of a day."""
    need(kind.kind)
    end = int(time.time()) // 300 * 300 - 1800
    fleet = sim.Fleet(1, end + 5, end + 1500, seed=5, split=0)
    with kind(tmp_path) as engine:
        sim.backfill(engine.url, fleet.all_series(15), fleet.start, fleet.end)
        engine.wait(lambda: engine.query("count(assay_gpu_info)", time=end + 120))
        for since, least in ((330, 0.75), (480, 0.85), (600, 0.88), (1200, 0.93)):
            report = report_of(assay, engine, end + since, "overview")
            fleet_row = report["fleet"]
            assert fleet_row["window_seconds"] <= 8 * (since + 60) and least < fleet_row["observed"] <= 1, (since, fleet_row)
            assert fleet_row["held_seconds"] == pytest.approx(fleet_row["observed"] * fleet_row["window_seconds"], rel=0.01)  # all are held from the start
            assert any("nothing of the window's first 23." in n for n in report["notices"]), report
            nodes = report_of(assay, engine, end + since, "nodes")["nodes"]
            assert nodes[0]["held_seconds"] == fleet_row["held_seconds"] and nodes[0]["wasted_seconds"] <= nodes[0]["held_seconds"]


@pytest.mark.parametrize("kind", [Prometheus, VictoriaMetrics])
def test_first_minutes(kind, assay, tmp_path):
    """Two minutes after the first scrape a day is asked for: its last whole step ended before, and yet there is an answer."""
    need(kind.kind)
    end = int(time.time()) // 300 * 300 - 300
    fleet = sim.Fleet(1, end + 5, end + 120, seed=5, split=0)
    with kind(tmp_path) as engine:
        sim.backfill(engine.url, fleet.all_series(15), fleet.start, fleet.end)
        engine.wait(lambda: engine.query("count(assay_gpu_info)", time=end + 120))
        until = time.strftime("%Y-%m-%d %H:%M", time.localtime(end + 120))
        for view in ("overview", "nodes", "jobs"):
            done = assay("fleet", view, "--engine", engine.url, "--until", until, "--format", "json")
            assert done.returncode == 0, done.stderr
            report = json.loads(done.stdout)
            assert any("these are the first minutes" in n for n in report["notices"]), report
        assert report_of(assay, engine, end + 120, "overview")["fleet"]["observed"] == pytest.approx(0.5)  # its first minute has no scrape before it
        # Half a minute after the first scrape nothing is known but what there is.
        done = assay("fleet", "--engine", engine.url, "--until", f"{int(time.time()) - end - 40}s", "--format", "json")
        assert done.returncode == 0 and json.loads(done.stdout)["fleet"]["gpus"] == 8, done.stderr
        assert assay("fleet", "--engine", engine.url, "--until", time.strftime("%Y-%m-%d %H:%M", time.localtime(end - 60))).returncode == 3


@pytest.mark.parametrize("kind", [Prometheus, VictoriaMetrics])
def test_a_lost_gpu_is_missed(kind, assay, tmp_path):
    """A node tells of a lost GPU for a while; then it is missed, and the node has as many GPUs as before."""
    need(kind.kind)
    end = int(time.time()) // 300 * 300
    fleet = sim.Fleet(2, end - 3600, end, seed=5)
    fleet.fail(1, 6, end - 1500)
    with kind(tmp_path) as engine:
        sim.backfill(engine.url, fleet.all_series(SCRAPE), fleet.start, fleet.end)
        engine.wait(lambda: engine.query("count(assay_gpu_info)", time=end))
        lost = Loaded(engine, fleet)
        rows = lost.json(assay, "health", window="50m")["findings"]
        assert [(r["node"], r["gpu"], r["finding"]) for r in rows] == [("n0001", "6", "gone"), ("n0001", "6", "XID 79")] and "tells of it no more" in rows[0]["meaning"]
        assert rows == lost.json(assay, "health", window="24h")["findings"]  # also where the window is longer than the engine's past
        nodes = {r["node"]: (r["gpus"], r["answering"]) for r in lost.json(assay, "nodes", window="50m")["nodes"]}
        assert nodes == {"n0000": (8, 8), "n0001": (8, 7)}
        report = lost.json(assay, "overview", window="50m")
        assert (report["fleet"]["gpus"], report["fleet"]["answering"]) == (16, 15)
        assert any("1 of 16 GPUs or slices of the window do not answer now" in n for n in report["notices"])
        assert lost.json(assay, "health", window="10m")["notices"] == ["no problems found"]  # longer ago than was asked about


def stay(node, labels, begin, end, slot=1, until=None):
    """The series of an owner who holds GPU 0 of a node from begin to end, and of the slot until then or later: [(labels, times, values)]."""
    np, base = sim.np, {"instance": node, "job": "assay", "uuid": f"GPU-{node}", "gpu": "0"}
    told, slotted = np.arange(begin, end + sim.LINGER, SCRAPE, float), {**base, "slot": str(slot)}
    times = np.arange(begin - 1200, until or end + 2400, SCRAPE, float)
    held = np.clip(times, begin, end) - begin
    return [({"__name__": "assay_gpu_owner_info", **slotted, **labels}, told, (told < end).astype(float)),
            ({"__name__": "assay_gpu_held_seconds_total", **slotted}, times, held),
            ({"__name__": "assay_gpu_energy_joules_total", **base}, times, times * 500.0),
            *(({"__name__": f"assay_gpu_{name}", **base}, times, times * 0 + 1) for name in ("info", "up"))]


@pytest.mark.parametrize("kind", [Prometheus, VictoriaMetrics])
def test_jobs_of_all_kinds(kind, assay, tmp_path):
    """Slurm's, Kubernetes' and processes in one engine; names that two owners have; a slot that is given on a quarter of an hour later."""
    need(kind.kind)
    end = int(time.time()) // 300 * 300
    begin, let_go, taken = end - 7000, end - 4000, end - 3060
    owners = {"n1": {"kind": "slurm", "exported_job": "7", "user": "ada"}, "n2": {"kind": "slurm", "exported_job": "7", "user": "bob"},
              "n3": {"kind": "kubernetes", "namespace": "prod", "pod": "web"}, "n4": {"kind": "kubernetes", "exported_namespace": "dev", "exported_pod": "web", "namespace": "x", "pod": "y"},
              "n5": {"kind": "process", "user": "eve"}}
    series = [one for node, labels in owners.items() for one in stay(node, labels, begin, let_go, until=taken if node == "n1" else None)]
    # On n1 the next one has the slot at once when it is free, for less than a step.
    after = stay("n1", {"kind": "slurm", "exported_job": "8", "user": "cyd"}, taken, taken + 240)
    held = next(one for one in series if one[0]["__name__"] == "assay_gpu_held_seconds_total" and one[0]["instance"] == "n1")
    series += [(labels, t[t >= taken], v[t >= taken] + (held[2][-1] if labels["__name__"] == held[0]["__name__"] else 0)) for labels, t, v in after]
    with kind(tmp_path) as engine:
        sim.backfill(engine.url, series, begin - 1300, end + 1, slice_s=3600)
        engine.wait(lambda: engine.query("count(last_over_time(assay_gpu_owner_info[3h]))", time=end))
        loaded = Loaded(engine, type("Fleet", (), {"end": end}))
        jobs = {row["job"]: row for row in loaded.json(assay, "jobs", window="3h")["jobs"] if row["owner"] != "bob"}
        assert set(jobs) == {"7", "8", "prod/web", "dev/web", "processes"} and jobs["processes"]["owner"] == "eve"
        for job, want in (("7", 3000), ("8", 240), ("dev/web", 3000), ("processes", 3000)):
            assert jobs[job]["held_seconds"] == pytest.approx(want, abs=SCRAPE), job
        for asked, owner, want in (("ada/7", "ada", 3000), ("bob/7", "bob", 3000), ("8", "cyd", 240), ("prod/web", "prod", 3000), ("dev/web", "dev", 3000)):
            card = loaded.json(assay, "job", asked, window="3h")["job"]
            assert (card["owner"], card["gpus"]) == (owner, 1) and card["held_seconds"] == pytest.approx(want, abs=SCRAPE), asked
            assert card["energy_j"] == pytest.approx(want * 500, abs=2 * SCRAPE * 500), asked
        for asked, words in (("7", "job '7' is of several owners in this window: '"), ("web", "is of several owners"), ("eve/7", "has no job 'eve/7'")):
            done = loaded.ask(assay, "job", asked, window="3h")
            assert done.returncode == 2 and words in done.stderr, done.stderr


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
    (200, b'{"status":"success","data":[' + b"{}," * 8_000_000 + b"{}]}", 3, "more than 200000 series, which are too many"),
]


@pytest.mark.parametrize("status,body,code,words", WRONG, ids=[words for *_, words in WRONG])
def test_wrong_answers(assay, status, body, code, words):
    with answering(lambda handler, form: send(handler, status, body)) as url:
        done = assay("fleet", "users", "--engine", url)
    assert done.returncode == code and words in done.stderr and not done.stdout, done.stderr
    assert "\x1b" not in done.stderr and url in done.stderr


@pytest.mark.parametrize("view", ["overview", "users", "jobs", "nodes", "wasted", "limiters", "health"])
def test_numbers_that_cannot_be(assay, view):
    """They are missing: no line of hundreds of digits, no infinity."""
    labels = {name: "x" for name in ("user", "exported_job", "hostname", "gpu", "uuid", "kind", "reason", "limiter", "health")}
    series = [({**labels, "user": f"u{i}"}, v) for i, v in enumerate(("NaN", "+Inf", "-Inf", "1e308", "1e308", "-1e308", "x", "3600"))]
    with answering(lambda handler, form: send(handler, 200, vector(*series))) as url:
        for how in ("text", "json", "csv"):
            done = assay("fleet", view, "--engine", url, "--format", how)
            assert done.returncode == 0, done.stderr
            assert not re.search(r"\d{25}|\b(inf|nan)\b", done.stdout, re.I), done.stdout


def test_answers_together_are_bounded(assay):
    """Each is fair in size, all of them are not."""
    body = vector(({"user": "x" * 10_000_000}, "60"))
    with answering(lambda handler, form: send(handler, 200, body)) as url:
        done = assay("fleet", "--engine", url)
    assert done.returncode == 3 and "the answers are larger than 64 MiB" in done.stderr


def test_the_first_that_fails_ends_the_round(assay):
    """Sixteen questions to an engine that hangs take one patience, not four."""
    until, asked = threading.Event(), []

    def respond(handler, form):
        asked.append(form)
        if len(asked) == 1:
            send(handler, 200, vector(({"user": "u"}, "60")))
        else:
            until.wait(20)

    with answering(respond) as url:
        done = assay("fleet", "--engine", url, "--timeout", "0.5")
        until.set()
    assert done.returncode == 3 and "no answer within 0.5 s" in done.stderr and len(asked) <= 5


EVIL = "x\nrm -rf ~ #\r\nBcc: a@b\033[2J\u202e\u2028$(reboot)`id`;|&'\""


def idle_answers(handler, form):
    """Two jobs that hold idle GPUs: one of a user, and one whose every name is hostile."""
    query = urllib.parse.parse_qs(form)["query"][0]
    plain = {"kind": "slurm", "job": "77", "user": "mallory", "account": EVIL, "partition": EVIL, "cluster": "", "instance": "n1", "reason": "no_process"}
    evil = {**{name: EVIL for name in plain}, "kind": "slurm", "job": "7" + EVIL, "user": "u" + EVIL, "reason": "no_process"}
    value = "2" if "_seconds_total" not in query else "100000000"
    send(handler, 200, vector((plain, value), (evil, value)))


def test_idle_jobs_with_hostile_names(assay, tmp_path):
    """No line of a name's own in what a shell or a mail server reads, and no mail to who is no user."""
    box, bin_ = tmp_path / "box", tmp_path / "bin"
    bin_.mkdir()
    box.mkdir()
    (bin_ / "sendmail").write_text(f"#!/bin/sh\ncat > {box}/\"$3\"\n")
    (bin_ / "sendmail").chmod(0o755)
    env = {"PATH": f"{bin_}:/usr/bin:/bin"}
    with answering(idle_answers) as url:
        base = ("fleet", "idle", "--engine", url)
        lines = assay(*base, "--scancel").stdout.splitlines()
        assert len(lines) == 2 and sorted(line.split("#")[0].strip() for line in lines) == ["", "scancel 77"], lines
        done = subprocess.run(["sh", "-n"], input="\n".join(lines), text=True, capture_output=True, check=True)
        assert not done.stderr
        for form in ("text", "json", "csv", "markdown", "html"):
            text = assay(*base, "--format", form).stdout
            assert "mallory" in text and not any(c in text for c in "\033\r\u202e\u2028") and not any(line.startswith(("rm -rf", "Bcc")) for line in text.splitlines()), (form, text)
        done = assay(*base, "--notify", "mail", "--mail-domain", "example.org", "--send", "--state", tmp_path / "s", env=env)
        assert done.returncode == 1 and "is no user that mail can go to" in done.stderr and "1 digest sent, 1 failed" in done.stdout
        assert [p.name for p in box.iterdir()] == ["mallory@example.org"]
        assert "mallory" in (tmp_path / "s/fleet-idle-told").read_text() and len((tmp_path / "s/fleet-idle-told").read_text().splitlines()) == 1


def test_who_was_told_is_ones_own_to_say(assay, tmp_path):
    """A list of others' making would keep a user from hearing anything."""
    state = tmp_path / "s"
    state.mkdir()
    told = state / "fleet-idle-told"
    with answering(idle_answers) as url:
        words = ("fleet", "idle", "--engine", url, "--notify", "mail", "--state", state)
        for prepare, why in ((lambda: (told.write_text("1 x\n"), told.chmod(0o666)), "others may write it"), (lambda: (told.unlink(), os.mkfifo(told)), "not a regular file")):
            prepare()
            done = assay(*words)
            assert done.returncode == 1 and why in done.stderr and not done.stdout
        if os.geteuid() == 0:
            told.unlink()
            told.write_text("1 x\n")
            os.chown(told, 1234, 1234)
            done = assay(*words)
            assert done.returncode == 1 and "it belongs to another user" in done.stderr


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


def test_one_without_an_answer_ends_all(assay):
    """The engine is there and answers what is easy: a view of fifteen questions does not wait for four at a time."""
    until = threading.Event()

    def respond(handler, form):
        if "count_over_time" in form:
            send(handler, 200, vector())
        else:
            until.wait(30)

    with answering(respond) as url:
        begun = time.monotonic()
        done = assay("fleet", "--engine", url, "--timeout", "1")
        took = time.monotonic() - begun
        until.set()
    assert done.returncode == 3 and "no answer within 1 s" in done.stderr and "vmalert" in done.stderr and took < 3.9


def test_without_rules(assay):
    """An engine that has no recording rules, as VictoriaMetrics without vmalert: the raw counters are asked, and when that is slow it is said what helps."""
    seen, pause = [], 1.1

    def respond(handler, form):
        seen.append(form)
        time.sleep(pause)
        send(handler, 200, vector() if "count_over_time" in form else vector(({"user": "u", "limiter": "idle"}, "60")))

    with answering(respond) as url:
        done = assay("fleet", "users", "--engine", url, "--format", "json")
        report = json.loads(done.stdout)
        assert not report["recorded"] and len(report["owners"]) == 1
        assert not any("assay%3Auser" in form for form in seen) and any("assay_gpu_owner_info" in form for form in seen)
        assert any(n.startswith("this took ") and "vmalert" in n for n in report["notices"]), report["notices"]
        pause = 0
        assert not json.loads(assay("fleet", "users", "--engine", url, "--format", "json").stdout).get("notices")


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
        assert all(path == "/select/0/prometheus/api/v1/query" for path, _ in seen) and len(seen) == 7
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
    program = pathlib.Path(program).resolve()
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
