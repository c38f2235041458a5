"""`assay serve` on a driver that is well, hangs, loses a GPU, or is not there yet."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import time

import pytest

from conftest import FIXTURES, ROOT, clean_env
from serving import Server, total

UUID = "GPU-82e5c952-b504-9803-37da-f5b10c0cce6c"
RECORDED = (FIXTURES / "nvml" / "h200-bf16.scn").read_text()
LIBRARY = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"


def second(uuid, *lines):
    return "\n".join(["[gpu copy 0]", f"nvmlDeviceGetUUID = 0 {uuid}", *lines, ""])


@pytest.fixture
def nvml(program, tmp_path):
    servers = []

    def start(*args, add=""):
        path = tmp_path / f"scenario{len(servers)}"
        path.write_text(RECORDED + "\n" + add)
        servers.append(Server(program, tmp_path, *args, env={"FAKE_NVML": str(path), "ASSAY_NVML_LIB": str(LIBRARY)}).start())
        return servers[-1]

    yield start
    for s in servers:
        s.stop()


def test_ten_samples_a_second_without_being_asked(nvml):
    s = nvml().ready()
    s.wait(lambda: total(s.metrics(), "assay_gpu_observed_seconds_total") > 2)
    text = s.metrics()
    observed = total(text, "assay_gpu_observed_seconds_total")
    active = total(text, "assay_gpu_active_seconds_total", unit="sm")
    assert active / observed == pytest.approx(0.95524937947, rel=0.001)
    ticks = total(text, "assay_sampler_ticks_total")
    assert ticks / max(observed, 0.1) > 5  # on a loaded machine too
    assert total(text, "DCGM_FI_PROF_SM_ACTIVE") == pytest.approx(0.955249)
    assert re.search(r'pci_bus_id="00000000:00:06\.0",device="nvidia0",modelName="NVIDIA H200"', text)


def test_the_name_of_a_node(program, tmp_path):
    """In a pod the driver's GPUs are called as their node, in both dialects and in what is pushed; without the variable as the machine."""
    (tmp_path / "scenario").write_text(RECORDED)
    env = {"FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY)}
    for more, name in (({"NODE_NAME": "worker-7"}, "worker-7"), ({}, os.uname().nodename)):
        with Server(program, tmp_path, "--names", "both", "--state", "none", env={**env, **more}) as s:
            text = s.ready().wait(lambda: (t := s.metrics()) and "DCGM_FI_DEV_GPU_UTIL{" in t and t)
            assert set(re.findall(r'[Hh]ostname="([^"]*)"', text)) == {name}


def test_scrapes_make_no_driver_calls(nvml):
    """The sampler keeps its beat, however many ask."""
    s = nvml("--poll", "1").ready()
    before = total(s.metrics(), "assay_sampler_ticks_total")
    begun = time.monotonic()
    for _ in range(200):
        s.metrics()
    assert total(s.metrics(), "assay_sampler_ticks_total") - before <= time.monotonic() - begun + 2


def test_a_gpu_that_hangs(nvml):
    """Its values go after three intervals, the other's stay, nothing freezes."""
    s = nvml(add=second("GPU-22222222-0000-0000-0000-000000000000", "@3 * = hang")).ready()
    s.wait(lambda: total(s.metrics(), "assay_gpu_up") == 2)
    s.wait(lambda: total(s.metrics(), "assay_gpu_up") == 1, 40)
    text = s.metrics()
    assert 'assay_gpu_up{uuid="GPU-22222222-0000-0000-0000-000000000000",gpu="1"} 0' in text
    assert not re.search(r'^DCGM_\w+\{gpu="1"', text, re.M)
    assert re.search(r'^DCGM_FI_DEV_POWER_USAGE\{gpu="0"', text, re.M)
    stuck = total(text, "assay_gpu_observed_seconds_total", gpu="1")
    assert stuck > 0
    going = total(text, "assay_gpu_observed_seconds_total", gpu="0")
    s.wait(lambda: total(s.metrics(), "assay_gpu_observed_seconds_total", gpu="0") > going + 0.5)
    assert total(s.metrics(), "assay_gpu_observed_seconds_total", gpu="1") == stuck
    assert s.ask("/health")[0] == 200


def test_a_gpu_that_is_lost_and_comes_back(nvml):
    s = nvml(add=second("GPU-22222222-0000-0000-0000-000000000000", "@1 * = 15", "@3 * = -")).ready()
    s.wait(lambda: total(s.metrics(), "assay_gpu_up", gpu="1") == 0 and total(s.metrics(), "assay_gpu_up", gpu="0") == 1, 40)
    before = total(s.metrics(), "assay_gpu_observed_seconds_total", gpu="1")
    s.wait(lambda: total(s.metrics(), "assay_gpu_observed_seconds_total", gpu="1") > before + 0.3, 40)
    log = s.json("/api/v1/findings")["log"]
    assert [e for e in log if e["gpu"] == "1"]


def once(program, tmp_path, *urls):
    """{name: (health, problems)} of the nodes that are asked."""
    done = subprocess.run([program, "once", "--json", "--source", ",".join(urls)], env=clean_env(tmp_path), capture_output=True, text=True, check=True, timeout=60)
    return {g["gpu"]: (g["health"]["state"], g["health"]["findings"]) for g in json.loads(done.stdout)["gpus"]}


def test_what_a_node_says_is_wrong_is_said_by_those_who_ask_it(nvml, program, tmp_path):
    """A GPU that is silent has no values, and is there all the same; each problem of a node is a problem elsewhere."""
    lost = nvml(add=second("GPU-22222222-0000-0000-0000-000000000000", "@1 * = 15")).ready()
    ill = nvml(add="nvmlDeviceGetRemappedRows = 0 0 2 0 1\n").ready()
    lost.wait(lambda: total(lost.metrics(), "assay_gpu_problems", gpu="1") == 1, 40)
    urls = [f"http://127.0.0.1:{s.port}/metrics" for s in (lost, ill)]
    told = once(program, tmp_path, urls[0])
    assert told == {"0": ("OK", []), "1": ("CRIT", ["the GPU does not answer"])}
    own = [(g["health"]["state"], g["health"]["findings"]) for g in ill.json("/api/v1/now")["gpus"]]
    assert list(once(program, tmp_path, urls[1]).values()) == own
    text = subprocess.run([program, "once", "--source", urls[0]], env=clean_env(tmp_path), capture_output=True, text=True, check=True).stdout
    assert re.search(r"^1 .* CRIT$", text, re.M) and "CRIT: the GPU does not answer" in text


def test_every_problem_travels(program, tmp_path):
    """The sum of bits, in the order of the page: whatever a node says, who asks says."""
    rows = re.findall(r'^FINDING\(\w+, "(\w+)", (\w+), [^"]*"([^"]*)"', (ROOT / "src/model/findings.def").read_text(), re.M)
    listed = re.search(r"`assay_gpu_finding_seconds_total\{finding\}` \| .*: (.*) \|", (ROOT / "docs/SERVE.md").read_text()).group(1).split(", ")
    assert listed == [name for name, _, _ in rows] and len(rows) >= 16
    for n, (_, state, words) in enumerate(rows):
        (tmp_path / "one.prom").write_text(f'DCGM_FI_DEV_GPU_UTIL{{gpu="0",UUID="GPU-1"}} 5\nassay_gpu_problems{{gpu="0",uuid="GPU-1"}} {2 ** n}\n')
        done = subprocess.run([program, "once", "--json", "--source", tmp_path / "one.prom"], env=clean_env(tmp_path), capture_output=True, text=True, check=True)
        health = json.loads(done.stdout)["gpus"][0]["health"]
        assert health["state"] == state and len(health["findings"]) == 1 and health["findings"][0].startswith(words), (health, words)


def test_an_xid_is_counted(nvml):
    s = nvml(add="@1 xid = 79\n@2 xid = 31\n").ready()
    s.wait(lambda: total(s.metrics(), "assay_gpu_xid_total", xid="31") >= 1, 40)


ASKED = {"FAN_SPEED": 41, "PSTATE": 2, "POWER_VIOLATION": 7019260512, "LOW_UTIL_VIOLATION": 63602433024, "TOTAL_APP_CLOCKS_VIOLATION": 5_000_000_000, "ECC_SBE_AGG_TOTAL": 12, "ECC_DBE_AGG_TOTAL": 3}


def test_fields_that_only_a_collectors_file_asks_for(nvml, tmp_path):
    """Of the driver itself: performance state, fan, violations, aggregate ECC, the board's own texts; dcgm-exporter's count of XIDs in a window."""
    (tmp_path / "c.csv").write_text("".join(f"DCGM_FI_DEV_{name}, gauge, x\n" for name in ASKED) +
                                    "DCGM_EXP_XID_ERRORS_COUNT, gauge, x\nDCGM_FI_DEV_VBIOS_VERSION, label, x\n")
    add = "nvmlDeviceGetFanSpeed = 0 41\nnvmlDeviceGetPerformanceState = 0 2\nnvmlDeviceGetVbiosVersion = 0 96.00.A5.00.01\nnvmlDeviceGetFieldValues/85 = 0 5000000000 3\nnvmlDeviceGetTotalEccErrors/10 = 0 12\nnvmlDeviceGetTotalEccErrors/11 = 0 3\n"
    s = nvml("-f", tmp_path / "c.csv", add=add + "@1 xid = 31\n@2 xid = 31\n@2 xid = 79\n").ready()
    text = s.wait(lambda: (t := s.metrics()) and "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL{" in t and total(t, "DCGM_EXP_XID_ERRORS_COUNT") == 3 and t, 40)
    assert {name: total(text, f"DCGM_FI_DEV_{name}") for name in ASKED} == ASKED
    assert total(text, "DCGM_EXP_XID_ERRORS_COUNT", xid="31") == 2 and total(text, "DCGM_EXP_XID_ERRORS_COUNT", xid="79", window_size_in_ms="300000") == 1
    assert all('DCGM_FI_DEV_VBIOS_VERSION="96.00.A5.00.01"' in line for line in text.splitlines() if line.startswith("DCGM_FI_DEV_"))


def test_no_xid_is_a_count_of_none(nvml, tmp_path):
    """One line without a number, as theirs."""
    (tmp_path / "c.csv").write_text("DCGM_EXP_XID_ERRORS_COUNT, gauge, x\n")
    s = nvml("-f", tmp_path / "c.csv").ready()
    text = s.wait(lambda: (t := s.metrics()) and "DCGM_EXP_XID_ERRORS_COUNT{" in t and t)
    assert re.search(r'^DCGM_EXP_XID_ERRORS_COUNT\{[^}]*window_size_in_ms="300000"\} 0$', text, re.M) and "xid=" not in text


def test_an_xid_is_told_when_it_comes(nvml, tmp_path):
    """With its number, and once: also after a restart that brings the counters back."""
    s = nvml("--log-format", "logfmt", "--state", tmp_path / "state", add="@1 xid = 79\n@1 xid = 31\n@2 xid = 31\n").ready()
    s.wait(lambda: s.text().count("event=xid") == 3 or "2 times" in s.text(), 40)
    lines = [line for line in s.text().splitlines() if "event=xid" in line]
    assert any(re.search(r'^time=\S+ level=warn event=xid gpu="0" msg="XID 79: .+"$', line) for line in lines) and any('msg="XID 31: ' in line for line in lines)
    assert {e["text"][:7] for e in s.json("/api/v1/findings")["log"] if e["kind"] == "xid"} == {"XID 79:", "XID 31:"}
    s.wait(lambda: total(s.metrics(), "assay_gpu_xid_total") == 3)
    s.stop()
    again = nvml("--log-format", "logfmt", "--state", tmp_path / "state").ready()
    again.wait(lambda: total(again.metrics(), "assay_gpu_xid_total") == 3 and total(again.metrics(), "assay_sampler_ticks_total") > 20)
    assert "event=xid" not in again.text()


# --- what it costs, counted -----------------------------------------------------------------------

FLOOR = LIBRARY.parent / "nvml_floor"
UTILIZATION = "nvmlDeviceGetProcessUtilization"


def calls(path):
    """{function: calls so far}, as the fake library counts them."""
    data = path.read_bytes()
    return {data[at:at + 56].split(b"\0")[0].decode(): struct.unpack_from("q", data, at + 56)[0] for at in range(0, len(data), 64)}


def wakeups(pid):
    """How often the threads of a process went to sleep so far."""
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", (task / "status").read_text(), re.M).group(1))
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir())


@pytest.fixture
def counted(program, tmp_path):
    """A server that nobody asks, beside the bare loop: (server, its calls, the loop's calls)."""
    scenario = tmp_path / "scenario"
    scenario.write_text(RECORDED)
    env = {"FAKE_NVML": str(scenario), "ASSAY_NVML_LIB": str(LIBRARY)}
    server = Server(program, tmp_path, "--state", tmp_path / "state", env={**env, "FAKE_NVML_CALLS": str(tmp_path / "ours")}).start().ready()
    loop = subprocess.Popen([FLOOR, "0.1", "60"], stdout=subprocess.DEVNULL, env={**env, "FAKE_NVML_CALLS": str(tmp_path / "theirs")})
    server.wait(lambda: (tmp_path / "theirs").exists() and calls(tmp_path / "theirs").get("nvmlGpmMetricsGet", 0) > 5)
    server.wait(lambda: calls(tmp_path / "ours")["nvmlDeviceGetRetiredPages"] > 0)  # once a minute: the lanes have had their first turn
    try:
        yield server, lambda: calls(tmp_path / "ours"), lambda: calls(tmp_path / "theirs")
    finally:
        loop.terminate()
        loop.wait()
        server.stop()


@pytest.mark.slow
def test_the_driver_is_asked_no_more_than_by_a_bare_loop(counted):
    """Each call costs the same in both, so the counts are what serving costs beyond them: nothing. And few wake-ups."""
    server, ours, theirs = counted
    before, slept, begun = (ours(), theirs()), wakeups(server.process.pid), time.monotonic()
    server.wait(lambda: theirs()["nvmlGpmMetricsGet"] - before[1]["nvmlGpmMetricsGet"] >= 50)
    after, woken, seconds = (ours(), theirs()), wakeups(server.process.pid) - slept, time.monotonic() - begun
    made = {name: (after[0][name] - before[0][name], after[1][name] - before[1][name]) for name in after[0]}
    assert made["nvmlGpmMetricsGet"][0] > 20
    for name, (mine, bare) in made.items():
        assert mine <= bare + (3 if bare > 40 else 1), f"{name}: {mine} calls beside {bare} of the bare loop"
    # Ten a second of the GPU's thread and of the sampler; the rest looks after something once or twice a second.
    assert woken / seconds < 38 or os.environ.get("SANITIZED")  # a sanitizer has a thread of its own


def test_a_scrape_gets_the_moment_it_asks_for(counted):
    """Though nothing is made ready while nobody asks, and asking costs no call."""
    server, ours, _ = counted
    first = total(server.metrics(), "assay_gpu_observed_seconds_total")
    asked = time.monotonic()
    server.wait(lambda: total(server.metrics(), "assay_gpu_observed_seconds_total") > first)
    assert time.monotonic() - asked < 0.9  # it is kept without being asked once a second
    kept = [int(p.read_text(errors="replace").split()[2]) for p in (server.home / "state").glob("counters.*")]
    server.wait(lambda: max(int(p.read_text(errors="replace").split()[2]) for p in (server.home / "state").glob("counters.*")) > max(kept), 5)
    assert ours()[UTILIZATION] == 0


def test_what_each_process_uses_is_asked_for_while_somebody_looks(counted):
    """NVML needs milliseconds to answer that."""
    server, ours, _ = counted
    assert ours()[UTILIZATION] == 0
    server.wait(lambda: [p for p in server.json("/api/v1/processes")["processes"] if p["sm_util"] is not None])
    assert ours()[UTILIZATION] > 0


# --- processes of jobs and pods -------------------------------------------------------------------

POD = "0a1b2c3d-1111-2222-3333-444455556666"
CGROUPS = {
    4242: "0::/system.slice/slurmstepd.scope/job_77/step_0/user/task_0\n",
    4243: f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD.replace('-', '_')}.slice/cri-containerd-{'ab' * 32}.scope\n",
    4244: "0::/user.slice/user-0.slice/session-1.scope\n",
    4245: "0::/system.slice/slurmstepd.scope/job_88/step_batch/user/task_0\n",  # on no GPU
}


def make_tree(root):
    """A machine as a folder: a Slurm step, a pod and somebody's shell on the GPU, and a job's script that uses none."""
    proc = root / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "mountinfo").write_text("30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    (proc / "stat").write_text("cpu  1 1 1 1 0 0 0 0 0 0\ncpu0 1 1 1 1 0 0 0 0 0 0\nbtime 1700000000\n")
    (root / "etc").mkdir()
    (root / "etc" / "passwd").write_text("root:x:0:0::/:/bin/sh\nalice:x:1000:1000::/:/bin/sh\n")
    for pid, cgroup in CGROUPS.items():
        p = proc / str(pid)
        p.mkdir()
        p.joinpath("stat").write_text(f"{pid} (python3) S 1 {pid} {pid} 0 -1 0 0 0 0 0 100 50 0 0 20 0 1 0 {pid} 1000000 500 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n")
        p.joinpath("status").write_text(f"Name:\tpython3\nPid:\t{pid}\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n")
        p.joinpath("cmdline").write_bytes(b"python3\0/home/alice/secret-project/train.py\0--password=hunter2\0")
        p.joinpath("cgroup").write_text(cgroup)
        p.joinpath("environ").write_bytes(b"HOME=/home/alice\0SLURM_JOB_ID=77\0SLURM_JOB_ACCOUNT=physics\0SLURM_JOB_PARTITION=h200\0SLURM_JOB_USER=alice\0" if pid == 4242
                                          else b"HOME=/root\0")
    (root / "map").mkdir()
    (root / "map" / "1").write_text("88\n89\n")
    quiet = root / "sys/fs/cgroup/system.slice/slurmstepd.scope/job_88"
    quiet.mkdir(parents=True)
    (quiet / "memory.current").write_text("4096\n")
    group = root / "sys/fs/cgroup/system.slice/slurmstepd.scope/job_77"
    group.mkdir(parents=True)
    (group / "cpu.stat").write_text("usage_usec 12500000\n")
    (group / "memory.current").write_text("1073741824\n")
    (group / "memory.max").write_text("8589934592\n")
    (root / f"var/log/pods/ml_llm-0_{POD}/trainer").mkdir(parents=True)


def test_more_owners_than_slots(program, tmp_path):
    """Eight owners of a GPU have a slot each; the ninth is named all the same, without one."""
    make_tree(tmp_path / "root")
    shell, pids = tmp_path / "root/proc/4244", range(5000, 5009)
    for i, pid in enumerate(pids):
        shutil.copytree(shell, shell.parent / str(pid))
        for name in ("stat", "status"):
            (shell.parent / str(pid) / name).write_text((shell / name).read_text().replace("4244", str(pid)).replace("1000\t", f"{2000 + i}\t").replace("1000\n", f"{2000 + i}\n"))
    (tmp_path / "scn").write_text(RECORDED.replace("437:916455424", " ".join(f"{pid}:{1000 * (i + 1)}" for i, pid in enumerate(pids))))
    env = {"FAKE_NVML": str(tmp_path / "scn"), "ASSAY_NVML_LIB": str(LIBRARY)}
    with Server(program, tmp_path, "--backend", "nvml", "--root", tmp_path / "root", "--owner-labels", env=env) as s:
        s.wait(lambda: s.ask("/-/ready")[0] == 200)
        s.wait(lambda: s.ask("/metrics")[2].count("assay_gpu_owner_info{") == 9)
        owners = [line for line in s.ask("/metrics")[2].splitlines() if line.startswith("assay_gpu_owner_info{")]
        assert sorted(re.findall(r'slot="(\d+)"', "".join(owners))) == list("12345678"), owners
        assert sorted(re.findall(r'user="(\d+)"', "".join(owners))) == [str(2000 + i) for i in range(9)], owners


def test_jobs_and_pods_by_their_control_groups(program, tmp_path):
    make_tree(tmp_path / "root")
    (tmp_path / "scn").write_text(RECORDED.replace("437:916455424", "4242:1000000000 4243:2000000000 4244:3000000") + "\n"
                                   + second("GPU-22222222-0000-0000-0000-000000000000", "nvmlDeviceGetComputeRunningProcesses_v3 = 0"))
    (tmp_path / "admin").write_text("admin-0123456789abcdef")
    env = {"FAKE_NVML": str(tmp_path / "scn"), "ASSAY_NVML_LIB": str(LIBRARY)}
    with Server(program, tmp_path, "--backend", "nvml", "--root", tmp_path / "root", "--admin-token-file", tmp_path / "admin", "--owner-labels",
                "--hpc-job-mapping-dir", tmp_path / "root" / "map", env=env) as s:
        s.wait(lambda: s.ask("/-/ready")[0] == 200)
        admin = {"headers": {"Authorization": "Bearer admin-0123456789abcdef"}}

        def text():
            return s.ask("/metrics", **admin)[2]

        s.wait(lambda: text().count("assay_gpu_owner_info{") == 5)
        step = next(p for p in json.loads(s.ask("/api/v1/processes", **admin)[2])["processes"] if p["pid"] == 4242)
        assert {k: step[k] for k in ("gpu", "user", "job", "gpu_memory", "rss", "name")} == {
            "gpu": "0", "user": "1000", "job": "77", "gpu_memory": 1e9, "rss": 500 * os.sysconf("SC_PAGE_SIZE"), "name": "python3"}
        told = [line for line in text().splitlines() if line.startswith(("assay_gpu_owner_info", "assay_job_", "assay_process_"))]
        assert any('kind="slurm",job="77",user="alice",account="physics",partition="h200"} 1' in t for t in told), told
        assert any('kind="kubernetes",' in t and 'namespace="ml",pod="llm-0",container="trainer"} 1' in t for t in told), told
        assert any('kind="process",' in t for t in told), told
        # A job that holds a GPU and uses none: its other processes tell whose it is. Nothing is known of one without any.
        assert any('gpu="1",slot="1",kind="slurm",job="88",user="1000"' in t for t in told), told
        assert any('gpu="1",slot="2",kind="slurm",job="89"} 1' in t for t in told), told
        assert 'assay_job_memory_bytes{kind="slurm",job="88"} 4096' in told
        assert 'assay_job_cpu_seconds_total{kind="slurm",job="77"} 12.500' in told
        assert 'assay_job_memory_bytes{kind="slurm",job="77"} 1073741824' in told
        assert 'assay_job_memory_limit_bytes{kind="slurm",job="77"} 8589934592' in told
        # Of processes outside of jobs alone: their device memory, CPU time and resident memory.
        whose = f'{{uuid="{UUID}",gpu="0",user="1000"}}'
        assert f"assay_process_gpu_memory_bytes{whose} 3000000" in told, told
        assert f"assay_process_memory_bytes{whose} {500 * os.sysconf('SC_PAGE_SIZE')}" in told, told
        s.wait(lambda: f"assay_process_cpu_seconds_total{whose} " in text())
        assert text().count("assay_process_cpu_seconds_total{") == 1
        assert 'namespace="ml",pod="llm-0",hpc_job="77"} ' in text()
        # Nothing of what a process was started with leaves the machine; its name only to an admin.
        for path in ("/metrics", "/api/v1/now", "/api/v1/processes"):
            body = s.ask(path, **admin)[2]
            assert "hunter2" not in body and "secret-project" not in body and "/home" not in body, path
        assert '"name":"python3"' in s.ask("/api/v1/processes", **admin)[2]


@pytest.mark.slow
def test_cpu_time_of_processes_is_theirs(program, tmp_path):
    """A process of this machine that is said to hold the GPU burns one core."""
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    (tmp_path / "scn").write_text(RECORDED.replace("437:916455424", f"{burner.pid}:1000000000"))
    try:
        with Server(program, tmp_path, "--backend", "nvml", env={"FAKE_NVML": str(tmp_path / "scn"), "ASSAY_NVML_LIB": str(LIBRARY)}) as s:
            s.ready()
            s.wait(lambda: total(s.metrics(), "assay_process_cpu_seconds_total") > 0.2, 40)
            first, used, begun = total(s.metrics(), "assay_process_cpu_seconds_total"), cpu_of(burner.pid), time.monotonic()
            s.wait(lambda: time.monotonic() - begun > 4)
            told, real = total(s.metrics(), "assay_process_cpu_seconds_total") - first, cpu_of(burner.pid) - used
            assert real - 1.2 < told < real + 1.2  # each look is of the second before it
            before = total(s.metrics(), "assay_process_cpu_seconds_total")
            burner.kill()
            burner.wait()
            s.wait(lambda: "assay_process_" not in s.metrics() or total(s.metrics(), "assay_process_cpu_seconds_total") >= before)
    finally:
        burner.kill()
        burner.wait()


def cpu_of(pid):
    return time.clock_gettime((~pid << 3) | 2)


def test_pids_of_a_capture_are_not_of_this_machine(program, tmp_path, assay):
    """A recording names pid 4242; here that is somebody's Slurm job, and nothing of it is told."""
    make_tree(tmp_path / "root")
    (tmp_path / "scn").write_text(RECORDED.replace("437:916455424", "4242:1000000000"))
    env = {"FAKE_NVML": str(tmp_path / "scn"), "ASSAY_NVML_LIB": str(LIBRARY)}
    (tmp_path / "empty" / "proc").mkdir(parents=True)
    made = assay("record", "--backend", "nvml", "--duration", "3", "--root", tmp_path / "empty", "-o", tmp_path / "run.assay", env=env)
    assert made.returncode == 0, made.stderr
    with Server(program, tmp_path, tmp_path / "run.assay", "--speed", "1", "--root", tmp_path / "root") as s:
        s.ready()
        s.wait(lambda: "assay_gpu_owner_info{" in s.metrics())
        told = [line for line in s.metrics().splitlines() if line.startswith(("assay_gpu_owner_info", "assay_job_", "assay_process_"))]
        assert told and not [line for line in told if "slurm" in line or "alice" in line or "77" in line], told
        assert not [line for line in told if line.startswith(("assay_job_", "assay_process_cpu", "assay_process_memory"))], told
