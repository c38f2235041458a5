"""The slurm level inside real jobs of a real one-node cluster, on loopback."""
import contextlib
import csv
import io
import json
import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pytest

from conftest import FIXTURES, ROOT
from serving import Server

NEEDED = ("munged", "slurmctld", "slurmd", "srun", "scancel")
missing = [name for name in NEEDED if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
pytestmark = [pytest.mark.slow,
              pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}"),
              pytest.mark.skipif(os.geteuid() != 0, reason="slurmd needs root"),
              pytest.mark.skipif(not any(os.scandir("/sys/fs/cgroup")) if os.path.isdir("/sys/fs/cgroup") else True,
                                 reason="slurmd does not start without a cgroup file system")]

COMMON = """
ClusterName=assay
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
FirstJobId={first}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=batch_sched_delay=0
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""
PLAIN = "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
GROUPED = "ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup\n"
CGROUP_CONF = "CgroupPlugin=autodetect\nCgroupAutomount=yes\nConstrainRAMSpace=yes\nConstrainCores=no\n"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Cluster:
    """munged, slurmctld and a slurmd a node, with everything they write in one folder."""

    def __init__(self, folder, extra, nodes=None):
        self.folder = pathlib.Path(folder)
        self.processes = []
        self.env = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"))
        host = socket.gethostname().split(".")[0]
        nodes = nodes or [host]
        for name in ("state", "munge", *(f"spool.{node}" for node in nodes)):
            (self.folder / name).mkdir()
        lines = "\n".join(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs={os.cpu_count()} "
                          "RealMemory=2000 State=UNKNOWN" for node in nodes)
        (self.folder / "slurm.conf").write_text(
            COMMON.format(host=host, folder=self.folder, ctld=free_port(), nodes=lines,
                          # Another cluster of this test may run on this machine: jobs have numbers of their own.
                          first=random.randrange(1000, 60_000_000)) + extra)
        (self.folder / "cgroup.conf").write_text(CGROUP_CONF)
        self.start_munge()
        self.start("slurmctld", "-D")
        self.slurmd = {node: self.start("slurmd", "-D", "-N", node) for node in nodes}

    def start_munge(self):
        munge = self.folder / "munge"
        (munge / "key").write_bytes(os.urandom(128))
        user = pwd.getpwnam("munge")
        os.chmod(self.folder, 0o755)
        for path in (munge, munge / "key"):
            os.chown(path, user.pw_uid, user.pw_gid)
        os.chmod(munge / "key", 0o400)
        os.chmod(munge, 0o755)
        self.start("munged", "-F", f"--socket={munge}/socket", f"--key-file={munge}/key", f"--log-file={munge}/log",
                   f"--pid-file={munge}/pid", f"--seed-file={munge}/seed", user="munge", group="munge", extra_groups=[])
        deadline = time.monotonic() + 5
        while not (munge / "socket").exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    def start(self, *command, **kind):
        path = shutil.which(command[0], path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        with open(self.folder / f"{command[0]}.out", "wb") as out:
            self.processes.append(subprocess.Popen([path, *command[1:]], env=self.env, stdout=out, stderr=out, **kind))
        return self.processes[-1]

    def wait_until_up(self, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            done = self.run("srun", f"-N{len(self.slurmd)}", "--mem=50", "true", timeout=15)
            if done.returncode == 0:
                return True
            time.sleep(0.5)
        return False

    def run(self, *command, timeout=60):
        try:
            return subprocess.run(command, env=self.env, capture_output=True, text=True, check=False, timeout=timeout)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", "timeout")

    def job(self, *command):
        """A job that runs on; gives its process here."""
        return subprocess.Popen(["srun", "-n1", "--mem=200", "--overlap", *command], env=self.env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def end_jobs(self, seconds=5):
        deadline = time.monotonic() + seconds
        while (jobs := self.run("squeue", "-h", "-o", "%A", timeout=5).stdout.split()) and time.monotonic() < deadline:
            self.run("scancel", "--signal=KILL", "--full", *jobs, timeout=5)
            self.run("scancel", *jobs, timeout=5)
            time.sleep(0.3)

    def stop(self):
        self.end_jobs()
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.end_steps()

    def end_steps(self):
        """Those whose controller has gone would wait for it for ever."""
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                # Its name is cut and its command line is its own; what it writes to is the cluster's.
                if "slurmstepd" in (process / "cmdline").read_text() and any(str(self.folder) in os.readlink(fd) for fd in (process / "fd").iterdir()):
                    os.kill(int(process.name), signal.SIGKILL)

    def logs(self):
        return "\n".join(f"{p.name}: {p.read_text(errors='replace')[-1500:]}" for p in self.folder.glob("*.log"))


@pytest.fixture(scope="module", params=["environment", "cgroup"])
def cluster(request):
    # munged runs as its own user, which may not enter pytest's folders.
    folder = tempfile.mkdtemp(prefix="assay-slurm-")
    c = Cluster(folder, GROUPED if request.param == "cgroup" else PLAIN)
    c.kind = request.param
    if not c.wait_until_up():
        logs = c.logs()
        c.stop()
        shutil.rmtree(folder)
        if request.param == "cgroup":
            pytest.skip("Slurm cannot make control groups here: " + logs[-300:].replace("\n", " "))
        pytest.fail("the cluster did not start:\n" + logs)
    yield c
    c.stop()
    shutil.rmtree(folder)


JOB = """
import os, subprocess, sys, time
children = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(1)]
children.append(subprocess.Popen(["env", "-i", "/bin/sleep", "600"]))
print(os.environ["SLURM_JOB_ID"], os.getpid(), flush=True)
time.sleep(600)
"""


@pytest.fixture
def jobs(cluster):
    """Two jobs of the same user, running."""
    folder = cluster.folder / "job.py"
    folder.write_text(JOB)
    started, found = [], []
    for _ in range(2):
        started.append(cluster.job("/usr/bin/python3", "-u", str(folder)))
        words = started[-1].stdout.readline().split()
        assert words, started[-1].stderr.read() if started[-1].poll() is not None else cluster.logs()
        found.append((words[0], int(words[1])))
    time.sleep(0.3)
    yield found
    for (job, _), process in zip(found, started):
        cluster.run("scancel", job)
        process.wait(timeout=30)


def pids_of(parent):
    """The process and its descendants, from /proc."""
    tree = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                tree.setdefault(int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]), []).append(int(entry.name))
            except (OSError, IndexError):
                continue
    found, todo = set(), [parent]
    while todo:
        pid = todo.pop()
        found.add(pid)
        todo += tree.get(pid, [])
    return found


def test_only_the_jobs_processes(assay, cluster, jobs):
    job, pid = jobs[0]
    # By cgroup the step's own keeper (slurmstepd) may be in the job's group as well.
    expected = (3, 4) if cluster.kind == "cgroup" else (3,)
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        for _ in range(8):  # while a job starts, Slurm has processes of its own in it
            done = assay("export", "--host", "--levels", "slurm", "--job", job, "--poll", "0.5", "--count", "2")
            assert done.returncode == 0, done.stderr
            row = list(csv.DictReader(io.StringIO(done.stdout)))[-1]
            if int(row["processes"]) in expected:
                break
    finally:
        bystander.kill()
        bystander.wait()
    assert len(pids_of(pid)) == 3
    assert int(row["processes"]) in expected
    assert 0.02 < float(row["cpu_cores_busy"]) <= 1.1, "one child burns what it is given of a core"


def test_found_from_a_pid_of_the_job(assay, cluster, jobs):
    (job, pid), (other, _) = jobs
    done = assay("export", "--host", "--levels", "slurm,process", "--pid", pid, "--format", "jsonl", "--poll", "0.2", "--count", "1")
    rows = {r["level"]: r for r in map(json.loads, done.stdout.splitlines())}
    assert rows["slurm"]["name"] == job != other
    assert rows["process"]["figures"]["processes"] == 3


def test_inside_the_job_the_environment_tells(program, cluster):
    done = cluster.run("srun", "-n1", "--mem=100", program, "export", "--host", "--levels", "slurm", "--format", "jsonl",
                       "--poll", "0.1", "--count", "1")
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout.splitlines()[-1])
    assert row["name"].isdigit()
    assert row["figures"]["processes"] >= 1


def test_the_limit_is_the_jobs(assay, cluster, jobs):
    job, _ = jobs[0]
    done = assay("export", "--host", "--levels", "slurm", "--job", job, "--poll", "0.1", "--count", "1", "--format", "jsonl")
    figures = json.loads(done.stdout)["figures"]
    if cluster.kind == "cgroup":
        assert figures["memory_limit"] == 200 << 20
        assert figures["memory"] < 200 << 20
    else:
        total = int(pathlib.Path("/proc/meminfo").read_text().split()[1]) * 1024
        assert figures["memory_limit"] == total


def test_a_job_that_is_not_here(assay, cluster):
    done = assay("once", "--job", "999999", "--levels", "slurm", "--json")
    assert "no process of job 999999" in json.loads(done.stdout)["host"]["absent"]["slurm"]


def fake_gpus(folder, pids):
    """Environment of a driver whose GPUs have these processes, a list a GPU."""
    library = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"
    lists = [" ".join(f"{pid}:1000000000" for pid in on) for on in pids]
    text = (FIXTURES / "nvml" / "h200-bf16.scn").read_text().replace("437:916455424", lists[0])
    for i, on in enumerate(lists[1:], 1):
        text += f"\n[gpu copy 0]\nnvmlDeviceGetUUID = 0 GPU-{i:08d}-0000-0000-0000-000000000000\nnvmlDeviceGetComputeRunningProcesses_v3 = 0 {on}\n"
    (folder / "scn").write_text(text)
    return {"FAKE_NVML": str(folder / "scn"), "ASSAY_NVML_LIB": str(library)}


@pytest.fixture
def array(cluster):
    """An array job of two tasks: [(job, pid)]."""
    script, out = cluster.folder / "array.sh", cluster.folder / "array"
    out.mkdir(exist_ok=True)
    script.write_text(f"#!/bin/sh\necho $SLURM_JOB_ID $$ > {out}/$SLURM_ARRAY_TASK_ID.tmp && mv {out}/$SLURM_ARRAY_TASK_ID.tmp {out}/$SLURM_ARRAY_TASK_ID\nexec sleep 600\n")
    done = cluster.run("sbatch", "--parsable", "--array=1-2", "-n1", "--mem=50", "--output=/dev/null", "--chdir=/", str(script))
    assert done.returncode == 0, done.stderr
    deadline = time.monotonic() + 30
    while not all((out / n).exists() for n in "12"):
        assert time.monotonic() < deadline, cluster.logs()
        time.sleep(0.05)
    yield [(job, int(pid)) for job, pid in ((out / n).read_text().split() for n in "12")]
    cluster.run("scancel", done.stdout.strip())
    shutil.rmtree(out)


def test_serve_tells_which_job_holds_a_gpu(program, assay, tmp_path, cluster, jobs, array):
    """Two jobs share a node and a GPU, an array's tasks have one each, and a task's other GPU is used by nobody."""
    env = fake_gpus(tmp_path, [[pid for _, pid in jobs], [array[0][1]], [array[1][1]], []])
    (tmp_path / "map").mkdir()
    (tmp_path / "map" / "3").write_text(array[0][0] + "\n")
    with Server(program, tmp_path, "--backend", "nvml", "--hpc-job-mapping-dir", tmp_path / "map", "--state", tmp_path / "state", env=env) as s:
        s.wait(lambda: s.metrics().count("assay_gpu_owner_info{") == 5, 30)
        told = [line for line in s.metrics().splitlines() if line.startswith("assay_gpu_owner_info{")]
        for gpu, (job, _) in ((0, jobs[0]), (0, jobs[1]), (1, array[0]), (2, array[1]), (3, array[0])):
            assert [t for t in told if f'gpu="{gpu}",slot="' in t and f'kind="slurm",job="{job}",user="root"' in t], (gpu, job, told)
    # One record a job, with all the GPUs it holds.
    records = [json.loads(r) for r in assay("jobs", "--state", tmp_path / "state", "--format", "jsonl").stdout.splitlines()]
    assert {r["job"]: r["gpus"] for r in records} == {jobs[0][0]: "0", jobs[1][0]: "0", array[0][0]: "1,3", array[1][0]: "2"}, records


def test_why_finds_the_rank_of_a_job(program, cluster, tmp_path):
    """From outside of the job: an assay in it watches the ranks, and one of them was stopped."""
    launch = ROOT / "tests" / "hangs" / "launch.py"
    process = subprocess.Popen(["srun", "-n1", "--mem=400", "--overlap", "sh", "-c", f"echo $SLURM_JOB_ID; exec {sys.executable} {launch} 4 stopped 2"],
                               env=cluster.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    job = process.stdout.readline().strip()
    try:
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert job and len(pids) == 4, cluster.logs()
        env = {**cluster.env, **fake_gpus(tmp_path, [pids])}
        deadline = time.monotonic() + 90
        while True:
            done = subprocess.run([program, "why", "--slurm", job, "--remote-assay", program, "--watch", "2", "--format", "json"], env=env,
                                  capture_output=True, text=True, check=False, timeout=60)
            answer = json.loads(done.stdout or "{}")
            if answer.get("outcome") == "found" or time.monotonic() > deadline:
                break
        assert done.returncode == 1, (done.stderr, answer, cluster.logs())
        first = answer["causes"][0]
        assert (first["cause"], first["rank"], first["pid"]) == ("stopped", 2, pids[2]), answer["causes"]
        assert answer["n_ranks"] == 4 and {r["host"] for r in answer["ranks"]} == set(cluster.slurmd)
    finally:
        cluster.run("scancel", job)
        process.communicate(timeout=30)


def test_targets_of_the_real_sinfo(cluster, assay):
    """This cluster has nodes and no GPU: sinfo is understood, and nothing is written."""
    done = assay("fleet", "targets", "--slurm", "all", env={"SLURM_CONF": cluster.env["SLURM_CONF"]})
    assert done.returncode == 3 and "no node with a GPU was found" in done.stderr
