"""Programs of a cluster that lie: squeue, srun, sinfo and kubectl on the PATH write what they like. Nothing hangs, nothing is run that they name, and words are clean."""
import json
import os
import re
import time

import pytest

from conftest import clean_env, tried
from test_crafted import ESCAPE, is_quiet

BIG = "RUNNING|42|" + ",".join(f"node{i}" for i in range(100_000)) + "\n"
ANSWERS = {
    "nothing": "",
    "noise": "\x00\xff\x01" * 5000,
    "endless": None,
    "a long line": "RUNNING|42|" + "n" * 1_000_000 + "\n",
    "too many nodes": BIG,
    "a bomb": "RUNNING|42|n[0-999999999]\nRUNNING|42|n[0-99999][0-99999][0-99999]\n",
    "an option": "RUNNING|42|-oProxyCommand=touch${IFS}PWNED\nRUNNING|42|--uid=0\n",
    "a shell": "RUNNING|42|$(touch PWNED);`touch PWNED`|x\n",
    "escapes": f"{ESCAPE}|42|a\nRUNNING|{ESCAPE}|a\n",
    "escapes as nodes": f"RUNNING|42|{ESCAPE}\n",
    "no job": "RUNNING||n1\nRUNNING|-1|n1\nRUNNING|99999999999999999999|n1\n",
    "brackets": "RUNNING|42|n[\nRUNNING|42|n]0[\nRUNNING|42|n[1-\nRUNNING|42|n[2-1]\n",
    "many parts": "".join(f"RUNNING|{i}|n{i}\n" for i in range(5000)),
}


@pytest.fixture
def cluster(program, tmp_path):
    """Runs assay beside such programs; gives the finished process."""
    import subprocess

    def run(name, answer, *args, status=0, said="", timeout=60):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "answer").write_bytes((answer or "").encode("utf-8", "surrogatepass"))
        (folder / "said").write_bytes(said.encode())
        body = "yes RUNNING" if answer is None else f"cat {folder}/answer; cat {folder}/said >&2; exit {status}"
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
        if name != "srun":
            (folder / "srun").write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >> {tmp_path}/asked\nexit 1\n")
            (folder / "srun").chmod(0o755)
        tried("hostile files")
        begun = time.monotonic()
        done = subprocess.run([program, *map(str, args)], env={**clean_env(tmp_path), "PATH": f"{folder}:{os.environ['PATH']}"}, capture_output=True, text=True,
                              check=False, timeout=timeout, cwd=tmp_path, errors="replace")
        done.seconds = time.monotonic() - begun
        assert not list(tmp_path.rglob("PWNED")), "something was run"
        assert is_quiet(done.stdout) and is_quiet(done.stderr), done.stderr
        return done

    return run


@pytest.mark.parametrize("answer", ANSWERS)
def test_squeue(cluster, tmp_path, answer):
    done = cluster("squeue", ANSWERS[answer], "once", "--slurm", "42")
    assert done.returncode in (2, 3) and done.stderr.startswith("assay: ") and done.seconds < 30, done.stderr
    asked = (tmp_path / "asked").read_text() if (tmp_path / "asked").exists() else ""
    assert "ProxyCommand" not in asked and "--uid" not in asked and "$(" not in asked


def test_parts_of_unequal_size(cluster, tmp_path):
    """Each node is asked for in the part of the job that it is in."""
    cluster("squeue", "RUNNING|42|n[1-3]\nRUNNING|43|n4\nRUNNING|44|n[5-6]\n", "once", "--slurm", "42")
    asked = re.findall(r"^--(jobid|nodelist)=(\w+)$", (tmp_path / "asked").read_text(), re.M)
    assert {asked[i][1]: asked[i - 1][1] for i in range(1, len(asked), 2)} == {"n1": "42", "n2": "42", "n3": "42", "n4": "43", "n5": "44", "n6": "44"}


@pytest.mark.parametrize("status", [0, 1, 255])
def test_what_squeue_says_of_a_failure(cluster, status):
    done = cluster("squeue", "", "once", "--slurm", "42", status=status, said=f"slurm_load_jobs error: {ESCAPE}\n" * 1000)
    assert done.returncode == 3 and len(done.stderr) < 600


@pytest.mark.parametrize("answer", ["", "\x00\xff" * 5000, json.dumps({"assay": ESCAPE, "protocol": 1}) + "\n", '{"assay": "0.2.0", "protocol": 99}\n', "[" * 100_000 + "\n"])
def test_srun(cluster, tmp_path, answer):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "squeue").write_text("#!/bin/sh\necho 'RUNNING|42|n1'\n")
    (folder / "squeue").chmod(0o755)
    done = cluster("srun", answer, "once", "--slurm", "42", said=f"srun: error: {ESCAPE}\n", status=1)
    assert done.returncode == 3 and done.seconds < 30, done.stderr


SINFO = {"nothing": "", "noise": "\x01\xff" * 5000, "a bomb": "n[0-999999999]|gpu:8\n", "an option": "--help|gpu:8\n-o|gpu:8\n", "escapes": f"{ESCAPE}|gpu:8\nn1|{ESCAPE}\n",
         "a long line": "n" * 1_000_000 + "|gpu:8\n", "endless": None, "yaml": "a\n- targets: ['evil']|gpu:1\n'x: y'|gpu:2\n"}


@pytest.mark.parametrize("answer", SINFO)
def test_sinfo(cluster, answer):
    done = cluster("sinfo", SINFO[answer], "fleet", "targets", "--slurm", "all")
    assert done.returncode in (0, 1, 2, 3, 4) and done.seconds < 40
    assert "evil" not in done.stdout and "--help" not in done.stdout
    if done.returncode == 0:
        json.loads(done.stdout)


@pytest.mark.parametrize("answer", ["", "{", "[]", '{"items": 5}', '{"items": [{"status": {"podIP": "$(x)"}, "spec": {"nodeName": "' + "\\u001b[2J" + '"}}]}', "{" * 100_000, None])
def test_kubectl(cluster, answer):
    done = cluster("kubectl", answer, "fleet", "targets", "--kubernetes")
    assert done.returncode in (0, 1, 2, 3, 4) and done.seconds < 40
    if done.returncode == 0:
        json.loads(done.stdout)
