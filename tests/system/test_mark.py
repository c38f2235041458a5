"""Marks from shells, many processes, after crashes."""
import concurrent.futures
import json
import os
import re
import sqlite3
import subprocess
import time

import pytest


@pytest.fixture
def live(program, tmp_path):
    """A session that is being recorded, without GPUs."""
    path = tmp_path / "live.assay"
    with subprocess.Popen([program, "record", "-q", "--interval", "0.1", "-o", str(path)], stderr=subprocess.DEVNULL) as p:
        while not path.exists():
            time.sleep(0.01)
        yield path, p
        p.kill()


def ask(path, sql):
    db = sqlite3.connect(path)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def end(p):
    p.terminate()
    assert p.wait(10) == 0


def test_all_kinds_by_environment(assay, live):
    path, p = live
    env = {"ASSAY_SESSION": str(path)}
    assert assay("mark", "phase", "outer", "--begin", "epoch=1", env=env).returncode == 0
    assert assay("mark", "phase", "inner", "--seconds", "0.5", env=env).returncode == 0
    assert assay("mark", "event", "start", "--data", '{"lr": 0.1}', env=env).returncode == 0
    assert assay("mark", "metric", "loss=0.25", "acc=1e-3", env=env).returncode == 0
    assert assay("mark", "phase", "outer", "--end", env=env).returncode == 0
    end(p)
    phases = ask(path, "select name, round(seconds, 1), open, data from phases order by name")
    assert [p[0] for p in phases] == ["inner", "outer"]
    assert phases[0][1:3] == (0.5, 0) and phases[1][2:] == (0, '{"epoch":1}')
    assert ask(path, "select event, data from events") == [("start", '{"lr":0.1}')]
    assert ask(path, "select name, value from user_metrics") == [("loss", 0.25), ("acc", 0.001)]


def test_a_phase_that_nobody_ends_is_ended_by_the_session(assay, live):
    path, p = live
    assay("mark", "phase", "open", "--begin", "--session", path)
    time.sleep(0.8)
    p.kill()
    p.wait()
    assert assay("report", "--recover", path).returncode == 0  # takes in what the dead recorder left
    name, seconds, is_open = ask(path, "select name, seconds, open from phases")[0]
    assert (name, is_open) == ("open", 1) and 0.1 < seconds < 2


def test_marks_after_the_recorder_died_or_ended(assay, live, tmp_path):
    path, p = live
    assay("mark", "event", "before", "--session", path)
    p.kill()
    p.wait()
    assert assay("mark", "event", "after", "--session", path).returncode == 0
    assay("report", "--recover", path)
    assert [e[0] for e in ask(path, "select event from events")] == ["before", "after"]
    assert assay("mark", "event", "later", "--session", path).returncode == 0
    assert [e[0] for e in ask(path, "select event from events")] == ["before", "after", "later"]
    assert not (tmp_path / "live.assay-marks").exists()


def test_inside_a_run_with_a_log(program, assay, tmp_path):
    script = f"{program} mark phase p --begin; sleep 0.2; {program} mark phase p --end n=1; exit 3"
    log = tmp_path / "log.jsonl"
    done = assay("run", "-q", "-o", tmp_path / "x.assay", "--log", log, "--", "sh", "-c", script)
    assert done.returncode == 3, done.stderr
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["type"] for line in lines] == ["event", "begin", "phase", "event"]
    assert 0.15 < lines[2]["seconds"] < 1.5 and lines[2]["n"] == 1
    assert lines[3]["data"] == {"exit": 3}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", line["ts"]) for line in lines)
    assert ask(tmp_path / "x.assay", "select name, open from phases") == [("p", 0)]


def test_a_command_as_a_phase(assay, live):
    path, p = live
    done = assay("mark", "--session", path, "--", "sh", "-c", "sleep 0.2; cat; exit 5", stdin="hello")
    assert (done.returncode, done.stdout) == (5, "hello")
    assert assay("mark", "phase", "mine", "k=v", "--session", path, "--", "true").returncode == 0
    assert assay("mark", "--session", path, "--", "no-such-program").returncode == 127
    end(p)
    rows = ask(path, "select name, seconds, data from phases order by start_time")
    assert [r[0] for r in rows] == ["sh", "mine"] and 0.2 <= rows[0][1] < 2 and rows[1][2] == '{"k":"v"}'


@pytest.mark.parametrize("words, said", [
    (["mark"], "nothing to mark"),
    (["mark", "phase", "x"], "one of --begin, --end and --seconds"),
    (["mark", "phase", "x", "--begin", "--end"], "one of --begin, --end and --seconds"),
    (["mark", "phase", "x", "--seconds=-5"], "is not a time"),
    (["mark", "phase", "x", "--begin", "word"], "is not key=value"),
    (["mark", "phase", "x", "--begin", "ts=1"], "a key of the log itself"),
    (["mark", "event", "x", "--data", "{bad"], "not JSON"),
    (["mark", "metric", "x"], "is not NAME=VALUE"),
    (["mark", "metric", "x=nan"], "is not NAME=VALUE"),
    (["mark", "event", "y" * 200], "1 to 127 bytes"),
])
def test_wrong_usage_is_explained(assay, live, words, said):
    path, _ = live
    done = assay(*words, "--session", path)
    assert done.returncode == 2 and said in done.stderr


def test_without_a_session(assay, tmp_path):
    done = assay("mark", "event", "x")
    assert done.returncode == 2 and "assay run" in done.stderr
    done = assay("mark", "event", "x", "--session", tmp_path / "no.assay")
    assert done.returncode == 1 and "no.assay" in done.stderr


def test_a_folder_of_marks_without_a_session_takes_none(assay, tmp_path):
    """A recorder that died before it made its file never comes back for them."""
    path, folder = tmp_path / "never.assay", tmp_path / "never.assay-marks"
    folder.mkdir(mode=0o700)
    done = assay("mark", "event", "x", "--session", path)
    assert done.returncode == 1 and f"cannot mark '{path}': No such file" in done.stderr
    assert os.listdir(folder) == []


def test_phases_in_sql_are_those_of_the_report(assay, tmp_path):
    """Nested, of two nodes and of two ranks of one; 10,000 of them do not take seconds."""
    path = tmp_path / "x.assay"
    assay("record", "-q", "--duration", "0.1", "-o", path)
    marks = [("begin", "a", "h", 1, 10), ("begin", "a", "h", 2, 11), ("end", "a", "h", 3, 12), ("end", "a", "h", 4, 16), ("end", "a", "h", 5, 17),
             ("begin", "b", "x", 1, 20), ("begin", "b", "y", 2, 21), ("end", "b", "x", 3, 22), ("end", "b", "y", 4, 29),
             ("begin", "c", "h", 7, 30), ("begin", "c", "h", 8, 31), ("end", "c", "h", 7, 32), ("end", "c", "h", 8, 39)]
    db = sqlite3.connect(path)
    insert = "insert into mark(type, name, host, pid, wall_ns, mono_ns) values(?, ?, ?, ?, ? * 1000000000, 0)"
    db.executemany(insert, marks)
    assert [row[:2] for row in db.execute("select start_time, end_time, name from phases")] == [
        (10, 16), (11, 12), (20, 22), (21, 29), (30, 32), (31, 39)]
    db.executemany(insert, [(kind, f"p{i % 50}", "h", 100 + 2 * i + k, 1000 + 2 * i + k) for i in range(10000) for k, kind in enumerate(("begin", "end"))])
    db.commit()
    started = time.monotonic()
    assert db.execute("select count(*), sum(open) from phases where name like 'p%'").fetchone() == (10000, 0)
    assert time.monotonic() - started < 5
    db.close()
    report = json.loads(assay("report", path, "--format", "json").stdout)
    assert {p["name"]: p["seconds"] for p in report["phases"] if p["name"] in "abc"} == {"a": 7, "b": 10, "c": 10}


def test_the_largest_data_is_kept(assay, live):
    """Backslashes take twice the room on their way."""
    path, p = live
    data = '"' + "\\\\" * 16383 + '"'
    assert assay("mark", "event", "big", "--data", data, "--session", path).returncode == 0
    end(p)
    assert ask(path, "select length(data) from events") == [(32768,)]


def test_names_are_text(program, live):
    path, p = live
    for ended in (False, True):
        if ended:
            end(p)
        done = subprocess.run([program, "mark", "event", b"x\xff", "--session", str(path)], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "UTF-8" in done.stderr
    assert ask(path, "select count(*) from events") == [(0,)]


def test_names_of_others_do_nothing_to_the_terminal(assay, tmp_path):
    path = tmp_path / "x.assay"
    assay("record", "-q", "--duration", "0.1", "-o", path)
    for name in ("evil\x1b[31m\nred", "\u6f22" * 42):
        assay("mark", "phase", name, "--seconds", "0.1", "--session", path)
    text = assay("report", path).stdout
    assert "evil?[31m?red" in text and "\x1b" not in text
    rows = [line for line in text.splitlines() if line.endswith(" 0.1   --")]
    columns = {len(line) + line.count("\u6f22") for line in rows}
    assert len(rows) == 2 and len(columns) == 1, rows
    assay("report", path, "--format", "html", "-o", tmp_path / "x.html")
    assert "\x1b" not in (tmp_path / "x.html").read_text()
    done = assay("report", path, "--phase", "99")
    assert "'evil?[31m?red'" in done.stderr and "\x1b" not in done.stderr


def mark_many(program, path, who, count):
    script = f'i=0; while [ $i -lt {count} ]; do "{program}" mark event p{who} --data $i --session "{path}" || exit 1; i=$((i+1)); done'
    return subprocess.run(["sh", "-c", script], check=False).returncode


def check_many(program, live, processes, count):
    path, p = live
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        assert set(pool.map(lambda who: mark_many(program, path, who, count), range(processes))) == {0}
    end(p)
    for who in range(processes):
        seen = [int(row[0]) for row in ask(path, f"select data from events where event = 'p{who}'")]
        assert seen == list(range(count)), who


def test_many_processes(program, live):
    check_many(program, live, 16, 20)


@pytest.mark.long
def test_sixty_four_processes_with_a_thousand_marks_each(program, live):
    check_many(program, live, 64, 1000)
