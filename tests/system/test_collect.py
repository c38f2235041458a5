"""--collect: numbers of one's own beside the GPUs, from commands and sockets, which nobody waits for."""
import json
import os
import re
import socket
import sqlite3
import subprocess
import threading
import time

import pytest

from conftest import ROOT, clean_env
from serving import Server
from test_schema import check, schema_of

TOUR = ROOT / "docs/example/tour.assay"


def run(program, path, *words, seconds=2.6, env=None):
    began = time.monotonic()
    done = subprocess.run([program, "run", "-o", path, *words, "--", "sleep", str(seconds)], capture_output=True, text=True, timeout=60, env={**clean_env(path.parent), **(env or {})})
    assert done.returncode == 0, done.stderr
    return done.stderr, time.monotonic() - began


def kept(path, name):
    with sqlite3.connect(path) as db:
        return db.execute("select value, unit from user_metrics where name = ? order by time", (name,)).fetchall()


def test_a_command_is_asked_at_each_beat(program, tmp_path):
    path = tmp_path / "run.assay"
    said, _ = run(program, path, "--collect", "queue=echo 41.5 it/s", "--collect", "plain=echo 7")
    assert 2 <= len(kept(path, "queue")) <= 4 and set(kept(path, "queue")) == {(41.5, "it/s")}
    assert set(kept(path, "plain")) == {(7.0, None)} and "--collect" not in said
    told = json.loads(subprocess.run([program, "report", path, "--format", "json"], capture_output=True, text=True, check=True).stdout)
    assert told["user_metrics"]["queue"]["mean"] == 41.5
    assert re.search(r"queue\b.*41\.5", subprocess.run([program, "report", path, "--all"], capture_output=True, text=True, check=True).stdout)


def test_one_that_goes_on_is_not_kept_oftener(program, tmp_path):
    """Hundreds of lines a second are two a second at the most; what is left of it ends with the run."""
    path = tmp_path / "run.assay"
    run(program, path, "--collect", "stream=while :; do echo 3 W; done # mark-of-this-test")
    assert 2 <= len(kept(path, "stream")) <= 7
    assert "mark-of-this-test" not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def test_what_hangs_or_says_nonsense_holds_nothing_up(program, tmp_path):
    path = tmp_path / "run.assay"
    said, took = run(program, path, "--collect", "hangs=sleep 977", "--collect", "text=echo hello; echo 1 2 3; echo nan", "--collect", "gone=/nowhere/x", "--collect", "zeros=cat /dev/zero",
                     "--collect", "deaf=trap '' TERM; while :; do sleep 1; done", "--collect", "good=echo 1", "--poll", "0.1", seconds=2)
    assert took < 6 and kept(path, "good")
    for name in ("hangs", "text", "gone", "zeros", "deaf"):
        assert not kept(path, name), name
    assert said.count("--collect: 'text' gives nothing: a line that is not a number and a unit") == 1
    assert "--collect: 'gone' gives nothing: it ended without a number" in said
    with sqlite3.connect(path) as db:
        taken, missed = (int(db.execute("select value from manifest where key = ?", (k,)).fetchone()[0]) for k in ("ticks_taken", "ticks_missed"))
    assert taken >= 15 and missed <= 3
    assert "sleep 977" not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def test_what_floods_is_kept_waiting(program, tmp_path):
    """64 KiB a second are read of each, so that one that writes without end costs no core; what it complains of goes nowhere."""
    path, counted = tmp_path / "run.assay", tmp_path / "counted"
    flood = tmp_path / "flood.py"
    flood.write_text(f"import os\nout, n = os.open({str(counted)!r}, os.O_WRONLY | os.O_CREAT), 0\n"
                     "while True:\n    os.write(2, b'x' * 4096)\n    n += os.write(1, b'1 W\\n' * 1024)\n    os.pwrite(out, b'%20d' % n, 0)\n")
    began = time.monotonic()
    run(program, path, "--collect", f"flood=exec python3 {flood}", seconds=2)
    took = time.monotonic() - began
    assert kept(path, "flood") and int(counted.read_text()) <= (took + 2) * 65536 + 2 * 65536  # what the pipe holds


def test_what_a_command_started_ends_with_the_recording(program, tmp_path):
    """A shell that has ended leaves its background jobs in its group."""
    path = tmp_path / "run.assay"
    run(program, path, "--collect", "left=sleep 974 > /dev/null & echo 1", "--collect", "still=sleep 975 & echo 2", seconds=1.2)
    assert kept(path, "left") and not re.search("sleep 97[45]", subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout)


def test_a_socket(program, tmp_path):
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "s"))
    server.listen()

    def serve():
        client, _ = server.accept()
        for i in range(30):
            try:
                client.sendall(f"{i}.5 degC\n".encode())
            except OSError:
                return
            time.sleep(0.1)

    threading.Thread(target=serve, daemon=True).start()
    path = tmp_path / "run.assay"
    run(program, path, "--collect", f"temp=unix:{tmp_path}/s")
    server.close()
    found = kept(path, "temp")
    assert len(found) >= 2 and found[0] == (0.5, "degC") and found[1][0] > 3, found


def test_a_recorder_collects_too(program, tmp_path):
    path = tmp_path / "r.assay"
    subprocess.run([program, "record", "-q", "--duration", "1.5", "--collect", "x=echo 5", "-o", path], env=clean_env(tmp_path), timeout=60, check=True)
    assert kept(path, "x")


def test_a_server_shows_them(program, tmp_path):
    values = tmp_path / "values"
    values.write_text("12 items\n")
    with Server(program, tmp_path, TOUR, "--speed", "1", "--collect", f"queue=cat {values}", "--collect", "bad=echo x") as server:
        line = 'assay_collected_value{name="queue",unit="items"} 12'
        server.wait(lambda: line in server.metrics())
        assert "# TYPE assay_collected_value gauge" in server.metrics() and "# EOF" not in server.metrics()
        assert server.json("/api/v1/now")["collected"]["queue"]["value"] == 12 and server.json("/api/v1/now")["collected"]["queue"]["unit"] == "items"
        values.write_text("13 items\n")
        server.wait(lambda: line[:-2] + "13" in server.metrics())
        server.wait(lambda: "--collect: 'bad' gives nothing" in server.text())
        assert "bad" not in server.metrics()


@pytest.mark.parametrize("value, words", [
    ("queue", "'queue' is not NAME=COMMAND"), ("=x", "is not NAME=COMMAND"), ("7x=echo 1", "is not NAME=COMMAND"), ("a b=echo 1", "is not NAME=COMMAND"), ("x=", "is not NAME=COMMAND"),
    ("x" * 80 + "=echo", "is not NAME=COMMAND")])
def test_what_cannot_be_is_refused(assay, tmp_path, value, words):
    for command in (["run", "--collect", value, "--", "true"], ["record", "--collect", value, "-o", tmp_path / "x.assay"], ["serve", "--collect", value, "--check-config"]):
        done = assay(*command)
        assert done.returncode in (2, 125) and words in done.stderr and "queue=wc" in done.stderr
    assert not (tmp_path / "x.assay").exists()


def test_a_name_is_there_once_and_not_too_many(assay):
    done = assay("run", "--collect", "a=echo 1", "--collect", "a=echo 2", "--", "true")
    assert done.returncode == 125 and "'a' is there twice" in done.stderr
    many = [word for i in range(17) for word in ("--collect", f"n{i}=echo 1")]
    done = assay("run", *many, "--", "true")
    assert done.returncode == 125 and "more than 16 numbers" in done.stderr


def test_a_config_file_and_the_command_line_are_not_mixed(program, tmp_path):
    """As any option: what is typed wins."""
    (tmp_path / ".config/assay").mkdir(parents=True)
    (tmp_path / ".config/assay/config").write_text("[run]\ncollect = filed=echo 1\n")
    path = tmp_path / "run.assay"
    run(program, path, "--collect", "typed=echo 2", seconds=1.2)
    assert kept(path, "typed") and not kept(path, "filed")
    run(program, tmp_path / "b.assay", seconds=1.2, env={"HOME": str(tmp_path)})
    assert kept(tmp_path / "b.assay", "filed")


def test_once_shows_the_newest_of_each(assay, program):
    words = ("--collect", "queue=echo 42 jobs", "--collect", "plain=echo 7", "--collect", "bad=echo words")
    done = assay("once", TOUR, *words)
    assert done.returncode == 0 and re.search(r"^collected: (queue 42 jobs, plain 7|plain 7, queue 42 jobs)$", done.stdout, re.M)
    assert "--collect: 'bad' gives nothing: a line that is not a number" in done.stderr
    for source in ([TOUR], []):
        told = json.loads(assay("once", *source, "--json", *words).stdout)
        assert {name: (c["value"], c["unit"]) for name, c in told["collected"].items()} == {"queue": (42, "jobs"), "plain": (7, None)}
        check(schema_of(program, "once"), [told], "moment")
    done = assay("once", TOUR, "--json", "--collect", "never=sleep 977")
    assert done.returncode == 0 and "collected" not in json.loads(done.stdout) and "'never' gives nothing: no number came in time" in done.stderr
    done = assay("once", TOUR, "--csv", *words)
    assert done.returncode == 2 and "--collect is for the table and JSON" in done.stderr


def test_lines_of_the_host_have_them(program, tmp_path):
    """In the whole machine's line alone, and no line is broken; a stream that is read as it comes."""
    words = [program, "export", "--host", "--format", "jsonl", "--levels", "user,system", "--poll", "0.1", "--collect", "queue=echo 42 jobs"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=clean_env(tmp_path)) as p:
        told = []
        for line in p.stdout:
            told.append(json.loads(line))
            if "collected" in told[-1] or len(told) > 400:
                break
        p.kill()
    assert told[-1]["level"] == "system" and told[-1]["collected"]["queue"]["value"] == 42 and not any("collected" in t for t in told[:-1])
    check(schema_of(program, "export"), told, "host_line")


@pytest.mark.parametrize("words", (["export", TOUR], ["export", "--host", "--count", "1"], ["export", "--host", TOUR, "--format", "jsonl"]), ids=range(3))
def test_where_they_have_no_place_they_are_refused(assay, words):
    done = assay(*words, "--collect", "queue=echo 42")
    assert done.returncode == 2 and "--collect is " in done.stderr and not done.stdout
