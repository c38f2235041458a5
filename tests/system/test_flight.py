"""The flight recorder: the last minutes of a running assay as a file, whoever or whatever asks for it."""
import json
import os
import pathlib
import random
import re
import signal
import sqlite3
import stat
import subprocess
import time

import pytest

from conftest import FIXTURES, clean_env, tried
from serving import Server, total
from test_top import Terminal, shutil

LIBRARY = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"
FAULTS = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libfail.so"
RECORDED = (FIXTURES / "nvml" / "h200-bf16.scn").read_text()
NOBODY = 65534


def fake(tmp_path, add=""):
    (tmp_path / "scenario").write_text(RECORDED + "\n" + add)
    return {"FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY)}


@pytest.fixture
def serve(program, tmp_path):
    servers = []

    def start(*args, add="", env=None):
        servers.append(Server(program, tmp_path, *args, env={**fake(tmp_path, add), **(env or {})}).start())
        return servers[-1].ready()

    yield start
    for s in servers:
        s.stop()


def dumps(tmp_path):
    return sorted(p for p in (tmp_path / ".local/state/assay/dumps").glob("*/*") if p.name.startswith("dump-"))


def ask(path, sql):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def has_ticks(path, n):
    return ask(path, "select count(*) from tick")[0][0] >= n


def test_a_dump_is_a_session_that_every_command_reads(serve, assay, tmp_path):
    s = serve()
    s.wait(lambda: total(s.metrics(), "assay_sampler_ticks_total") > 25)
    done = assay("dump")
    assert done.returncode == 0 and done.stderr == ""
    path = pathlib.Path(done.stdout.strip())
    assert dumps(tmp_path) == [path] and re.fullmatch(rf"dump-\d{{8}}-\d{{6}}-{s.process.pid}\.assay", path.name)
    assert [e for (e,) in ask(path, "select event from events")] == ["a dump was asked for"]
    assert has_ticks(path, 20) and ask(path, "select count(*) from host_tick")[0][0] >= 2
    assert [stop - start > 1e9 for start, stop in ask(path, "select (select value from manifest where key = 'start_ns'), (select value from manifest where key = 'stop_ns')")] == [True]
    assert ask(path, "pragma integrity_check") == [("ok",)]
    report = assay("report", path)
    assert report.returncode == 0 and "a dump was asked for" in report.stdout
    once = assay("once", path, "--at", "1", "--json")
    assert once.returncode == 0 and "H200" in once.stdout
    assert assay("plot", path, "-o", tmp_path / "x.svg").returncode == 0
    assert assay("export", path).stdout.count("\n") >= 20
    assert assay("diff", path, path).returncode == 0
    assert assay("convert", path, tmp_path / "x.csv").returncode == 0
    # The same process, by its number; another one keeps nothing.
    assert assay("dump", s.process.pid).returncode == 0 and len(dumps(tmp_path)) == 2
    other = assay("dump", os.getpid())
    assert other.returncode == 3 and "keeps no flight recorder of yours" in other.stderr
    assert assay("dump", "x").returncode == 2


def test_nothing_is_kept_where_nobody_wants_it(serve, assay, tmp_path):
    s = serve("--flight", "off")
    done = assay("dump")
    assert done.returncode == 3 and "no assay of yours keeps a flight recorder here" in done.stderr
    assert not (tmp_path / ".local/state/assay/dumps").exists()
    text = s.metrics()
    assert "assay_dump" not in text and "assay_flight" not in text
    assert s.ask("/api/v1/dump")[0] == 404


@pytest.mark.parametrize("value, why", [("x", "not a number of minutes"), ("0.01", "from 0.1"), ("-1", "from 0.1"), ("1e9", "to 1440"), ("10m", "not a number"), ("nan", "not a number")])
def test_times_that_make_no_sense(assay, value, why):
    done = assay("serve", "--flight", value, "--listen", "127.0.0.1:0")
    assert done.returncode == 2 and why in done.stderr


@pytest.mark.slow
def test_only_the_time_that_is_asked_for(serve, assay):
    s = serve("--flight", "0.1")
    s.wait(lambda: total(s.metrics(), "assay_sampler_ticks_total") > 85)
    path = assay("dump").stdout.strip()
    (first, last), = ask(path, "select min(elapsed), max(elapsed) from ticks")
    assert 5.5 < last - first <= 6.2 and 0 <= first < 1.1


def test_an_xid_writes_one_dump_with_its_event(serve, assay, tmp_path):
    """A flood is one row; what follows the event is in it, and the moment can be seen."""
    s = serve(add="@2 xid = 79\n" + "@2.5 xid = 31\n" * 50)
    s.wait(lambda: total(s.metrics(), "assay_dumps_total", cause="xid") == 1, 30)
    [path] = dumps(tmp_path)
    text = s.metrics()
    assert re.search(rf'^assay_dump_info{{file="{path.name}",cause="xid",gpu="0"}} 1$', text, re.M)
    events = dict(ask(path, "select event, data from events"))
    assert "XID 79: the GPU has fallen off the bus" in events
    assert json.loads(events["XID 79: the GPU has fallen off the bus"]) == {"dump": "xid", "gpu": "0"}
    # The program's own XID came in the same ten minutes on the same GPU: it is counted, and writes nothing more.
    assert len(events) == 1 and total(text, "assay_dumps_held_back_total") >= 1
    (after,), = ask(path, "select max(time) - (select time from events) from ticks")
    assert 1.5 < after < 5
    (at,), = ask(path, "select (select time from events) - min(time) from ticks")
    before, then = (json.loads(assay("once", path, "--at", at + d, "--json").stdout)["gpus"][0]["health"] for d in (-1, 0.5))
    assert "CRIT" in str(then) and "CRIT" not in str(before)
    told = s.wait(lambda: [e["text"] for e in s.json("/api/v1/findings")["log"] if e["kind"] == "dump"])
    assert told == [f"{path.name}: XID 79: the GPU has fallen off the bus"]
    assert f"{path.name}: GPU 0: XID 79" in s.text()


@pytest.mark.slow
def test_a_dump_makes_no_tick_late(serve, assay):
    s = serve()
    s.wait(lambda: total(s.metrics(), "assay_sampler_ticks_total") > 20)
    late = total(s.metrics(), "assay_sampler_ticks_total", result="late")
    paths = []
    for _ in range(3):
        paths.append(assay("dump").stdout.strip())
    assert all(has_ticks(p, 10) for p in paths)
    # A loaded machine is late by itself: not by one tick a dump.
    assert total(s.metrics(), "assay_sampler_ticks_total", result="late") - late < 3


@pytest.mark.slow
def test_a_killed_writer_leaves_whole_dumps(program, assay, tmp_path):
    """SIGKILL at any moment of a dump: what has a name is whole, and what has none is removed by the next."""
    rng, env = random.Random(32), {**clean_env(tmp_path), **fake(tmp_path)}
    for _ in range(12):
        with subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0"], env=env, stderr=subprocess.PIPE, text=True) as p:
            while "serving" not in p.stderr.readline():
                pass
            time.sleep(0.4)
            p.send_signal(signal.SIGUSR1)
            time.sleep(rng.uniform(0, 0.03))
            p.kill()
        tried("kills during a dump")
    left = dumps(tmp_path)
    for path in left:
        assert ask(path, "pragma integrity_check") == [("ok",)] and assay("report", path).returncode == 0
    # The folder keeps nothing of the dead.
    with Server(program, tmp_path, env=fake(tmp_path)) as s:
        s.ready().wait(lambda: total(s.metrics(), "assay_sampler_ticks_total") > 3)
        assert assay("dump").returncode == 0
        names = {p.name for p in next((tmp_path / ".local/state/assay/dumps").iterdir()).iterdir()}
        assert {n for n in names if not n.startswith("dump-")} == {f".run-{s.process.pid}"} and len(names) == len(left) + 2


@pytest.mark.parametrize("how", ["full", pytest.param("hangs", marks=pytest.mark.slow)])
def test_a_disk_that_takes_nothing(serve, assay, tmp_path, how):
    """Ticks go on, the server answers and ends, and older dumps stay."""
    s = serve("--state", "none", "--flight-folder", tmp_path / "dumps",
              env={"LD_PRELOAD": str(FAULTS), "FAIL_WRITE": "1", "FAIL_EVERY": "1", **({"FAIL_HANG": "1"} if how == "hangs" else {})})
    s.wait(lambda: total(s.metrics(), "assay_sampler_ticks_total") > 3)
    s.process.send_signal(signal.SIGUSR1)
    if how == "full":
        s.wait(lambda: total(s.metrics(), "assay_dumps_failed_total") == 1)
        assert "cannot write the dump: the disk is nearly full" in s.json("/api/v1/now")["status"]["dump"]["error"]
    else:
        s.wait(lambda: s.json("/api/v1/now")["status"]["dump"]["busy"])
    before = total(s.metrics(), "assay_sampler_ticks_total")
    s.wait(lambda: total(s.metrics(), "assay_sampler_ticks_total") > before + 10)
    assert not [p for p in (tmp_path / "dumps").iterdir() if p.name.startswith("dump-")]
    began = time.monotonic()
    assert s.stop() == 0 and time.monotonic() - began < 8


def token(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_who_may_ask_over_http(serve, tmp_path):
    """With a token alone, not for a page of another site, and at most once a minute."""
    s = serve("--auth-token-file", token(tmp_path, "t", "secret-of-viewers"))
    bearer = {"Authorization": "Bearer secret-of-viewers"}
    s.wait(lambda: total(s.metrics(**bearer), "assay_sampler_ticks_total") > 5)
    status, headers, _ = s.ask("/api/v1/login", headers=bearer)
    cookie = {"Cookie": headers["Set-Cookie"].split(";")[0]}
    refused = [({}, 401), ({"Authorization": "Bearer wrong"}, 401), ({**bearer, "Sec-Fetch-Site": "cross-site"}, 403), ({**bearer, "Sec-Fetch-Site": "same-site"}, 403),
               (cookie, 403), ({**bearer, "Content-Length": str(2 << 20)}, 413), ({**bearer, "Transfer-Encoding": "chunked"}, 413)]
    for more, code in refused:
        assert s.ask("/api/v1/dump", method="POST", headers=more)[0] == code, more
    assert not dumps(tmp_path)
    status, _, text = s.ask("/api/v1/dump", method="POST", headers={**cookie, "X-Assay": "dump", "Sec-Fetch-Site": "same-origin"})
    assert status == 202 and json.loads(text)["busy"]
    s.wait(lambda: dumps(tmp_path))
    status, headers, _ = s.ask("/api/v1/dump", method="POST", headers=bearer)
    assert status == 429 and headers["Retry-After"] == "60" and len(dumps(tmp_path)) == 1
    # What an alert manager sends is not read, and comes after a moment.
    assert s.ask("/api/v1/dump?alert=TooSlow", method="POST", headers=bearer, body=b'{"alerts":[]}' * 5000)[0] == 202
    s.wait(lambda: len(dumps(tmp_path)) == 2)
    assert ask(dumps(tmp_path)[1], "select event from events") == [("alert TooSlow",)]
    got = json.loads(s.ask("/api/v1/dump", headers=bearer)[2])
    assert got["cause"] == "alert" and got["file"] == dumps(tmp_path)[1].name and got["error"] == ""
    for path in ("/metrics", "/api/v1/now", "/"):
        assert s.ask(path, method="POST", headers=bearer)[0] == 405


def test_without_a_token_nobody_asks_over_http(serve, tmp_path):
    s = serve()
    for headers in ({}, {"X-Assay": "dump"}, {"Authorization": "Bearer x"}):
        status, _, text = s.ask("/api/v1/dump", method="POST", headers=headers)
        assert status == 403 and "--auth-token-file" in text
    assert s.ask("/api/v1/dump")[0] == 200 and not dumps(tmp_path)


@pytest.mark.slow
def test_hostile_words_of_an_alert(serve, tmp_path):
    s = serve("--auth-token-file", token(tmp_path, "t", "secret-of-viewers"))
    bearer = {"Authorization": "Bearer secret-of-viewers"}
    s.wait(lambda: total(s.metrics(**bearer), "assay_sampler_ticks_total") > 5)
    assert s.ask("/api/v1/dump?alert=%1b%5b31m%22%0a%ff" + "x" * 3000, method="POST", headers=bearer)[0] == 202
    s.wait(lambda: dumps(tmp_path))
    (event,), = ask(dumps(tmp_path)[0], "select event from events")
    assert len(event) < 128 and event.startswith("alert ?[31m\"?") and event.isprintable()


@pytest.mark.parametrize("command, flags, kept", [("serve", [], "sh -c read x train --token ***"), ("serve", ["--redact"], "sh"), ("record", ["--redact"], "sh")])
def test_a_dump_keeps_no_more_than_a_session(program, assay, tmp_path, command, flags, kept):
    with subprocess.Popen(["sh", "-c", "read x", "train", "--token", "hunter2"], stdin=subprocess.PIPE) as worker:
        env = {**clean_env(tmp_path), **fake(tmp_path)}
        (tmp_path / "scenario").write_text(RECORDED.replace("437:", f"{worker.pid}:"))
        more = ["--listen", "127.0.0.1:0"] if command == "serve" else ["-q", "--poll", "0.2", "-o", str(tmp_path / "run.assay")]
        with subprocess.Popen([program, command, *flags, *more], env=env, stderr=subprocess.DEVNULL) as p:
            end = time.monotonic() + 20
            found = []
            while not found and time.monotonic() < end:
                time.sleep(0.5)
                done = assay("dump")
                found = done.stdout and ask(done.stdout.strip(), "select distinct command from process where command like 'sh%'")
            p.terminate()
        worker.kill()
    assert found == [(kept,)]
    assert all(b"hunter2" not in path.read_bytes() for path in dumps(tmp_path))


def test_dumps_are_for_their_owner_alone(serve, program, assay, tmp_path):
    s = serve()
    s.wait(lambda: total(s.metrics(), "assay_sampler_ticks_total") > 3)
    path = pathlib.Path(assay("dump").stdout.strip())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    if os.geteuid() != 0:
        pytest.skip("takes two users")
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    other = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run(["cat", str(path)], check=True, capture_output=True, **other)
    # Nor can they fool its owner: a folder of somebody else's, or a link to one, is not used.
    (tmp_path / "theirs").mkdir(mode=0o777)
    os.chown(tmp_path / "theirs", NOBODY, NOBODY)
    done = assay("serve", "--flight-folder", tmp_path / "theirs", "--listen", "127.0.0.1:0")
    assert done.returncode != 0 and "belongs to another user" in done.stderr
    (tmp_path / "link").symlink_to("theirs")
    assert assay("serve", "--flight-folder", tmp_path / "link", "--listen", "127.0.0.1:0").returncode != 0


@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
def test_the_key_in_top(program, tmp_path):
    t = Terminal(program, tmp_path, width=120, height=30, env=fake(tmp_path))
    try:
        t.type(f"{program} top --poll 0.5")
        t.wait("tensor", 10)
        time.sleep(1)
        t.keys("D")
        t.wait(re.compile(r"dump: dump-\d+-\d+-\d+\.assay"), 10)
        t.keys("d")
        t.wait("a dump was asked for in top", 10)
        t.keys("q", "q")
    finally:
        t.close()
    [path] = dumps(tmp_path)
    assert ask(path, "select event from events") == [("a dump was asked for in top",)]
