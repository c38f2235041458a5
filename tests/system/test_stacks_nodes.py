"""assay stacks --hosts: a look at many hosts, which a script in the place of ssh plays."""
import json
import os
import subprocess
import time

import pytest

from conftest import clean_env
from test_stacks_command import POOL, line_of, settled
from test_stacks_command import started  # noqa: F401 (a fixture)

STAND_IN = """#!/bin/sh
# HOST COMMAND…: what a host does is in its name.
host=$1; shift
case $host in
refuses*) echo "ssh: connect to host $host port 22: Connection refused" >&2; exit 255 ;;
missing*) exec /nonexistent/assay "$@" ;;
blank*) exit 0 ;;
garbage*) exec head -c 100000 /dev/urandom ;;
endless*) exec cat /dev/zero ;;
old*) echo "assay: unknown command 'stacks'" >&2; exit 2 ;;
real*) echo "Welcome to $host"; echo; exec "$@" ;;
*) exec cat "$FOLDER/$host.json" ;;
esac
"""
REDUCE = {"file": "/job/train.py", "line": 88, "function": "all_reduce", "whose": "user"}
READ = {"file": "/job/loader.py", "line": 41, "function": "read_batch", "whose": "user"}


def process(pid, rank, frames, **more):
    main = {"tid": pid, "name": "python", "main": True, "state": "waiting", "gil": False, "call": "futex", "channel": None, "frames": frames}
    return {"pid": pid, "ppid": 1, "rank": rank, "leads": True, "gpus": ["0"], "command": "python train.py", "runtime": "CPython 3.11.7", "access": "readable",
            "why": None, "threads": [main], **more}


def answer(processes, **more):
    gpu = {"gpu": "0", "gpu_util": 0.97, "sm_active": 0.5, "class": None, "limiter": None}
    return {"schema": 1, "program": "assay", "version": "x", "time": 1.0, "recorded": False, "gpus": [gpu], "groups": [], "processes": processes, **more}


@pytest.fixture
def nodes(program, tmp_path):
    """Runs assay stacks on hosts of which these answers are known."""

    def look(hosts, *args, status=0, **answers):
        for name, told in answers.items():
            (tmp_path / f"{name}.json").write_text(told if isinstance(told, str) else json.dumps(told))
        script = tmp_path / "reach"
        script.write_text(STAND_IN)
        script.chmod(0o755)
        env = {**clean_env(tmp_path), "FOLDER": str(tmp_path)}
        done = subprocess.run([program, "stacks", "--hosts", hosts, "--ssh", str(script), "--remote-assay", program, *args], capture_output=True, text=True, timeout=90,
                              env=env, check=False)
        assert done.returncode == status, (done.returncode, done.stderr, done.stdout[:500])
        return done

    return look


def test_ranks_of_many_hosts_in_one_place_are_shown_once(nodes):
    answers = {f"n{i}": answer([process(100 + k, 8 * i + k, [READ if 8 * i + k == 5 else REDUCE]) for k in range(8)]) for i in range(8)}
    text = nodes("n[0-7]", **answers).stdout
    assert text.splitlines() == ["63 ranks (0-4, 6-63) at train.py:88 all_reduce", "rank 5 at loader.py:41 read_batch"]
    told = json.loads(nodes("n[0-7]", "--format", "json", **answers).stdout)
    assert [g["n"] for g in told["groups"]] == [63, 1] and told["groups"][1]["processes"] == [{"host": "n0", "pid": 105, "rank": 5}]
    assert len(told["processes"]) == 64 and [h["host"] for h in told["hosts"]] == [f"n{i}" for i in range(8)]
    assert told["processes"][9]["threads"][0]["frames"] == [REDUCE]
    every = nodes("n[0-7]", "--all", **answers).stdout
    assert every.count("all_reduce  /job/train.py:88") == 63 and "n7, pid 107, GPU 0 (97 % busy, SM 50 %), rank 63" in every


def test_hosts_that_give_nothing_say_why(nodes):
    done = nodes("n1,refuses1,missing1,blank1,garbage1,endless1,old1,other1", n1=answer([process(7, 0, [REDUCE])]), other1=answer([], schema=2))
    lines = done.stdout.splitlines()
    assert lines[0] == "rank 0 at train.py:88 all_reduce"
    for host, why in (("refuses1", "no ssh server answers there"), ("missing1", "assay was not found there"), ("garbage1", "its answer is no look at stacks"),
                      ("endless1", "its answer is too long"), ("old1", "its assay is too old"), ("other1", "writes another format"), ("blank1", "ended with status 0")):
        assert any(line.startswith(f"{host}: ") and why in line for line in lines), (host, done.stdout)


def test_one_host_that_gives_nothing_is_an_error(nodes):
    assert "refuses1: no ssh server answers there" in nodes("refuses1", status=3).stderr


def test_a_real_look(nodes, program, started):  # noqa: F811
    child = started(POOL)
    settled(program, child)
    told = json.loads(nodes("real1,real2", "--format", "json").stdout)
    found = [p for p in told["processes"] if p["pid"] == child.pid]
    assert {p["host"] for p in found} == {"real1", "real2"}
    assert all(p["threads"][0]["own"]["line"] == line_of(POOL, "main") for p in found)
    assert told["processes"][0]["gpus"] == []


HOSTILE = [
    "", "{", "[]", "null", "{}", '{"program":"assay"}', '{"program":"assay","schema":"1"}', '{"program":"assay","schema":1,"processes":7,"gpus":{}}',
    '{"program":"assay","schema":1,"processes":[7,null,[],{}],"gpus":[7,null,{}]}', "{" + '"a":{' * 5000,
    json.dumps(answer([process(-5, -1, [{"file": 7, "line": -3, "function": [], "whose": "x"}, 7]), process(2**40, 1e300, "x"), process(3, 2.5, None, threads=7)])),
    json.dumps(answer([process(1, 0, [{"file": "\x1b[2J\x07" + "n" * 100000, "line": 2**31 - 1, "function": "f\n" * 100, "whose": "user"}] * 5000,
                               command="\x1b]0;x\x07\n" * 1000, why="\x1b[31m", runtime="\u202e" * 99)])),
    json.dumps(answer([process(i, i, [REDUCE], ppid=i, gpus=["0", "\x1b[1m", "9"] * 50) for i in range(3000)])),
]


@pytest.mark.parametrize("told", HOSTILE, ids=range(len(HOSTILE)))
def test_what_hosts_say_is_bounded_and_cleaned(nodes, told):
    begun = time.monotonic()
    for args in ((), ("--all",), ("--format", "json")):
        done = nodes("n1,n2", *args, n1=told, n2=answer([process(7, 0, [REDUCE])]))
        assert "all_reduce" in done.stdout and len(done.stdout) < 20_000_000
        assert not any(c in done.stdout + done.stderr for c in "\x1b\x07\u202e")
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("args, said", [
    (["4711"], "leave out one of them"),
    (["--at", "5"], "--at is not for other hosts"),
    (["--gpus", "0"], "--gpus is not for other hosts"),
    (["--slurm", "1"], "both --hosts and --slurm"),
])
def test_what_has_no_use(nodes, args, said):
    assert said in nodes("n1", *args, status=2).stderr


def test_options_for_hosts_alone(program, tmp_path):
    done = subprocess.run([program, "stacks", "--ssh", "x"], capture_output=True, text=True, check=False, env=clean_env(tmp_path))
    assert done.returncode == 2 and "--ssh is for other hosts" in done.stderr and os.path.exists(program)
