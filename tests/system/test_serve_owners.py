"""Who holds a GPU: mapping folder, processes, pods over a real gRPC server; and what is recorded of it."""
import contextlib
import csv
import json
import os
import signal
import pathlib
import re
import sqlite3
import subprocess
import threading
import time
from concurrent import futures

import pytest

from conftest import FIXTURES, ROOT
from serving import Server, total

TOUR = ROOT / "data" / "h200-tour.csv"
TWO = FIXTURES / "exposition" / "mig.prom"
UUID0, UUID1 = "GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52", "GPU-1d3b5c0e-7a52-4a1e-9c35-0f5a0d8b9a11"


def owners(server):
    """Who hold a GPU now; those that let go of one are told with a 0 for a while."""
    return [line for line in server.metrics().splitlines() if line.startswith("assay_gpu_owner_info{") and line.endswith(" 1")]


# --- Slurm ---------------------------------------------------------------------------------------


def test_mapping_folder(program, tmp_path):
    """Two jobs that share a GPU, one of a slice, and names that are none."""
    folder = tmp_path / "map"
    folder.mkdir()
    (folder / "1").write_text("4711\n4712\n")
    (folder / "0.7").write_text(" \n 99 \r\n\t\n")
    (folder / "notes").write_text("1\n")
    (folder / "999").write_text("1\n")
    with Server(program, tmp_path, TWO, "--hpc-job-mapping-dir", folder, "--owner-labels") as s:
        s.ready()
        s.wait(lambda: len(owners(s)) == 3)
        text = "\n".join(owners(s))
        assert f'{{uuid="{UUID1}",gpu="1",slot="1",kind="slurm",job="4711"}} 1' in text and 'job="4712"' in text
        assert f'{{uuid="{UUID0}",gpu="0",gi="7",slot="1",kind="slurm",job="99"}} 1' in text
        s.wait(lambda: 'GPU_I_ID="7",Hostname="node-07",DCGM_FI_DRIVER_VERSION="550.54.15",hpc_job="99"}' in s.metrics())
        # A capture without processes does not say that there are none.
        assert {o["processes"] for o in s.json("/api/v1/now")["owners"]} == {None}
        s.wait(lambda: total(s.metrics(), "assay_gpu_held_seconds_total", gpu="1", slot="2") > 0)
        (folder / "1").unlink()
        s.wait(lambda: len(owners(s)) == 1)
        # What the two held stays theirs: they are told as gone, beside counters that no job's name is in.
        s.wait(lambda: s.metrics().count('} 0\nassay_gpu_owner_info{') + s.metrics().count('job="4712"} 0\n') >= 2)
        assert f'job="4712"}} 0\n' in s.metrics()
        held = [line for line in s.metrics().splitlines() if line.startswith("assay_gpu_held_seconds_total{") and not line.endswith("} 0.000")]
        assert [line.split("} ")[0] for line in held] == [
            f'assay_gpu_held_seconds_total{{uuid="{UUID0}",gpu="0",gi="7",slot="1"',
            f'assay_gpu_held_seconds_total{{uuid="{UUID1}",gpu="1",slot="1"', f'assay_gpu_held_seconds_total{{uuid="{UUID1}",gpu="1",slot="2"'], held


def test_records_of_a_job(program, tmp_path, assay):
    folder, state = tmp_path / "map", tmp_path / "state"
    folder.mkdir()
    (folder / "0").write_text("4711\n")
    with Server(program, tmp_path, TOUR, "--speed", "20", "--hpc-job-mapping-dir", folder, "--state", state) as s:
        s.ready()
        s.wait(lambda: owners(s))
        time.sleep(1.5)
        (folder / "0").unlink()
        s.wait(lambda: any(j["final"] for j in s.json("/api/v1/jobs")["jobs"]))
        job = s.json("/api/v1/jobs")["jobs"][0]
        # Seconds since 1970: whether the record ends before or after that moment.
        for since, n in ((0, 1), (job["end"] - 1, 1), (job["end"] + 3600, 0)):
            assert len(s.json(f"/api/v1/jobs?since={since}")["jobs"]) == n, since
        for since in ("yesterday", "1h", "", "nan", "1,5"):
            status, _, text = s.ask(f"/api/v1/jobs?since={since}")
            assert (status, text) == (400, "since: seconds since 1970\n"), since
        # Readable while it is written.
        listed = assay("jobs", "--state", state, "--format", "jsonl")
        assert json.loads(listed.stdout)["job"] == "4711"
    assert job["job"] == "4711" and job["kind"] == "slurm" and job["gpus"] == "0" and job["n_gpus"] == 1
    assert 20 < job["gpu_seconds"] < 118 and 0 <= job["real_util"] <= 1
    assert sum(job["class_s"].values()) == pytest.approx(job["counters"]["seen"])
    card = assay("job", "4711", "--state", state)
    assert card.returncode == 0 and "slurm 4711" in card.stdout and "Time by class" in card.stdout
    # Grams only of energy that a counter told, and only for a factor that somebody gave.
    assert "CO2" not in card.stdout
    grams = re.search(r"CO2 +([\d.e+-]+) g, at 400 g a kWh", assay("job", "4711", "--state", state, "--co2", "400").stdout)
    assert float(grams.group(1)) == pytest.approx(job["counters"]["energy"] / 3.6e6 * 400, rel=0.01)
    assert assay("job", "4711", "--state", state, "--co2", "-1").returncode == 2
    assert assay("job", str(job["id"]), "--brief", "--state", state).stdout.startswith("assay: 1 GPU, ")
    played = subprocess.run([program, "once", "--json", "--source", TOUR, "--at", "1"], capture_output=True, text=True, check=True).stdout
    assert abs(job["start"] - json.loads(played)["time"]) < 120, "what is played happened in its own time"
    assert "slurm 4711" in assay("jobs", "--state", state, "--since", "36500d").stdout
    rows = assay("jobs", "--state", state, "--format", "csv").stdout.splitlines()
    assert len(rows) == 2 and rows[0].count(",") == rows[1].count(",")
    with sqlite3.connect(state / "jobs.db") as db:
        db.execute("UPDATE record SET user = '=HYPERLINK(1,2)'")
    rows = list(csv.DictReader(assay("jobs", "--state", state, "--format", "csv").stdout.splitlines()))
    assert rows[0]["user"] == "'=HYPERLINK(1,2)" and rows[0]["job"] == "4711"  # a spreadsheet takes it for text
    empty = assay("job", "", "--state", state)
    assert (empty.returncode, empty.stdout) == (2, "") and "name is empty" in empty.stderr  # an epilog without $SLURM_JOB_ID
    assert "4711" not in assay("jobs", "--state", state, "--wasted").stdout
    assert "4711" not in assay("jobs", "--state", state, "--user", "mallory").stdout
    assert assay("job", "nobody", "--state", state).returncode == 2
    assert assay("jobs", "--state", state, "--since", "whenever").returncode == 2
    assert assay("jobs", "--state", tmp_path / "none").returncode == 1


def test_a_job_that_paused_is_one(program, tmp_path, assay):
    """Its stays are summed; a job of that number a month ago, and a user's, are others."""
    folder, state = tmp_path / "map", tmp_path / "state"
    folder.mkdir()
    (folder / "0").write_text("4711\n")
    with Server(program, tmp_path, TOUR, "--speed", "20", "--hpc-job-mapping-dir", folder, "--state", state) as s:
        s.ready()
        s.wait(lambda: any(j["final"] for j in s.json("/api/v1/jobs")["jobs"]))  # at the end of what is played
    with sqlite3.connect(state / "jobs.db") as db:
        db.row_factory = sqlite3.Row
        (new,) = map(dict, db.execute("SELECT * FROM record"))
        hour, names = 3600 * 10**9, [name for name in new if name != "id"]
        # The same GPU before, another one before that; a month earlier the number was another job's.
        for end, length, gpus in ((new["start_ns"] - hour, hour, "0"), (new["start_ns"] - 4 * hour, hour, "0,3"), (new["start_ns"] - 24 * 31 * hour, hour, "5")):
            row = {**new, "end_ns": end, "start_ns": end - length, "gpus": gpus, "n_gpus": gpus.count(",") + 1, "gpu_s": 3600.0, "wasted_s": 60.0}
            db.execute(f"INSERT INTO record({','.join(names)}) VALUES({','.join('?' * len(names))})", [row[name] for name in names])
    job = json.loads(assay("job", "4711", "--state", state, "--format", "json").stdout)
    assert (job["stays"], job["gpus"], job["n_gpus"]) == (3, "0,3", 2)
    assert job["gpu_seconds"] == pytest.approx(new["gpu_s"] + 7200) and job["wasted_seconds"] == pytest.approx(new["wasted_s"] + 120)
    assert job["paused_seconds"] == pytest.approx(3 * 3600) and job["end"] - job["start"] == pytest.approx((new["end_ns"] - new["start_ns"]) / 1e9 + 5 * 3600)
    assert re.search(r"^  stays +3, with pauses of 3 h", assay("job", "4711", "--state", state).stdout, re.M)
    alone = json.loads(assay("job", str(new["id"]), "--state", state, "--format", "json").stdout)
    assert "stays" not in alone and alone["gpu_seconds"] == pytest.approx(new["gpu_s"])


def without_counters(assay, tmp_path):
    """Half an hour of two GPUs without SM counters as the driver tells of them: one works at its power limit, the other has memory held and runs nothing."""
    library = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"
    busy, idle = (re.sub(r"^(gpm|nvmlGpm).*\n", "", (FIXTURES / "nvml" / f"h200-{name}.scn").read_text(), flags=re.M) for name in ("bf16", "idle"))
    held = idle[idle.index("[gpu]"):].replace("GPU-82e5c952", "GPU-11111111")
    held = re.sub(r"(nvmlDeviceGetMemoryInfo_v2 = 0 \d+ \d+) (\d+) 0", lambda m: f"{m.group(1)} {int(m.group(2)) - 20 * 10**9} {20 * 10**9}", held)
    (tmp_path / "two.scn").write_text(f"{busy}\nnvmlGpmQueryDeviceSupport = 0 0\n{held}\nnvmlGpmQueryDeviceSupport = 0 0\n")
    done = assay("export", "--format", "jsonl", "--count", "2", env={"FAKE_NVML": str(tmp_path / "two.scn"), "ASSAY_NVML_LIB": str(library)})
    assert done.returncode == 0, done.stderr
    gpus = {row["gpu"]: row for row in map(json.loads, done.stdout.splitlines()) if "metrics" in row and row.get("gpu")}
    with open(tmp_path / "two.jsonl", "w", encoding="utf-8") as out:
        for t in range(1800):
            for row in gpus.values():
                out.write(json.dumps({**row, "time": 1_700_000_000 + t, "tick": t}) + "\n")
    return tmp_path / "two.jsonl"


def test_without_counters_waste_counts_and_use_is_unknown(program, assay, tmp_path):
    folder, state = tmp_path / "map", tmp_path / "state"
    folder.mkdir()
    (folder / "0").write_text("4711\n")
    (folder / "1").write_text("4712\n")
    with Server(program, tmp_path, without_counters(assay, tmp_path), "--speed", "150", "--hpc-job-mapping-dir", folder, "--state", state) as s:
        s.wait(lambda: total(s.metrics(), "assay_gpu_wasted_seconds_total", gpu="1") > 900, 60)
        text = s.metrics()
        held, idle = (total(text, f"assay_gpu_{name}_seconds_total", gpu="1", slot="1") for name in ("held", "held_idle_unobserved"))
        assert total(text, "assay_gpu_wasted_seconds_total", gpu="1", slot="1", reason="memory_held") == pytest.approx(held, rel=0.02) == pytest.approx(idle, rel=0.02)
        # The one that works: known is how long it was seen, not what its units did.
        assert total(text, "assay_gpu_held_seconds_total", gpu="0") > 900 and total(text, "assay_gpu_wasted_seconds_total", gpu="0") == 0
        assert total(text, "assay_gpu_observed_seconds_total") == total(text, "assay_gpu_held_observed_seconds_total") == 0
        assert "real_utilization" not in text and 'unit="sm"' not in text
        assert total(text, "assay_gpu_active_seconds_total", gpu="0", unit="gpu_util") / total(text, "assay_gpu_seen_seconds_total", gpu="0") == pytest.approx(0.99, rel=0.01)
        s.wait(lambda: all(j["final"] for j in s.json("/api/v1/jobs")["jobs"]), 60)
        jobs = {j["job"]: j for j in s.json("/api/v1/jobs")["jobs"]}
    assert [jobs["4711"][k] for k in ("real_util", "sm_active", "coverage")] == [None, None, 0] and jobs["4711"]["gpu_util"] == pytest.approx(0.99, rel=0.01)
    assert jobs["4712"]["coverage"] > 0.98 and jobs["4712"]["real_util"] is None
    table = {line.split()[5]: line.split()[8:10] for line in assay("jobs", "--state", state).stdout.splitlines() if "slurm" in line}
    assert table == {"4711": ["--", "--"], "4712": ["--", "--"]}
    card = assay("job", "4711", "--state", state).stdout
    assert "Real Utilization" not in card and "GPU utilization  99.0 %" in card


@pytest.mark.slow
def test_what_others_do_with_a_gpu_between_is_not_the_jobs(program, tmp_path):
    """A job gives one of its two GPUs back and gets it again: the time between is not in its record."""
    capture, folder = tmp_path / "two.csv", tmp_path / "map"
    capture.write_text("timestamp,gpu_id,sm_active_pct,gr_engine_active_pct\n" + "".join(
        f"{1_700_000_000 + t},{g},50,50\n" for t in range(3000) for g in (0, 1)))
    folder.mkdir()
    (folder / "0").write_text("7\n")
    (folder / "1").write_text("7\n")
    with Server(program, tmp_path, capture, "--speed", "20", "--hpc-job-mapping-dir", folder, "--state", tmp_path / "state") as s:
        def observed(gpu):
            return total(s.metrics(), "assay_gpu_observed_seconds_total", gpu=gpu)

        s.wait(lambda: len(owners(s)) == 2)
        (folder / "1").unlink()
        s.wait(lambda: len(owners(s)) == 1)
        away = observed(1)
        s.wait(lambda: observed(1) > away + 40)
        away = observed(1) - away
        (folder / "1").write_text("7\n")
        s.wait(lambda: len(owners(s)) == 2)
        (folder / "0").unlink()
        (folder / "1").unlink()
        job = s.wait(lambda: next((j for j in s.json("/api/v1/jobs")["jobs"] if j["final"]), None))
        assert job["gpus"] == "0,1"
        assert 0 < job["counters"]["seen"] < observed(0) + observed(1) - away + 5


@pytest.mark.slow
def test_records_survive_kill_9(program, tmp_path, assay):
    """Whole or not there: never half a record, and one that was open is closed by the next."""
    folder, state = tmp_path / "map", tmp_path / "state"
    folder.mkdir()
    for i in range(6):
        (folder / "0").write_text(f"{i}\n")
        with Server(program, tmp_path, TOUR, "--speed", "20", "--hpc-job-mapping-dir", folder, "--state", state) as s:
            s.ready()
            s.wait(lambda: owners(s))
            if i % 2:
                (folder / "0").unlink()
                s.wait(lambda: any(j["final"] and j["job"] == str(i) for j in s.json("/api/v1/jobs")["jobs"]))
            s.stop(signal.SIGKILL)
    rows = [json.loads(line) for line in assay("jobs", "--state", state, "--format", "jsonl").stdout.splitlines()]
    assert {r["job"] for r in rows} >= {"1", "3", "5"}
    assert all(r["counters"] and r["end"] >= r["start"] for r in rows)


def test_hostile_jobs(program, tmp_path, assay):
    folder, state = tmp_path / "map", tmp_path / "state"
    folder.mkdir()
    (folder / "0").write_text("a\"b\\c'); DROP TABLE record; --\x1b[31m\n" + "x" * 500 + "\n")
    with Server(program, tmp_path, TOUR, "--speed", "20", "--hpc-job-mapping-dir", folder, "--state", state) as s:
        s.ready()
        s.wait(lambda: len(owners(s)) == 2)
        (folder / "0").unlink()
        s.wait(lambda: sum(j["final"] for j in s.json("/api/v1/jobs")["jobs"]) == 2)
        assert "\x1b" not in s.metrics()
    shown = assay("jobs", "--state", state)
    assert shown.returncode == 0 and "\x1b" not in shown.stdout and "DROP TABL" in shown.stdout
    none = assay("jobs", "--state", state, "--user", "nobody-here")
    assert none.returncode == 0 and none.stdout.count("\n") == 1 and "has no such records" in none.stderr


def test_owners_of_a_shared_gpu_have_their_own_use(program, tmp_path):
    """Two jobs on one GPU: each has the use and the memory of its own processes, and a third that runs nothing has none; alone on a GPU there is no such series."""
    library = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"
    jobs = [subprocess.Popen(["sleep", "100"], env={"SLURM_JOB_ID": job, "PATH": "/usr/bin:/bin"}) for job in ("71", "72", "74")]
    try:
        text = (FIXTURES / "nvml" / "h200-bf16.scn").read_text().replace("437:916455424", f"{jobs[0].pid}:1000000000 {jobs[1].pid}:3000000000")
        text = text.replace("437:95:21:0:0", f"{jobs[0].pid}:60:9:0:0 {jobs[1].pid}:20:9:0:0")
        text += (f"\n[gpu copy 0]\nnvmlDeviceGetUUID = 0 GPU-00000001-0000-0000-0000-000000000000\nnvmlDeviceGetComputeRunningProcesses_v3 = 0 {jobs[2].pid}:5000000\n"
                 f"nvmlDeviceGetProcessUtilization = 0 {jobs[2].pid}:50:9:0:0\n")
        (tmp_path / "scn").write_text(text)
        (tmp_path / "map").mkdir()
        (tmp_path / "map" / "0").write_text("73\n")
        with Server(program, tmp_path, "--backend", "nvml", "--hpc-job-mapping-dir", tmp_path / "map", "--state", tmp_path / "state",
                    env={"FAKE_NVML": str(tmp_path / "scn"), "ASSAY_NVML_LIB": str(library)}) as s:
            s.wait(lambda: len(owners(s)) == 4 and total(s.metrics(), "assay_gpu_held_process_seen_seconds_total") > 6, 40)
            text = s.metrics()
            slots = {re.search(r'job="(\d+)"', line).group(1): re.search(r'gpu="(\d)",slot="(\d)"', line).groups() for line in owners(s)}
            for job, share, memory in (("71", 0.6, 1e9), ("72", 0.2, 3e9), ("73", 0, 0)):
                gpu, slot = slots[job]
                assert gpu == "0"
                used, seen = (total(text, f"assay_gpu_held_process{name}_seconds_total", gpu=gpu, slot=slot) for name in ("", "_seen"))
                assert seen > 1 and used / seen == pytest.approx(share, abs=0.02), (job, used, seen)
                assert total(text, "assay_gpu_held_memory_bytes", gpu=gpu, slot=slot) == memory
            assert total(text, "assay_gpu_held_process_seen_seconds_total", gpu="1") == 0
            s.stop()
        with Server(program, tmp_path, "--backend", "nvml", "--state", tmp_path / "state", env={"FAKE_NVML": str(tmp_path / "scn"), "ASSAY_NVML_LIB": str(library)}) as s:
            s.ready()
            assert total(s.metrics(), "assay_gpu_held_process_seconds_total") >= 0.8  # kept over a restart
    finally:
        for job in jobs:
            job.kill()
            job.wait()


# --- recordings --------------------------------------------------------------------------------------


def test_recordings_and_their_reports(program, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "one.assay").write_bytes((ROOT / "tests/truth/server_bursts.assay").read_bytes())
    (folder / "bad.assay").write_text("nonsense")
    (folder / "notes.txt").write_text("x")
    (folder / "link.assay").symlink_to("/etc/passwd")
    with Server(program, tmp_path, TOUR, "--speed", "1", "--sessions", folder) as s:
        s.ready()
        listed = {e["name"]: e["id"] for e in s.json("/api/v1/sessions")["sessions"]}
        assert set(listed) == {"one.assay", "bad.assay"}
        s.wait(lambda: s.ask(f"/api/v1/report?id={listed['one.assay']}")[0] == 200)
        report = s.ask(f"/api/v1/report?id={listed['one.assay']}")[2]
        assert "findings" in report and "one.assay" in report
        assert "python" not in report and str(tmp_path) not in report  # command lines and folders are not served
        s.wait(lambda: s.ask(f"/api/v1/report?id={listed['bad.assay']}")[0] == 422)
        for wrong in ("", "0", "../one.assay", "/etc/passwd", listed["one.assay"].upper() + "x"):
            assert s.ask(f"/api/v1/report?id={wrong}")[0] == 404
        assert s.ask("/health")[0] == 200


# --- Kubernetes ------------------------------------------------------------------------------------


def field(number, data):
    data = data.encode() if isinstance(data, str) else data

    def varint(n):
        out = b""
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])

    return varint(number << 3 | 2) + varint(len(data)) + data


def pod(name, namespace, *containers):
    """containers: (name, {resource: [ids]})."""
    body = field(1, name) + field(2, namespace)
    for container, devices in containers:
        c = field(1, container)
        for resource, ids in devices.items():
            c += field(2, field(1, resource) + b"".join(field(2, i) for i in ids))
        body += field(3, c)
    return field(1, body)


@contextlib.contextmanager
def kubelet(path, answer):
    grpc = pytest.importorskip("grpc")

    class Lister(grpc.GenericRpcHandler):
        def service(self, call):
            if call.method != "/v1.PodResourcesLister/List":
                return None
            return grpc.unary_unary_rpc_method_handler(lambda request, context: answer(), request_deserializer=bytes, response_serializer=bytes)

    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((Lister(),))
    server.add_insecure_port(f"unix:{path}")
    server.start()
    try:
        yield
    finally:
        server.stop(0)


def test_pods_of_a_kubelet(program, tmp_path):
    """Allocation over gRPC: whole GPUs, shared ones, other resources, and a large answer."""
    text = pod("llm-0", "ml", ("trainer", {"nvidia.com/gpu": [UUID1], "cpu": ["1"]}), ("side", {"example.com/fpga": ["f0"]}))
    text += pod("small", "web", ("a", {"nvidia.com/gpu.shared": [f"{UUID0}::3"]}))
    text += b"".join(pod(f"filler-{i}", "x", ("c", {"vendor.example/thing": ["y" * 200]})) for i in range(2000))
    with kubelet(tmp_path / "k.sock", lambda: text), \
            Server(program, tmp_path, FIXTURES / "exposition" / "mig.prom", "-k", "--pod-resources-kubelet-socket", tmp_path / "k.sock") as s:
        s.ready()
        s.wait(lambda: len(owners(s)) == 2)
        told = "\n".join(owners(s))
        assert f'{{uuid="{UUID1}",gpu="1",slot="1",kind="kubernetes",namespace="ml",pod="llm-0",container="trainer"}} 1' in told
        assert f'{{uuid="{UUID0}",gpu="0",slot="1",kind="kubernetes",namespace="web",pod="small",container="a"}} 1' in told
        s.wait(lambda: 'container="trainer",namespace="ml",pod="llm-0"} ' in s.metrics())


def claim(driver, device, *cdi):
    """A DynamicResource with one ClaimResource."""
    resource = b"".join(field(1, field(1, name)) for name in cdi) + field(2, driver) + field(3, "node-pool") + field(4, device)
    return field(1, "gpu.nvidia.com") + field(2, "claim-1") + field(3, "ml") + field(4, resource)


def claiming_pod(name, namespace, *claims):
    return field(1, field(1, name) + field(2, namespace) + field(3, field(1, "main") + b"".join(field(5, c) for c in claims)))


def test_pods_with_claims(program, tmp_path):
    """Dynamic resource allocation: a UUID in the CDI name, a minor number, a claim that two pods share, and devices of other drivers."""
    text = claiming_pod("by-uuid", "ml", claim("gpu.nvidia.com", "gpu-7", f"k8s.gpu.nvidia.com/claim=0f0f-gpu-7", f"nvidia.com/gpu={UUID1}"))
    text += claiming_pod("by-minor", "ml", claim("gpu.nvidia.com", "gpu-0", "k8s.gpu.nvidia.com/claim=0f0f-gpu-0"), claim("dra.net", "eth0"))
    text += claiming_pod("also", "web", claim("gpu.nvidia.com", "gpu-0"))
    text += claiming_pod("slice", "web", claim("gpu.nvidia.com", "gpu-0-mig-9-4-4"))
    text += claiming_pod("net", "web", claim("dra.example.org", "gpu-0", f"example.org/nic={UUID1}"))
    scrape = tmp_path / "two.prom"
    scrape.write_text((FIXTURES / "exposition" / "mig.prom").read_text())
    with kubelet(tmp_path / "k.sock", lambda: text), Server(program, tmp_path, scrape, "--pod-resources-kubelet-socket", tmp_path / "k.sock") as s:
        s.ready()
        s.wait(lambda: len(owners(s)) == 3)
        time.sleep(0.6)
        assert sorted(re.findall(r'gpu="(\d)".*namespace="(\w+)",pod="([\w-]+)",container="main"', "\n".join(owners(s)))) == [
            ("0", "ml", "by-minor"), ("0", "web", "also"), ("1", "ml", "by-uuid")], owners(s)


@pytest.mark.parametrize("answer", [b"", b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x05abcde", os.urandom(5000)],
                         ids=["nothing", "a length without its bytes", "no message inside", "noise"])
def test_damaged_answers(program, tmp_path, answer):
    with kubelet(tmp_path / "k.sock", lambda: answer), Server(program, tmp_path, TWO, "--pod-resources-kubelet-socket", tmp_path / "k.sock") as s:
        s.ready()
        time.sleep(0.7)
        assert s.ask("/metrics")[0] == 200


def test_a_kubelet_that_hangs(program, tmp_path):
    gate = threading.Event()
    with kubelet(tmp_path / "k.sock", lambda: gate.wait(20) and b""), Server(program, tmp_path, TWO, "--pod-resources-kubelet-socket", tmp_path / "k.sock") as s:
        s.ready()
        assert s.ask("/metrics")[0] == 200
        begun = time.monotonic()
        assert s.stop() == 0 and time.monotonic() - begun < 8
        gate.set()
