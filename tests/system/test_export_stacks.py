"""assay export stacks: folded lines and speedscope's JSON are the view `stacks` of the same session."""
import collections
import json
import re
import sqlite3
import subprocess

import pytest

from stack_rows import Kinds
from test_where import WORKERS, line_of
from test_where import recorded  # noqa: F401 (a fixture)

FRAMES = "select stack, depth, file, line, function from stack_frames order by stack, depth desc"


@pytest.fixture(scope="module")
def made(program, tmp_path_factory):
    """A session whose stacks are made by hand: two processes, three threads, an hour with a gap, names that would break lines."""
    path = tmp_path_factory.mktemp("made") / "run.assay"
    subprocess.run([program, "run", "-q", "--levels", "process", "-o", path, "--", "true"], check=True, timeout=60)
    with sqlite3.connect(path) as db:
        for table in ("stack_text", "stack_frame", "stack_node", "stack_process", "stack_thread", "stack_kind", "stack_window"):
            db.execute(f"delete from {table}")
        texts = ["", "/home/u/train.py", "main", "/usr/lib/python3.11/json/decoder.py", "raw_decode", "semi;colon.py", "a;b\nc", "python", "futex", "read"]
        db.executemany("insert into stack_text values(?, ?)", enumerate(texts))
        db.executemany("insert into stack_frame values(?, ?, ?, ?, ?, ?)", [(1, 1, 2, 1, 52, 0), (2, 3, 4, 300, 353, 2), (3, 5, 6, 1, 9, 0), (4, 1, 2, 1, 53, 0)])
        # 1: main:52; 2: main:52 > raw_decode; 3: semi; 4: main:53; parent, frame, own, inner
        db.executemany("insert into stack_node values(?, ?, ?, ?, ?)", [(1, 0, 1, 1, 0), (2, 1, 2, 1, 2), (3, 0, 3, 3, 0), (4, 0, 4, 4, 0)])
        db.executemany("insert into stack_process values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [
            (0, 100, 1, 5, "CPython 3.11.7", "readable", None, "python train.py", 50, 0), (1, 200, 100, 6, "CPython 3.11.7", "readable", None, "python; worker", 9, 0)])
        db.executemany("insert into stack_thread values(?, ?, ?, ?, ?, ?)", [(0, 100, 5, 100, 7, 1), (1, 100, 5, 101, 7, 0), (2, 200, 6, 200, 7, 1)])

        kinds = Kinds(db)

        def row(thread, stack, call, state, ms):
            return kinds.row(thread, stack, call, state, 20, ms)
        for second in [*range(0, 60), *range(300, 3600)]:
            data = row(0, 2, 0, 1, 700) + row(0, 1, 8, 2, 299) + row(1, 3, 9, 3, 1000) + row(2, 4, 0, 1, 400) + row(2, 0, 8, 2, 500) + row(2, 0, 0, 1, 100)
            db.execute("insert into stack_window values(?, ?)", (second, data))
    db.close()
    return path


def folded(text):
    sums = collections.Counter()
    for line in text.splitlines():
        frames, count = line.rsplit(" ", 1)
        sums[tuple(frames.split(";"))] += int(count)
    return sums


def view(path, where="1"):
    """(pid, main or tid, frames from the outermost, what it does): milliseconds, from the views that people query."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        frames = collections.defaultdict(list)
        for stack, _, file, line, function in db.execute(FRAMES):
            frames[stack].append((function, file, line))
        sums = collections.Counter()
        for pid, tid, main, state, call, stack, ms in db.execute(
                f"select pid, tid, main, state, call, stack, cast(round(sum(seconds) * 1000) as integer) from stacks where {where} group by 1, 2, 3, 4, 5, 6"):
            doing = None if state == "running" and frames[stack] else f"{state} in {call}" if call else state
            sums[pid, "main" if main else tid, tuple(frames[stack]), doing] += ms
    db.close()
    return sums


def speedscope(text):
    """The file as its format has it, and the milliseconds of each (pid, thread, frames)."""
    file = json.loads(text)
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json" and set(file) <= {
        "$schema", "exporter", "version", "name", "shared", "profiles", "activeProfileIndex"}
    frames = file["shared"]["frames"]
    assert all(set(f) <= {"name", "file", "line", "col"} and isinstance(f["name"], str) and isinstance(f.get("line", 1), int) for f in frames)
    sums = collections.Counter()
    for profile in file["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled" and profile["unit"] == "seconds"
        assert len(profile["samples"]) == len(profile["weights"]) > 0 and min(profile["weights"]) >= 0
        assert abs(sum(profile["weights"]) - (profile["endValue"] - profile["startValue"])) < 0.01
        pid, thread = re.search(r"\((\d+)\) (?:(main)|.*\(\d+\))$", profile["name"]).groups()
        thread = thread or int(re.search(r"\((\d+)\)$", profile["name"]).group(1))
        for sample, weight in zip(profile["samples"], profile["weights"]):
            assert all(0 <= i < len(frames) for i in sample)
            if sample:
                stack = [frames[i] for i in sample]
                doing = stack.pop()["name"].strip("[]") if stack[-1]["name"].startswith(("[running", "[waiting", "[blocked", "[unknown")) else None
                sums[int(pid), thread, tuple((f["name"], f["file"], f["line"]) for f in stack), doing] += round(weight * 1000)
    return sums


def clean(sums):
    """Names as a table of stacks has them."""
    done = collections.Counter()
    for (pid, thread, frames, doing), ms in sums.items():
        if ms:
            done[pid, thread, tuple((function.replace("\n", "?"), file, line) for function, file, line in frames), doing] += ms
    return done


def test_both_say_what_the_view_says(assay, made):
    """An hour, whose pieces are longer than a second."""
    want = view(made)
    text = assay("export", "stacks", made).stdout
    lines = folded(text)
    assert sum(lines.values()) == sum(want.values())
    assert lines["python train.py (100)", "main", "main (train.py:52)", "raw_decode (json/decoder.py:353)"] == 3360 * 700
    assert lines["python train.py (100)", "main", "main (train.py:52)", "[waiting in futex]"] == 3360 * 299
    assert lines["python: worker (200)", "main", "[waiting in futex]"] == 3360 * 500
    assert lines["python: worker (200)", "main", "[running]"] == 3360 * 100
    assert [k for k in lines if "semi:colon.py:9" in k[2]] and len(text.splitlines()) == 6
    assert speedscope(assay("export", "stacks", made, "--format", "speedscope").stdout) == clean(want)


def test_where_a_thread_was_not_seen_time_passes(assay, made):
    file = json.loads(assay("export", "stacks", made, "--format", "speedscope").stdout)
    main = file["profiles"][0]
    gap, = [w for s, w in zip(main["samples"], main["weights"]) if not s and w > 1]
    assert abs(gap - 240) < 3 and main["startValue"] == 0 and abs(main["endValue"] - 3600) < 3
    assert file["name"] == "run.assay" and file["exporter"].startswith("assay@")


@pytest.mark.parametrize("options, where", [
    (["--at", "30", "--count", "10"], "elapsed >= 30 and elapsed < 40"),
    (["--at", "59", "--count", "2"], "elapsed in (59, 300)"),
    (["--at", "3000"], "elapsed >= 3000"),
    (["--count", "5"], "elapsed < 5"),
    (["--pid", "200"], "pid = 200"),
    (["--pid", "100"], "1"),  # and what it started
])
def test_a_part_of_it(assay, made, options, where):
    want = view(made, where)
    assert sum(folded(assay("export", "stacks", made, *options).stdout).values()) == sum(want.values())
    assert speedscope(assay("export", "stacks", made, *options, "--format", "speedscope").stdout) == clean(want)


def test_of_a_program(assay, recorded):  # noqa: F811
    path, _ = recorded(WORKERS)
    lines = folded(assay("export", "stacks", path).stdout)
    assert sum(lines.values()) == sum(view(path).values()) > 0
    assert speedscope(assay("export", "stacks", path, "--format", "speedscope").stdout) == clean(view(path))
    waits = [f"main (train.py:{line_of(WORKERS, name)})" for name in ("get", "sleep")]
    assert any(frame in k for k in lines for frame in waits)


def test_a_copy_has_them_too(assay, made, tmp_path):
    """As a monitor saves a recording."""
    copy = tmp_path / "copy.assay"
    done = assay("convert", made, copy)
    assert done.returncode == 0, done.stderr
    assert view(copy) == clean(view(made))
    with sqlite3.connect(copy) as new, sqlite3.connect(made) as old:
        ask = "select elapsed, pid, tid, main, state, gil, call, file, line, in_file, seconds, looks, thread from stacks order by 1, 2, 3, 5, 8, 9, 10"
        assert new.execute(ask).fetchall() == old.execute(ask).fetchall()
        ask = "select pid, ppid, runtime, access, why, command, samples, torn from stack_process order by pid"
        assert new.execute(ask).fetchall() == old.execute(ask).fetchall()


@pytest.mark.parametrize("words, status, said", [
    (["stacks"], 2, "no recording given"),
    (["stacks", "FILE", "more"], 2, "unexpected argument 'more'"),
    (["stacks", "/nowhere.assay"], 3, "no such file"),
    (["stacks", "/etc/passwd"], 3, "has no stacks"),
    (["stacks", "FILE", "--format", "csv"], 2, "choose folded or speedscope"),
    (["stacks", "FILE", "--gpus", "0"], 2, "--gpus has no use for stacks"),
    (["stacks", "FILE", "--at", "9999"], 2, "beyond the end"),
    (["stacks", "FILE", "--pid", "7"], 2, "no stacks of a process 7"),
    (["FILE", "--format", "folded"], 2, "--format folded is for stacks"),
])
def test_what_cannot_be(assay, made, words, status, said):
    done = assay("export", *[made if w == "FILE" else w for w in words])
    assert (done.returncode, done.stdout) == (status, "") and said in done.stderr
