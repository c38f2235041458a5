"""assay export trace: the format that ui.perfetto.dev and chrome://tracing open, checked event by event."""
import collections
import json
import pathlib
import shutil
import sqlite3

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOUR = ROOT / "docs/example/tour.assay"
STACKS = ROOT / "tests/fuzz/corpus/session/stacks.assay"

REQUIRED = {"M": {"ph", "pid", "tid", "name", "args"}, "X": {"ph", "pid", "tid", "name", "cat", "ts", "dur"}, "C": {"ph", "pid", "tid", "name", "ts", "args"},
            "b": {"ph", "pid", "tid", "name", "cat", "id", "ts"}, "e": {"ph", "pid", "tid", "name", "cat", "id", "ts"},
            "i": {"ph", "pid", "tid", "name", "s", "ts"}}


def is_number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) < 1e15


def check(trace):
    """What the format asks of an object of events: members and their types, slices that nest, spans that end, counters of numbers, tracks with names."""
    assert set(trace) <= {"traceEvents", "displayTimeUnit", "otherData"} and trace["displayTimeUnit"] in ("ms", "ns")
    assert all(isinstance(v, str) for v in trace["otherData"].values())
    named, slices, open_spans, counters = set(), collections.defaultdict(list), {}, {}
    for event in trace["traceEvents"]:
        kind = event["ph"]
        assert REQUIRED[kind] <= set(event) <= REQUIRED[kind] | {"args"}, event
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and isinstance(event["name"], str)
        assert is_number(event.get("ts", 0)) and is_number(event.get("dur", 0)) and event.get("dur", 0) >= 0
        assert isinstance(event.get("args", {}), dict) and isinstance(event.get("cat", ""), str)
        if kind == "M":
            assert event["name"] in ("process_name", "process_sort_index", "thread_name")
            named.add((event["pid"], event["tid"] if event["name"] == "thread_name" else None))
        elif kind == "X":
            slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        elif kind == "C":
            (unit, value), = event["args"].items()
            assert is_number(value) and unit
            assert event["ts"] >= counters.get((event["pid"], event["name"]), event["ts"]), "in order of time"
            counters[event["pid"], event["name"]] = event["ts"]
        elif kind == "b":
            assert (event["pid"], event["cat"], event["id"]) not in open_spans
            open_spans[event["pid"], event["cat"], event["id"]] = event
        elif kind == "e":
            begin = open_spans.pop((event["pid"], event["cat"], event["id"]))
            assert begin["name"] == event["name"] and begin["ts"] <= event["ts"]
        else:
            assert event["s"] in ("g", "p", "t")
    assert not open_spans
    for (pid, tid), list_ in slices.items():
        assert (pid, tid) in named and (pid, None) in named
        ends = []
        for begin, end in sorted(list_, key=lambda s: (s[0], -s[1])):
            while ends and ends[-1] <= begin + 1e-2:
                ends.pop()
            assert not ends or end <= ends[-1] + 1e-2, "slices of a thread follow or hold each other"
            ends.append(end)
    return trace["traceEvents"]


def trace_of(assay, path, *flags):
    done = assay("export", "trace", path, *flags)
    assert done.returncode == 0, done.stderr
    return check(json.loads(done.stdout))


def of(events, kind, **members):
    return [e for e in events if e["ph"] == kind and all(e.get(k) == v for k, v in members.items())]


def test_gpus_phases_and_limiters(assay):
    events = trace_of(assay, TOUR)
    gpu = next(e["pid"] for e in of(events, "M", name="process_name") if e["args"]["name"].startswith("GPU 0"))
    limits = of(events, "X", pid=gpu, cat="limiter")
    assert sum(e["dur"] for e in limits) / 1e6 == pytest.approx(90, abs=2) and "tensor cores" in {e["name"] for e in limits}
    power = [e["args"] for e in of(events, "C", pid=gpu, name="power")]
    assert len(power) > 300 and all(50 < p["W"] < 800 for p in power)
    assert max(e["args"]["%"] for e in of(events, "C", pid=gpu, name="gpu_util")) == 100
    assert {e["name"] for e in of(events, "b", cat="phase")} >= {"bf16_matmul", "tf32_matmul"}
    host = next(e["pid"] for e in of(events, "M", name="process_name") if e["args"]["name"] == "host")
    assert of(events, "C", pid=host, name="cpu")


def test_steps_events_and_numbers(assay, tmp_path):
    path = tmp_path / "run.assay"
    shutil.copy(TOUR, path)
    db = sqlite3.connect(path)
    start = db.execute("select value from manifest where key = 'start_ns'").fetchone()[0]
    put = "insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds, value, data) values(?, 0, 'h', 7, ?, ?, ?, ?, ?)"
    for i in range(10):
        db.execute(put, (start + (i + 2) * 10**9, "step", "train\x1b[2J\"", 0.75, 0.25, None))
    db.execute(put, (start + 10**9, "event", "begin", None, None, '{"lr":0.1}'))
    db.execute(put, (start + 10**9, "metric", "loss", None, 0.5, None))
    db.commit()
    events = trace_of(assay, path)
    steps = of(events, "X", cat="step")
    assert len(steps) == 10 and steps[0]["ts"] == pytest.approx(1.25e6) and steps[0]["dur"] == pytest.approx(0.75e6)
    assert steps[3]["args"] == {"step": 4, "waited_ms": 250} and "\x1b" not in steps[0]["name"]
    assert of(events, "i", name="begin")[0]["ts"] == pytest.approx(1e6) and of(events, "C", name="loss")[0]["args"] == {"value": 0.5}


def test_lines(assay):
    lines = of(trace_of(assay, STACKS), "X", cat="line")
    assert lines and all(":" in e["name"] for e in lines if e["name"] != "?") and len({e["name"] for e in lines}) > 1


@pytest.mark.parametrize("name", ["host", "marks"])
def test_other_recordings(assay, name):
    path = ROOT / f"tests/fuzz/corpus/session/{name}.assay"
    if path.exists():
        trace_of(assay, path)


@pytest.mark.parametrize("words, what", [
    (["trace"], "no recording given"), (["trace", TOUR, "x"], "unexpected argument 'x'"), (["trace", TOUR, "--crlf"], "has no use for a trace"),
    (["trace", "gone.assay"], "gone.assay")])
def test_what_is_refused(assay, words, what):
    done = assay("export", *words)
    assert done.returncode != 0 and what in done.stderr and done.stdout == ""


def test_the_checker_sees_what_is_wrong():
    good = {"displayTimeUnit": "ms", "otherData": {}, "traceEvents": [
        {"ph": "M", "pid": 1, "tid": 0, "name": "process_name", "args": {"name": "p"}}, {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "t"}},
        {"ph": "X", "pid": 1, "tid": 1, "name": "a", "cat": "c", "ts": 0, "dur": 10}]}
    check(good)
    for bad in ({"ph": "X", "pid": 1, "tid": 1, "name": "b", "cat": "c", "ts": 5, "dur": 10}, {"ph": "X", "pid": 1, "tid": 2, "name": "b", "cat": "c", "ts": 5, "dur": 1},
                {"ph": "b", "pid": 1, "tid": 0, "name": "b", "cat": "c", "id": 1, "ts": 5}, {"ph": "C", "pid": 1, "tid": 0, "name": "b", "ts": 5, "args": {"v": "1"}}):
        with pytest.raises(AssertionError):
            check({**good, "traceEvents": [*good["traceEvents"], bad]})
