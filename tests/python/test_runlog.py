"""The run log: lines as they happen, for `tail -f` and jq, and marks in the session."""
import contextlib
import json
import re
import sqlite3
import subprocess
import sys
import threading

import pytest

import assay


@pytest.fixture
def program_run(program, tmp_path):
    def run(code):
        session = tmp_path / "run.assay"
        subprocess.run([program, "run", "-q", "-o", session, "--", sys.executable, "-c", code], check=True)
        return session

    return run


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_is_written(tmp_path):
    path = tmp_path / "run.jsonl"
    log = assay.RunLog(path)
    log.log_phase("warmup", 12.34567, step=100)
    assert len(lines(path)) == 1, "written at once, not at the end"
    log.log_event("start", {"lr": 0.1})
    log.log_event("bare")
    log.log_metric("loss", 0.25)
    phase, event, bare, metric = lines(path)
    assert list(phase) == ["ts", "type", "name", "seconds", "step"]
    assert (phase["name"], phase["seconds"], phase["step"]) == ("warmup", 12.346, 100)
    assert len(phase["ts"]) == len("2026-01-02T03:04:05.678+00:00") and phase["ts"].endswith("+00:00")
    assert (event["event"], event["data"]) == ("start", {"lr": 0.1})
    assert "data" not in bare
    assert (metric["name"], metric["value"]) == ("loss", 0.25)
    assert log.entries() == lines(path)


def test_a_phase_as_a_block(tmp_path):
    path = tmp_path / "run.jsonl"
    with assay.RunLog(path) as log:
        with log.phase("train", epoch=1) as extra:
            extra["loss"] = 0.5
        with pytest.raises(ValueError), log.phase("bad"):
            raise ValueError
    _, train, _, bad = lines(path)
    assert (train["type"], train["epoch"], train["loss"]) == ("phase", 1, 0.5) and train["seconds"] >= 0
    assert bad["error"] == "ValueError"


INSIDE_ITSELF = []
INSIDE_ITSELF += [INSIDE_ITSELF, INSIDE_ITSELF]


class Scalar:
    """As numpy and torch have them."""

    def item(self):
        return 1.5


@pytest.mark.parametrize("value, expected", [
    (float("nan"), None),
    (float("inf"), None),
    ([1.0, float("nan")], [1.0, None]),
    ({"a": {"b": float("-inf")}}, {"a": {"b": None}}),
    (Scalar(), 1.5),
    (object, "<class 'object'>"),
    ("ü\n\"", "ü\n\""),
    ({1: 2}, {"1": 2}),
    ({(1, 2): 3, None: 4, "a\0b": "\0", "\ud800": 5}, {"(1, 2)": 3, "null": 4, "a\ufffdb": "\ufffd", "?": 5}),
    (10**30, str(10**30)),
    (INSIDE_ITSELF, ["…", "…"]),
])
def test_a_log_does_not_end_a_run(tmp_path, value, expected):
    """A loss that is NaN, a number of numpy's: what a training loop hands over."""
    log = assay.RunLog(tmp_path / "run.jsonl")
    log.log_event("e", {"v": value})
    assert log.entries()[0]["data"]["v"] == expected


def test_numbers_and_names_of_all_kinds(tmp_path):
    """A loss that became NaN, an epoch for a name."""
    log = assay.RunLog(tmp_path / "run.jsonl")
    log.log_metric("loss", float("nan"))
    log.log_metric("loss", Scalar.item(None))
    log.log_phase(7, 1)
    log.log_event("a\ud800\0")
    assert [e.get("value", e.get("name", e.get("event"))) for e in log.entries()] == [1.5, "7", "a?\ufffd"]


def test_more_than_fits(tmp_path):
    with pytest.raises(assay.AssayError) as raised:
        assay.RunLog(tmp_path / "run.jsonl").log_event("e", "x" * 40000)
    assert "longer than 32768 bytes" in raised.value.message


def test_names_are_utf8_whatever_the_locale(python, tmp_path):
    program = tmp_path / "name.py"
    program.write_text("import assay\nwith assay.RunLog('run.jsonl').phase('größe', maß='ß'): pass\n", encoding="utf-8")
    done = python(f"import os, runpy\nos.chdir({str(tmp_path)!r})\nrunpy.run_path('name.py')", LC_ALL="C", PYTHONUTF8="0",
                  PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0, done.stderr
    _, phase = [json.loads(line) for line in (tmp_path / "run.jsonl").read_bytes().splitlines()]
    assert (phase["name"], phase["maß"]) == ("größe", "ß")


def test_a_program_that_goes_elsewhere(tmp_path, monkeypatch):
    """Entries stay together."""
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    log = assay.RunLog("run.jsonl")
    monkeypatch.chdir(tmp_path / "other")
    log.log_event("a")
    assert len(lines(tmp_path / "run.jsonl")) == len(log.entries()) == 1
    assert not list((tmp_path / "other").iterdir())


def test_a_child_goes_on_with_it(python, tmp_path):
    done = python("import assay, os, sys\nlog = assay.RunLog(sys.argv[1])\nif os.fork() == 0:\n    log.log_event('child')\n"
                  "    log.close()\n    sys.exit(0)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))\nlog.log_event('parent')",
                  tmp_path / "run.jsonl")
    assert done.stdout == "0\n", done.stderr
    assert [e["event"] for e in lines(tmp_path / "run.jsonl")] == ["child", "parent"]


def test_keys_of_both_ends(tmp_path):
    """What is known at the beginning and what came out of it: in the log, in Python and in SQL."""
    with assay.Monitor(interval=0.1, session=tmp_path / "run.assay") as monitor:
        with assay.RunLog(tmp_path / "run.jsonl").phase("train", epoch=1) as more:
            more["loss"] = 0.5
    with contextlib.closing(sqlite3.connect(tmp_path / "run.assay")) as database:
        told = [json.loads(database.execute("SELECT data FROM phases").fetchone()[0]), monitor.phases()[0]["data"],
                lines(tmp_path / "run.jsonl")[1]]
    assert [(d["epoch"], d["loss"]) for d in told] == [(1, 0.5)] * 3


def test_write_and_nothing_left(tmp_path, scratch):
    log = assay.RunLog()
    log.log_phase("a", 1)
    target = log.write(tmp_path / "new/run.jsonl")
    log.log_phase("b", 2)
    assert len(lines(target)) == 1
    log.write(target)
    assert [e["name"] for e in lines(target)] == ["a", "b"]
    log.close()
    assert not list(scratch.iterdir())
    assert [p.name for p in target.parent.iterdir()] == ["run.jsonl"]


def test_write_to_itself(tmp_path):
    log = assay.RunLog(tmp_path / "run.jsonl")
    log.log_event("a")
    assert log.write(tmp_path / "run.jsonl") == tmp_path / "run.jsonl"
    assert len(log.entries()) == 1


def test_appends(tmp_path):
    for name in "ab":
        with assay.RunLog(tmp_path / "run.jsonl") as log:
            log.log_event(name)
    assert [e["event"] for e in lines(tmp_path / "run.jsonl")] == ["a", "b"]


def test_many_threads(tmp_path):
    log = assay.RunLog(tmp_path / "run.jsonl")
    threads = [threading.Thread(target=lambda: [log.log_metric("x", i) for i in range(200)]) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(lines(tmp_path / "run.jsonl")) == 1600


@pytest.mark.parametrize("make, says", [
    (lambda p: assay.RunLog(p / "no/where"), "cannot write the log"),
    (lambda p: assay.RunLog(session=p / "none.assay"), "is not a session"),
    (lambda p: assay.RunLog(p / "l").log_phase("x" * 200, 1), "a name has"),
])
def test_errors(tmp_path, scratch, make, says):
    with pytest.raises(assay.AssayError) as raised:
        make(tmp_path)
    assert says in raised.value.message and raised.value.hint
    assert not list(scratch.iterdir())


def test_closed(tmp_path):
    log = assay.RunLog(tmp_path / "l")
    log.close()
    log.close()
    with pytest.raises(assay.AssayError) as raised:
        log.log_event("a")
    assert raised.value.code == assay.E_STOPPED


def test_in_a_run(program_run):
    """Under `assay run` the phases are in the run's session without a word about it."""
    session = program_run("import assay\nwith assay.RunLog().phase('train', lr=0.5): pass")
    assert [p["name"] for p in assay.open_session(session).phases()] == ["train"]


def test_a_log_of_another_writer(program, tmp_path):
    """Lines that cannot be are left out with a word; times are told from the log's beginning on."""
    at = "2026-01-02T03:04:0{}.000+00:00"
    entries = [{"ts": at.format(5), "type": "event", "event": "begun"}, {"ts": at.format(6), "type": "phase", "name": "fair", "seconds": 1},
               {"ts": at.format(7), "type": "phase", "name": "endless", "seconds": 1e300}, {"ts": at.format(8), "type": "phase", "name": "long" * 50, "seconds": 1},
               {"ts": "9999-12-31T23:59:59.999+00:00", "type": "event", "event": "far"}, {"ts": at.format(9), "type": "event", "event": "done"}]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(e) + "\n" for e in entries))
    done = subprocess.run([program, "report", tmp_path / "run.jsonl"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and f"3 lines of '{tmp_path / 'run.jsonl'}' could not be understood, skipping" in done.stderr
    assert "fair" in done.stdout and not any(word in done.stdout for word in ("endless", "longlong", "far "))
    assert re.search(r"^ +0\.0 s +begun$", done.stdout, re.M) and re.search(r"^ +4\.0 s +done$", done.stdout, re.M), done.stdout


def test_a_phase_of_centuries_is_not_taken(program, tmp_path):
    """A log ends no training run: it is kept, as an event."""
    log = assay.RunLog(tmp_path / "run.jsonl")
    log.log_phase("p", 1e300)
    assert [(e["type"], e["data"]) for e in log.entries()] == [("event", {"seconds": "1e+300"})]
    done = subprocess.run([program, "mark", "phase", "p", "--seconds", "1e300", "--session", tmp_path / "x.assay"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "0 to 1e9 seconds" in done.stderr
