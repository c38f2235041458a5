"""Sessions and files that a notebook monitor wrote: what they tell, offline."""
import json
import math
import time

import pytest

import assay

COLUMNS = ("time,memory,io_read_count,io_write_count,io_read,io_write,cpu_util_avg,cpu_util_min,cpu_util_max,cpu_util_0,cpu_util_1,"
           "gpu_util_avg,gpu_util_min,gpu_util_max,gpu_band_avg,gpu_band_min,gpu_band_max,gpu_mem_avg,gpu_mem_min,gpu_mem_max,"
           "gpu_util_0,gpu_band_0,gpu_mem_0,cell_index")
TIMES = (1000.5, 1001.0, 1001.5, 1003.0, 1003.5, 1004.3)  # two ticks are missing, one is late


def rows(util=90.0):
    lines = [f"{t},1.25,1,2,3,4,50.0,10.0,90.0,10.0,90.0,{util},{util},{util},5,5,5,2,2,2,{util},5,2.0,{0 if t < 1003 else ''}"
             for t in TIMES]
    return "\n".join([COLUMNS, *lines, ""])


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "nb"
    place.mkdir()
    for level, util in (("process", 0.0), ("user", 90.0), ("system", 90.0)):
        (place / f"perf_{level}.csv").write_text(rows(util))
    (place / "cell_history.csv").write_text(
        "cell_index,raw_cell,start_time,end_time,duration,wallclock_start_time,wallclock_end_time\n"
        "0,train(),1000.0,1002.0,2.0,1.0,2.0\n1,x = 1,1002.1,1002.2,0.1,3.0,4.0\n")
    (place / "manifest.json").write_text(json.dumps({
        "version": "1.0", "app": {"name": "JUmPER", "version": "1"}, "levels": ["process", "user", "system"],
        "monitor": {"interval": 0.5, "start_time": 1000.0, "stop_time": 1005.0, "wallclock_start_time": 1794726548.5,
                    "wallclock_stop_time": 1794726553.5, "num_cpus": 3, "num_system_cpus": 96, "num_gpus": 1, "gpu_memory": 79.6,
                    "gpu_name": "NVIDIA H100 80GB HBM3", "memory_limits": {"process": 4.0, "system": 251.5}, "cpu_handles": [4, 5, 9],
                    "pid": 4242, "uid": 1000, "slurm_job": 77}, "time_origin": "perf_counter", "timezone": "UTC"}))
    return place


@pytest.mark.parametrize("kind", ["folder", "session"])
def test_what_the_manifest_says(folder, tmp_path, kind):
    session = assay.open_session(folder)
    if kind == "session":
        session = assay.open_session(session.export(tmp_path / "x.assay"))
    known = session.describe()
    assert known["interval"] == 0.5 and known["num_system_cpus"] == 96
    assert session.num_cpus == 3 and session.memory_limits["system"] == 251.5
    assert known["stop"] == pytest.approx(1794726553.5)
    assert session.counts == (8, 6, 1, 2), "asked, taken, late, missed: by the gaps between rows"
    assert session.missed == 2
    if kind == "folder":
        assert known["start"] == pytest.approx(1794726548.5) and known["cpu_handles"] == [4, 5, 9]


def test_an_offline_session_neither_starts_nor_stops(folder):
    with assay.open_session(folder) as session:
        assert session.start() is session and not session.running
        session.stop()
        assert len(session.cells()) == 2


def test_gpu_tags_are_of_the_level(folder):
    """The device is busy with others' work; the process only holds memory."""
    session = assay.open_session(folder)
    tags = {level: [t["tag"] for t in json.loads(session.report("json", level=level))["run"]["tags"]] for level in ("process", "user", "system")}
    assert tags["process"][0] == "gpu-allocated-but-not-used" and "gpu-util-bound" not in tags["process"]
    assert "gpu-util-bound" in tags["user"] and "gpu-util-bound" in tags["system"]


@pytest.mark.parametrize("name, level", [("perf.csv", "process"), ("perf_user.csv", "user"), ("perf_system.csv", "system")])
def test_perf_csv_alone(tmp_path, name, level):
    """What %perfmonitor_export_perfdata writes, without a manifest: times count from the first row."""
    (tmp_path / name).write_text(rows())
    session = assay.open_session(tmp_path / name)
    columns = session.columns(f"notebook:{level}")
    assert list(columns["time"]) == pytest.approx([t - TIMES[0] for t in TIMES])
    assert list(session.columns(level)["memory"]) == pytest.approx([1.25 * 2**30] * 6)
    assert list(columns["memory"]) == pytest.approx([1.25] * 6) and session.describe()["levels"] == [level]
    assert list(session.columns("gpus")["gpu_util"]) == pytest.approx([0.9] * 6)
    assert session.counts.taken == 6 and session.num_gpus == 1 and "notebook" in session.describe()["provenance"]
    again = assay.open_session(session.export(tmp_path / "again.zip"))
    assert list(again.columns(f"notebook:{level}")["cpu_util_avg"]) == pytest.approx([50.0] * 6)
    assert session.report() and session.export(tmp_path / "x.assay").stat().st_size > 1000


def test_a_perf_csv_without_gpus(tmp_path):
    lines = [",".join(line.split(",")[:11]) for line in rows().splitlines()]
    (tmp_path / "perf.csv").write_text("\n".join(lines) + "\n")
    session = assay.open_session(tmp_path / "perf.csv")
    assert session.num_gpus == 0 and len(session.columns("process")["time"]) == 6
    assert "cores busy" in session.report(level="process")


def test_uss_is_the_notebook_monitors_memory(python, tmp_path):
    """Children that share their parent's pages: the column counts what only they have."""
    if not any(line.startswith("Private") for line in open("/proc/self/smaps_rollup")):
        pytest.skip("this kernel tells no USS")
    code = """if 1:
        import os, sys, time, assay
        big = bytearray(200 << 20)
        with assay.Monitor(0.1, levels="process", pss=True) as monitor:
            children = []
            for _ in range(5):
                pid = os.fork()
                if pid == 0:
                    time.sleep(60); os._exit(0)
                children.append(pid)
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                time.sleep(0.2)
                memory = [v for v in monitor.columns("notebook:process")["memory"] if v == v]
                if memory and memory[-1] < 0.5 and len(memory) > 3:
                    break
            for pid in children:
                os.kill(pid, 9); os.waitpid(pid, 0)
        print(memory[-1])
    """
    done = python(code, timeout=90)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.5, "not six times 200 MiB"
    assert not math.isnan(float(done.stdout))


IO = "time,memory,io_read_count,io_write_count,io_read,io_write,cpu_util_avg,cpu_util_min,cpu_util_max"


def counted(start=1000.0):
    """As the monitor writes: counters of 50,000 bytes and more, divided by the time since the row before; since 0 for the first."""
    lines, before = [IO], 0.0
    for i in range(6):
        now = start + 0.5 * i
        passed, before = now - before, now
        values = (100 + 10 * i, 200 + 20 * i, 50_000 + 1000 * i, 70_000)
        lines.append(",".join(map(str, [now, 1.0, *(v / passed for v in values), 5.0, 1.0, 9.0])))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("kind", ["session", "alone"])
def test_io_is_what_the_counters_grew_by(folder, tmp_path, kind):
    """The monitor's columns are counters ÷ time; taken for rates they say hundreds of times as much."""
    path = tmp_path / "perf.csv"
    if kind == "session":
        path = folder
        for level in ("process", "user", "system"):
            (folder / f"perf_{level}.csv").write_text(counted())
    else:
        path.write_text(counted())
    columns = assay.open_session(path).columns("process")
    rates = columns["io_read"]
    assert math.isnan(rates[0]) and list(rates[1:]) == pytest.approx([2000] * 5) and list(columns["io_read_count"][1:]) == pytest.approx([20] * 5)
    assert list(columns["io_write"][1:]) == [0] * 5 and columns["io_read_total"][-1] == 55_000
    level = json.loads(assay.open_session(path).report("json", level="process"))["run"]["level"]
    assert level["read_bytes"] == pytest.approx(5000) and level["written_bytes"] == 0


@pytest.mark.parametrize("total, state, why", [
    (53_000, 2000, "it grew"), (52_000, 0, "nothing was read"), (51_999.999, 0, "what a division leaves"),
    (20_000, None, "a process of the level ended: neither 0 nor less"),
])
def test_a_counter_that_falls_is_missing(tmp_path, total, state, why):
    totals = [50_000, 51_000, 52_000, total, total + 1000]
    lines = [IO, *(f"{now},1.0,1,1,{v / passed},0,5.0,1.0,9.0" for now, passed, v in
                   ((1000 + i / 2, 1000 if i == 0 else 0.5, v) for i, v in enumerate(totals)))]
    (tmp_path / "perf_process.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "cell_history.csv").write_text("cell_index,raw_cell,start_time,end_time,duration,wallclock_start_time,wallclock_end_time\n")
    (tmp_path / "manifest.json").write_text(json.dumps({
        "version": "1.0", "app": {"name": "JUmPER", "version": "1"}, "levels": ["process"], "time_origin": "perf_counter", "timezone": "UTC",
        "monitor": {"interval": 0.5, "start_time": 1000.0, "stop_time": 1003.0, "wallclock_start_time": 1794726548.5, "num_gpus": 0}}))
    rates = assay.open_session(tmp_path).columns("process")["io_read"]
    assert [None if math.isnan(v) else round(v) for v in rates] == [None, 2000, 2000, state, 2000], why


def test_our_own_io_columns_are_rates(tmp_path):
    with assay.Monitor(0.1, levels="process") as monitor:
        for _ in range(8):
            (tmp_path / "x").write_bytes(b"x" * 1_000_000)
            (tmp_path / "x").read_bytes()
            ticks = monitor.counts.taken
            while monitor.counts.taken == ticks:
                time.sleep(0.02)
    out = assay.open_session(monitor.save(tmp_path / "ours.zip"))
    for name in ("io_read_count", "io_write"):
        assert [v for v in out.columns("process")[name] if v == v] == pytest.approx([v for v in monitor.columns("process")[name] if v == v], rel=1e-3)
    monitor.close()
