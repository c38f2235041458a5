"""What is shown of a job's record, right to the digit: each figure has a value that no other has."""
import csv
import io
import json
import sqlite3

import pytest

from test_hostile_records import COLUMNS, FAIR

START = 1_760_000_000 * 10**9
COUNTERS = {"seen": 7180, "observed": 7000, "real": 1400, "active_sm": 3500, "active_tensor": 2800, "active_dram": 2100, "active_engine": 6300,
            "active_gpu_util": 6650, "throttle_power": 700, "throttle_power_brake": 77, "throttle_heat": 350, "throttle_hardware": 35, "energy": 3.6e6,
            "class tensor-heavy compute": 5000, "class memory-bound": 1500, "class idle": 500}
ROWS = [
    {"id": 8, "job": "4712", "user": "bob", "start_ns": START, "end_ns": START + 60 * 10**9, "final": 0, "gpus": "3", "gpu_s": 60.0, "counters": "observed=60\n"},
    {"id": 7, "job": "4711", "user": "ann", "account": "physics", "partition": "gpu-long", "gpus": "0,2", "n_gpus": 2, "start_ns": START,
     "end_ns": START + 3600 * 10**9, "gpu_s": 7200.0, "wasted_s": 1800.0, "findings": 1, "peak_memory": 5.0 * 2**30,
     "counters": "".join(f"{k}={v}\n" for k, v in COUNTERS.items())},
    {"id": 6, "kind": "kubernetes", "job": "", "user": "", "namespace": "team", "pod": "llm-0", "container": "main", "start_ns": START, "end_ns": START + 90 * 10**9,
     "gpu_s": 90.0, "wasted_s": 8.0, "counters": "observed=90\nactive_sm=45\n"},
]


@pytest.fixture
def state(tmp_path):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    with sqlite3.connect(folder / "jobs.db") as db:
        db.execute(f"create table record({COLUMNS})")
        for row in ROWS:
            whole = {**FAIR, **row}
            db.execute(f"insert into record values({','.join('?' * len(whole))})", list(whole.values()))
    db.close()
    return folder


CARD = """slurm 4711  (record 7)
  user             ann
  account          physics
  partition        gpu-long
  GPUs             0,2
  start            2025-10-09 08:53:20
  end              2025-10-09 09:53:20
  held             2.00 GPU-hours, of which 0.50 wasted
  observed         97.2 %
  Real Utilization 20.0
  SM active        50.0 %
  tensor active    40.0 %
  DRAM active      30.0 %
  GPU utilization  92.6 %
  power throttled  9.7 %
  heat throttled   4.9 %
  energy           1.00 kWh
  peak memory      5.0 GiB

Time by class
  idle                         500.0 s    7.1 %
  tensor-heavy compute        5000.0 s   71.4 %
  memory-bound                1500.0 s   21.4 %

Health
  CRIT: the GPU does not answer
"""
POD = """team/llm-0/main  (record 6)
  GPUs             0
  start            2025-10-09 08:53:20
  end              2025-10-09 08:54:50
  held             0.03 GPU-hours, of which 0.00 wasted
  observed         100.0 %
  SM active        50.0 %
  peak memory      1 B
"""


@pytest.mark.parametrize("words, text", [
    (["4711"], CARD), (["7"], CARD), (["llm-0"], POD), (["6"], POD),
    (["4711", "--brief"], "assay: 2 GPUs, 2.00 GPU-hours, real 20 %, SM 50 %, wasted 0.50 GPU-hours\n"),
    (["llm-0", "--brief"], "assay: 1 GPU, 0.03 GPU-hours, SM 50 %, wasted 0.00 GPU-hours\n"),
    (["4712", "--brief"], "assay: 1 GPU, 0.02 GPU-hours, wasted 0.00 GPU-hours\n"),
])
def test_a_jobs_card(assay, state, words, text):
    done = assay("job", *words, "--state", state)
    assert (done.returncode, done.stdout, done.stderr) == (0, text, "")


def test_a_job_that_goes_on(assay, state):
    done = assay("job", "4712", "--state", state)
    assert done.stdout.splitlines()[0] == "slurm 4712  (record 8, goes on)"


HEAD = "    ID  END               USER       JOB                      GPUS GPU-HOURS   REAL   SM %    WASTED\n"
ANN = "     7  2025-10-09 09:53  ann        slurm 4711                  2      2.00   20.0   50.0      0.50\n"
TEAM = "     6  2025-10-09 08:54  --         team/llm-0/main             1      0.03     --   50.0      0.00\n"
BOB = "     8  2025-10-09 08:54* bob        slurm 4712                  1      0.02     --     --      0.00\n"
GOES_ON = "\n* holds its GPUs still\n"


@pytest.mark.parametrize("words, text", [
    ([], HEAD + ANN + TEAM + BOB + GOES_ON),
    (["--wasted"], HEAD + ANN),  # 25 % of what it held; 8.9 % is not much
    (["--user", "ann"], HEAD + ANN),
    (["--user", "bob"], HEAD + BOB + GOES_ON),
    (["--since", "2025-10-09 08:55"], HEAD + ANN),
    (["--since", "2025-10-09 08:54"], HEAD + ANN + TEAM + BOB + GOES_ON),
    (["--since", "2025-10-10"], HEAD),
])
def test_the_list_of_jobs(assay, state, words, text):
    done = assay("jobs", *words, "--state", state)
    assert (done.returncode, done.stdout) == (0, text)
    assert ("has no such records" in done.stderr) == (text == HEAD)


def test_the_list_for_programs(assay, state):
    rows = list(csv.DictReader(io.StringIO(assay("jobs", "--state", state, "--format", "csv").stdout)))
    assert rows[0] == {
        "id": "7", "kind": "slurm", "job": "4711", "user": "ann", "account": "physics", "partition": "gpu-long", "namespace": "", "pod": "", "container": "",
        "gpus": "0,2", "n_gpus": "2", "start": "1760000000.000", "end": "1760003600.000", "final": "1", "gpu_seconds": "7200.000",
        "wasted_seconds": "1800.000", "coverage": "0.972222", "real_util": "0.2", "sm_active": "0.5", "gpu_util": "0.926184", "energy_j": "3.6e+06",
        "peak_memory_bytes": "5368709120"}
    assert [r["id"] for r in rows] == ["7", "6", "8"] and rows[2]["final"] == "0"
    told = [json.loads(line) for line in assay("jobs", "--state", state, "--format", "jsonl").stdout.splitlines()]
    assert told[0] == {
        "id": 7, "kind": "slurm", "job": "4711", "user": "ann", "account": "physics", "partition": "gpu-long", "namespace": "", "pod": "", "container": "",
        "gpus": "0,2", "n_gpus": 2, "start": 1760000000, "end": 1760003600, "final": True, "gpu_seconds": 7200, "wasted_seconds": 1800,
        "coverage": pytest.approx(7000 / 7200), "real_util": 0.2, "sm_active": 0.5, "gpu_util": pytest.approx(6650 / 7180), "peak_memory": 5 * 2**30,
        "counters": {k: v for k, v in COUNTERS.items() if not k.startswith("class ")},
        "class_s": {"idle": 500, "tensor-heavy compute": 5000, "memory-bound": 1500}, "limiter_s": {}, "health_s": {},
        "use": {"cpu_seconds": None, "cpus": None, "gpus": [], "memory_limit": None, "memory_peak": None},
        "findings": ["the GPU does not answer"]}
