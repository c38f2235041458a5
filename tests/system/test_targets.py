"""`assay fleet targets`: the nodes of a fleet as a file that Prometheus reads."""
import json
import os
import shutil
import subprocess
import time

import pytest

PODS = {"items": [
    {"spec": {"nodeName": "w2"}, "status": {"phase": "Running", "podIP": "10.1.0.5"}},
    {"spec": {"nodeName": "w1"}, "status": {"phase": "Pending"}}]}


@pytest.fixture
def tool(tmp_path):
    """Puts a program on the PATH that writes what it was called with, and a text."""
    def make(name, text, status=0, before=""):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        (tmp_path / "text").write_text(text)
        path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/args\n{before}\ncat {tmp_path}/text\nexit {status}\n')
        path.chmod(0o755)
        return {"PATH": f"{path.parent}:{os.environ['PATH']}"}
    return make


def targets_of(done):
    assert done.returncode == 0, done.stderr
    return [t for group in json.loads(done.stdout) for t in group["targets"]]


def test_hosts(assay, tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("# nodes\nn[09-11]\nlogin1:9500\n")
    assert targets_of(assay("fleet", "targets", "--hosts", f"@{hosts}")) == ["login1:9500", "n09:9400", "n10:9400", "n11:9400"]
    assert targets_of(assay("fleet", "targets", "--hosts", "n10,n9", "--port", "9100")) == ["n9:9100", "n10:9100"]
    assert targets_of(assay("fleet", "targets", "--hosts", "@-", stdin="a\nb\n")) == ["a:9400", "b:9400"]


def test_slurm(assay, tool, tmp_path):
    env = tool("sinfo", "n1|gpu:h100:8(S:0-1)\nn2|(null)\nn1|gpu:h100:8(S:0-1)\n")
    done = assay("fleet", "targets", "--slurm", "all", "--labels", "cluster=a", env=env)
    assert targets_of(done) == ["n1:9400"] and json.loads(done.stdout)[0]["labels"] == {"cluster": "a"}
    assert (tmp_path / "args").read_text().split("\n")[:5] == ["-h", "-N", "-o", "%N|%G", ""]
    assay("fleet", "targets", "--slurm", "gpu", env=env)
    assert (tmp_path / "args").read_text().split("\n")[4:6] == ["-p", "gpu"]


def test_kubernetes(assay, tool, tmp_path):
    env = tool("kubectl", json.dumps(PODS))
    done = assay("fleet", "targets", "--kubernetes", env=env)
    assert json.loads(done.stdout) == [{"targets": ["10.1.0.5:9400"], "labels": {"instance": "w2"}}]
    assert "app.kubernetes.io/name=assay" in (tmp_path / "args").read_text()


def test_the_file_changes_at_once_or_not_at_all(assay, tool, tmp_path):
    out = tmp_path / "targets.json"
    assert "2 targets" in assay("fleet", "targets", "--hosts", "a,b", "-o", out).stderr
    first = out.stat()
    assert [t["targets"] for t in json.loads(out.read_text())] == [["a:9400", "b:9400"]]
    for args, make, words in [
            (["--slurm", "all"], lambda: tool("sinfo", "", 1), "'sinfo' failed"),
            (["--slurm", "all"], lambda: tool("sinfo", "n1|(null)\n"), "no node with a GPU"),
            (["--kubernetes"], lambda: tool("kubectl", "oops"), "not a list of pods"),
            (["--hosts", "@/none/such"], dict, "cannot read"),
            (["--hosts", "a;b"], dict, "not a host")]:
        done = assay("fleet", "targets", *args, "-o", out, env=make())
        assert done.returncode != 0 and words in done.stderr
    assert out.stat().st_ino == first.st_ino and not list(tmp_path.glob("targets.json.*"))
    assay("fleet", "targets", "--hosts", "c", "-o", out)
    assert out.stat().st_ino != first.st_ino and out.stat().st_mode & 0o777 == 0o644
    assert assay("fleet", "targets", "--hosts", "c", "-o", "/dev/null").returncode != 0


@pytest.mark.parametrize("args,words", [
    ([], "one of --slurm, --hosts and --kubernetes"),
    (["--slurm", "all", "--hosts", "a"], "one of"),
    (["--hosts", "a", "more"], "unexpected argument"),
    (["--hosts", "a", "--labels", "x y=1"], "not a label"),
    (["--hosts", "a", "--port", "0"], "--port"),
])
def test_mistakes(assay, args, words):
    done = assay("fleet", "targets", *args)
    assert done.returncode == 2 and words in done.stderr


def test_views_take_no_options_of_targets(assay):
    done = assay("fleet", "users", "--slurm", "all", "--engine", "http://127.0.0.1:1")
    assert done.returncode == 2 and "--slurm is for 'assay fleet targets'" in done.stderr


def test_no_tool(assay, tmp_path):
    done = assay("fleet", "targets", "--kubernetes", env={"PATH": str(tmp_path)})
    assert done.returncode == 3 and "cannot run 'kubectl'" in done.stderr


def test_a_tool_that_fails_says_why(assay, tmp_path):
    (tmp_path / "sinfo").write_text("#!/bin/sh\necho 'sinfo: error: \033[2Jno controller' >&2; exit 1\n")
    (tmp_path / "sinfo").chmod(0o755)
    done = assay("fleet", "targets", "--slurm", "all", env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert done.returncode == 3 and done.stderr.splitlines()[0] == "assay: 'sinfo' failed: sinfo: error: ?[2Jno controller"


@pytest.mark.parametrize("flood", ["yes error >&2", "yes 'n1|gpu:8'"])
def test_a_tool_that_never_ends_is_bounded(assay, tmp_path, flood):
    """What it says beyond 64 MiB, and for 30 s, is not waited for."""
    (tmp_path / "sinfo").write_text(f"#!/bin/sh\n{flood} | head -c 80000000\n{'sleep 0' if '>&2' in flood else ''}\n".replace("yes error >&2 | head -c 80000000", "(yes error | head -c 80000000) >&2"))
    (tmp_path / "sinfo").chmod(0o755)
    done = assay("fleet", "targets", "--slurm", "all", env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, timeout=60)
    assert done.returncode != 0 and ("no node with a GPU" in done.stderr if ">&2" in flood else "writes more than 64 MiB" in done.stderr), done.stderr[:400]


def test_prometheus_reads_it(assay, tmp_path):
    if not shutil.which("promtool"):
        pytest.skip("no promtool")
    assay("fleet", "targets", "--hosts", "n[1-3],fd00::1", "--labels", 'rack=a"b', "-o", tmp_path / "t.json")
    (tmp_path / "p.yml").write_text("scrape_configs: [{job_name: assay, file_sd_configs: [{files: [t.json]}]}]\n")
    done = subprocess.run(["promtool", "check", "config", "p.yml"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout


def test_large(assay, tmp_path):
    """Ten thousand nodes are a moment; too many are refused."""
    begun = time.monotonic()
    assert len(targets_of(assay("fleet", "targets", "--hosts", "n[00001-10000]"))) == 10000
    assert time.monotonic() - begun < 20
    assert "more than 100000 hosts" in assay("fleet", "targets", "--hosts", "n[0-999]x[0-999]").stderr


@pytest.mark.parametrize("typed", ["bad[5-1]", "a;b", "n[0-99999999]"])
def test_a_list_that_is_typed_wrong(assay, tmp_path, typed):
    """Wrong usage, as with --hosts of the other commands; in a file it is a fault of the file, which is named by its line."""
    done = assay("fleet", "targets", "--hosts", typed)
    assert done.returncode == 2 and "is not a host" in done.stderr
    assert assay("once", "--hosts", typed).returncode == 2
    (tmp_path / "list").write_text(f"a\n{typed}\n")
    done = assay("fleet", "targets", "--hosts", f"@{tmp_path / 'list'}")
    assert done.returncode == 1 and "line 2" in done.stderr
