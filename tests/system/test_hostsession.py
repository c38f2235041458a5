"""Sessions hold the job around the GPUs: recorded, reported, converted, read by other programs."""
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from conftest import FIXTURES, ROOT, clean_env

TOUR = ROOT / "tests" / "fixtures" / "session" / "tour.assay"
LIBRARY = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"
BUSY = "import time\nend = time.time() + %s\nwhile time.time() < end: pass\n"


def ask(path, sql):
    with sqlite3.connect(path) as db:
        return db.execute(sql).fetchall()


def facts(path):
    return dict(ask(path, "select * from manifest"))


def report(assay, path, *more):
    done = assay("report", path, "--format", "json", *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def busy(program, tmp_path_factory):
    """Two seconds of a process that keeps one CPU busy and may use one."""
    path = tmp_path_factory.mktemp("busy") / "busy.assay"
    cpu = min(os.sched_getaffinity(0))
    done = subprocess.run([program, "run", "--interval", "0.2", "-o", str(path), "--", "taskset", "-c", str(cpu), sys.executable, "-c",
                           BUSY % 2 + "raise SystemExit(3)"], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    return path, done.stderr


# ---- recording ----

def test_run_records_its_command(busy):
    path, _ = busy
    rows = ask(path, "select name, absent, cpu, cpus, memory, processes from levels where level = 'process' and processes > 0 order by tick")
    assert len(rows) >= 8 and all("python" in r[0] or "taskset" in r[0] for r in rows)
    assert all(r[1] is None for r in rows) and rows[-1][3] == 1
    assert max(r[2] for r in rows[1:]) > 0.05 and max(r[4] for r in rows) > 5e6


def test_every_level_is_there_or_says_why(busy):
    path, _ = busy
    rows = dict(ask(path, "select level, absent from levels where tick = 2"))
    assert set(rows) == {"process", "user", "slurm", "cgroup", "system"}
    assert rows["process"] is None and rows["system"] is None
    assert rows["slurm"] is None or "Slurm" in rows["slurm"]


def test_the_manifest_has_the_limits(busy):
    found = facts(busy[0])
    assert found["cpus.process"] == 1 and found["cpus.system"] >= 1
    assert found["memory_limit.process"] > 1e8 and found["memory_limit.system"] >= found["memory_limit.process"]
    assert found["host_ticks_taken"] >= 9 and found["host_ticks_asked"] >= found["host_ticks_taken"]


def test_system_and_cores(busy):
    path, _ = busy
    share = ask(path, "select cpu_user + cpu_nice + cpu_system + cpu_idle + cpu_iowait + cpu_irq + cpu_softirq + cpu_steal from system where tick > 0")
    assert share and all(row[0] == pytest.approx(1, abs=0.002) for row in share if row[0] is not None)
    cores = ask(path, "select count(distinct core), max(util) from cores")[0]
    assert cores[0] == os.cpu_count() and 0.5 < cores[1] <= 1


def test_levels_are_an_option(assay, tmp_path):
    assert assay("run", "-q", "--levels", "system", "-o", tmp_path / "x.assay", "--", "sleep", "0.3").returncode == 0
    assert {r[0] for r in ask(tmp_path / "x.assay", "select distinct level from levels")} == {"process", "system"}
    done = assay("run", "-q", "--levels", "rubbish", "-o", tmp_path / "y.assay", "--", "touch", tmp_path / "ran")
    assert done.returncode == 125 and "rubbish" in done.stderr, "wrong usage is told before the command starts"
    assert not (tmp_path / "ran").exists()


# In a container the kernel does not tell who forks whom.
CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc"]
CONTAINERS = subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("before", [[], pytest.param(CONTAINER, marks=pytest.mark.skipif(not CONTAINERS, reason="no right to a namespace"))],
                         ids=["here", "container"])
def test_many_descendants(program, tmp_path, before):
    """300 processes, all of them the command's, whoever their parent is now."""
    # They all wait for the end of a pipe, so that they are there together however slow the machine is.
    code = ("import os, subprocess, time\nr, w = os.pipe()\n"
            "c = [subprocess.Popen(['sh', '-c', 'exec 3<&0; cat <&3 & exit 0'] if i % 2 else ['cat'], stdin=r) for i in range(300)]\n"
            "os.close(r)\ntime.sleep(2)\nos.close(w)\n[p.wait() for p in c]")
    line = [*before, program, "run", "-q", "--interval", "0.25", "-o", tmp_path / "x.assay", "--", sys.executable, "-c", code]
    assert subprocess.run(line, env=clean_env(tmp_path), check=False).returncode == 0
    assert ask(tmp_path / "x.assay", "select max(processes) from levels where level = 'process'")[0][0] >= 301


def test_record_follows_a_process(program, tmp_path):
    path = tmp_path / "x.assay"
    with subprocess.Popen(["sleep", "1.2"]) as target:
        started = time.monotonic()
        with subprocess.Popen([program, "record", "-q", "--interval", "0.2", "--pid", str(target.pid), "-o", str(path)]) as p:
            target.wait()
            assert p.wait(5) == 0
        assert 1 < time.monotonic() - started < 4
    names = [r[0] for r in ask(path, "select distinct name from levels where level = 'process'")]
    assert names[0] == f"{target.pid} (sleep)" and facts(path)["target_pid"] == target.pid


def test_record_of_nobody(assay, tmp_path):
    done = assay("record", "--pid", "4194303", "-o", tmp_path / "x.assay")
    assert done.returncode == 2 and "there is no process 4194303" in done.stderr
    assert not (tmp_path / "x.assay").exists()


def test_a_capture_has_no_host_of_now(assay, tmp_path):
    assert assay("record", "-q", "--source", ROOT / "data" / "h200-tour.csv", "--duration", "5", "-o", tmp_path / "x.assay").returncode == 0
    assert ask(tmp_path / "x.assay", "select count(*) from host_ticks") == [(0,)]
    done = assay("record", "--pid", os.getpid(), "--source", ROOT / "data" / "h200-tour.csv", "-o", tmp_path / "y.assay")
    assert done.returncode == 2 and "capture" in done.stderr


@pytest.mark.slow
def test_kill_keeps_the_host(program, tmp_path):
    path = tmp_path / "x.assay"
    with subprocess.Popen([program, "record", "-q", "--interval", "0.1", "--pid", str(os.getpid()), "-o", str(path)]) as p:
        time.sleep(3.2)
        p.send_signal(signal.SIGKILL)
        p.wait()
    assert ask(path, "pragma integrity_check") == [("ok",)]
    assert ask(path, "select max(elapsed) from levels where level = 'process' and memory > 0")[0][0] > 2
    assert ask(path, "select count(*) from cores where util is not null")[0][0] > 15


def test_a_hung_driver_does_not_stop_the_host(program, tmp_path):
    if not LIBRARY.exists():
        pytest.skip("no fake NVML here")
    scenario = tmp_path / "scenario"
    scenario.write_text((FIXTURES / "nvml" / "h200-bf16.scn").read_text() + "@0.3 * = hang\n")
    path = tmp_path / "x.assay"
    done = subprocess.run([program, "run", "-q", "--interval", "0.2", "-o", str(path), "--", "sleep", "1.5"], check=False, capture_output=True,
                          text=True, timeout=30, env={**os.environ, "FAKE_NVML": str(scenario), "ASSAY_NVML_LIB": str(LIBRARY)})
    assert done.returncode == 0
    assert ask(path, "select max(elapsed) from levels where level = 'process' and processes > 0")[0][0] > 1


def test_processes_on_the_gpu(program, tmp_path):
    if not LIBRARY.exists():
        pytest.skip("no fake NVML here")
    scenario = tmp_path / "scenario"
    path = tmp_path / "x.assay"
    with subprocess.Popen(["sleep", "60"]) as worker:
        scenario.write_text((FIXTURES / "nvml" / "h200-bf16.scn").read_text().replace("437:", f"{worker.pid}:"))
        env = {**os.environ, "FAKE_NVML": str(scenario), "ASSAY_NVML_LIB": str(LIBRARY)}
        subprocess.run([program, "record", "-q", "--interval", "0.25", "--duration", "2.5", "--pid", str(worker.pid), "-o", str(path)], check=True, env=env)
        worker.terminate()
    rows = ask(path, "select distinct pid, command, gpu, gone from processes")
    assert (worker.pid, "sleep 60", "0", 0) in rows
    assert ask(path, "select max(gpu_memory), max(gpu_util) from processes")[0] == (pytest.approx(916455424, abs=65536), pytest.approx(0.95, abs=0.001))
    assert ask(path, "select max(memory), max(util) from level_gpus where level = 'process'")[0] == (pytest.approx(916455424, abs=4096), pytest.approx(0.95))
    assert len(ask(path, "select * from processes")) < 10, "what does not change is not said again"
    # They come along into another session.
    subprocess.run([program, "convert", str(path), str(tmp_path / "y.assay")], check=True)
    same = "select elapsed, pid, command, gpu, gone, gpu_memory, gpu_util, cpu from processes"
    assert ask(tmp_path / "y.assay", same) == ask(path, same)
    same = "select elapsed, level, name, cpu, memory, io_read, processes from levels"
    assert ask(tmp_path / "y.assay", same) == ask(path, same)


# ---- reports ----

def test_a_cpu_hog_is_cpu_bound(assay, busy):
    path, said = busy
    level = report(assay, path)["run"]["level"]
    assert level["level"] == "process" and level["cpus"] == 1 and level["cpu_s"] > 0.1
    # Others use this machine too: the thresholds follow what was measured.
    share = level["cpu_share"]["mean"]
    for threshold, wanted in ((share - 0.05, "cpu-bound"), (share + 0.05, "normal")):
        assert report(assay, path, "--tag-cpu", f"{min(threshold, 1):.3f}")["run"]["tags"][0]["tag"] == wanted
    assert "core" in said
    text = assay("report", path, "--all").stdout
    assert "limits: 1 CPU" in text and "s of CPU time" in text and "of 1 core busy" in text


def test_a_memory_hog_is_memory_bound(program, assay, tmp_path):
    path = tmp_path / "x.assay"
    code = "import time\nb = bytearray(360 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\ntime.sleep(1)"
    done = subprocess.run(["sh", "-c", f'ulimit -v 420000; exec "{program}" run --interval 0.2 -o {path} -- {sys.executable} -c "{code}"'],
                          capture_output=True, text=True, check=False)
    if "MemoryError" in done.stderr or "sanitizer" in done.stderr.lower():
        pytest.skip("this program or Python needs more address space")
    assert done.returncode == 0, done.stderr
    found = report(assay, path)["run"]
    assert [t["tag"] for t in found["tags"]] == ["memory-bound"] and found["level"]["memory_limit"] == 420000 * 1024
    assert found["level"]["memory_share"]["max"] > 0.8
    assert "of its limit" in done.stderr


def add_host(path, figures, system):
    """Gives a session a host that does the same all the time, with plain SQL as the document says."""
    with sqlite3.connect(path) as db:
        series = {(scope, name): (i, step, scale) for i, scope, name, step, scale in db.execute("select id, scope, name, step, scale from host_series")}
        ticks = db.execute("select id, wall from tick").fetchall()
        db.executemany("insert into host_tick values(?, ?, null, 1000, 0)", ticks)
        db.execute("insert into level_note values(0, 0, '77 (python)', null)")
        for scope, values in (("level", figures), ("system", system)):
            for name, v in values.items():
                i, step, scale = series[scope, name]
                db.executemany("insert into host_block values(?, 0, ?, 0, ?, null, null)",
                               [(b, i, round(v * scale / step)) for b in range(ticks[-1][0] // 128 + 1)])


@pytest.fixture
def starved(assay, tmp_path):
    """The tour, whose phase train_starved_by_dataloader waits for one thread."""
    path = tmp_path / "tour.assay"
    assert assay("convert", TOUR, path).returncode == 0
    return path


@pytest.mark.parametrize("cpu, iowait, words", [
    (1.0, 0.0, "host.code"),
    (0.1, 0.2, "host.storage"),
    (0.1, 0.0, "host.waiting"),
])
def test_the_finding_says_what_the_host_did(assay, starved, cpu, iowait, words):
    add_host(starved, {"cpu": cpu, "cpu_share": cpu / 16, "cpus": 16, "processes": 1, "memory": 2**30, "memory_limit": 2**36, "memory_share": 1 / 64},
             {"cpu_iowait": iowait, "cpus_online": 16, "cpu_user": 0.25, "cpu_nice": 0.05, "cpu_idle": 0.65})
    found = [s["limiter"] for s in report(assay, starved)["stretches"] if s["phase"] == "train_starved_by_dataloader"]
    assert found == [words]
    summary = json.loads(assay("report", starved, "--format", "resource-summary").stdout)
    assert summary["cpu_usr_mean_pct"] == 30.0 and summary["cpu_idle_mean_pct"] == 65.0


def test_nice_time_is_shown(assay, starved):
    add_host(starved, {}, {"cpu_user": 0.02, "cpu_nice": 0.97, "cpu_idle": 0.0})
    with sqlite3.connect(starved) as db:
        db.execute("insert into level_note values(0, 4, 'vm', null)")
    assert "user 2%  nice 97%  system --  iowait --  steal --  idle 0%" in assay("once", starved).stdout


def test_every_phase_has_the_level(assay, starved):
    add_host(starved, {"cpu": 2, "cpu_share": 0.125, "cpus": 16, "memory": 2**30, "memory_share": 0.5, "memory_limit": 2**31}, {})
    found = report(assay, starved)
    assert found["phases"] and all(p["level"]["cpu"]["mean"] == 2 for p in found["phases"])
    text = assay("report", starved, "--all").stdout
    assert "process 77 (python), limits: 16 CPUs, 2.0 GiB" in text and max(map(len, text.split("\nGPU 0")[0].splitlines())) < 101
    page = assay("report", starved, "--format", "html").stdout
    assert "data-m=cpu>" in page and "data-m=memory>" in page and "77 (python)" in page


def test_another_level(assay, busy):
    path, _ = busy
    assert report(assay, path, "--level", "system")["run"]["level"]["level"] == "system"
    if not any(row[0] == "slurm" for row in ask(path, "select level from levels where absent is null limit 40")):
        done = assay("report", path, "--level", "slurm")
        assert done.returncode == 2 and "was not recorded" in done.stderr and "process" in done.stderr


def test_an_old_session_is_reported(assay):
    """Schema 1 without a host."""
    assert "tensor cores" in assay("report", TOUR).stdout
    assert report(assay, TOUR)["run"]["level"] is None
    done = assay("report", TOUR, "--level", "process")
    assert done.returncode == 2 and "nothing of the host" in done.stderr


def read_all(terminal):
    """Until the other side is closed; a terminal gives it in pieces."""
    said = b""
    try:
        while piece := os.read(terminal, 10000):
            said += piece
    except OSError:
        pass
    return said


@pytest.mark.slow
@pytest.mark.parametrize("words", ["report IN", "plot IN -o OUT.svg", "convert IN OUT.csv"])
def test_long_work_tells_how_far_it_is(program, assay, tmp_path, words):
    """On a terminal only, and wiped at the end. Half a second is long."""
    head, *lines = (ROOT / "data" / "h200-tour.csv").read_text().splitlines()
    with open(tmp_path / "in.csv", "w", encoding="utf-8") as out:
        print(head, file=out)
        for i in range(400):  # the tour again and again
            for line in lines:
                stamp, rest = line.split(",", 1)
                print(f"{float(stamp) + 120 * i:.2f},{rest}", file=out)
    command = words.replace("IN", f"{tmp_path}/in.csv").replace("OUT", f"{tmp_path}/out")
    ours, theirs = os.openpty()
    with subprocess.Popen([program, *command.split()], stdout=subprocess.DEVNULL, stderr=theirs) as p:
        while int(pathlib.Path(f"/proc/{p.pid}/io").read_text().split()[1]) < 1 << 20:  # it has begun
            time.sleep(0.005)
        p.send_signal(signal.SIGSTOP)  # however fast the machine is, it takes long
        time.sleep(0.7)
        p.send_signal(signal.SIGCONT)
    os.close(theirs)
    said = read_all(ours).decode()
    os.close(ours)
    assert p.returncode == 0 and " ticks" in said and said.endswith("\x1b[K"), said
    assert assay(*command.replace("/out.", "/other.").split()).stderr == ""


# ---- other programs and formats ----

def test_the_sqlite3_program_and_pandas(busy):
    path, _ = busy
    done = subprocess.run(["sqlite3", str(path), "select count(*) > 5, avg(cpu_share) > 0 from levels where level = 'process'"],
                          capture_output=True, text=True, check=True)
    assert done.stdout == "1|1\n"
    pandas = pytest.importorskip("pandas")
    with sqlite3.connect(path) as db:
        for view, columns in {"levels": {"tick", "time", "elapsed", "level", "name", "absent", "cpu", "memory", "io_read"},
                              "level_gpus": {"level", "gpu", "util", "band", "memory"}, "system": {"load_1", "mem_used", "pressure_io", "net_rx"},
                              "cores": {"core", "util"}, "processes": {"pid", "user", "command", "gpu", "gpu_util", "gpu_memory", "cpu", "memory"}}.items():
            assert columns <= set(pandas.read_sql(f"select * from {view}", db).columns), view


def test_a_notebook_session_has_the_levels(assay, busy, tmp_path):
    pandas = pytest.importorskip("pandas")
    path, _ = busy
    assert assay("convert", path, tmp_path / "nb", "--to", "notebook").returncode == 0
    manifest = json.loads((tmp_path / "nb" / "manifest.json").read_text())
    assert {"process", "user", "system"} <= set(manifest["levels"]) and manifest["monitor"]["num_cpus"] == 1
    assert manifest["monitor"]["memory_limits"]["process"] > 0.1 and manifest["monitor"]["pid"] > 1
    columns = ["time", "memory", "io_read_count", "io_write_count", "io_read", "io_write", "cpu_util_avg", "cpu_util_min", "cpu_util_max"]
    columns += [f"cpu_util_{i}" for i in range(os.cpu_count())] + ["cell_index"]
    for level in ("process", "user", "system"):
        perf = pandas.read_csv(tmp_path / "nb" / f"perf_{level}.csv")
        assert list(perf.columns) == columns == manifest["schemas"]["perf"][level]
    system = pandas.read_csv(tmp_path / "nb" / "perf_system.csv")
    assert system.memory.min() > 0.01 and 0 < system.cpu_util_0.max() <= 100 and system.cpu_util_avg.notna().sum() >= 8
    # And back: the same figures in a session.
    assert assay("convert", tmp_path / "nb", tmp_path / "back.assay").returncode == 0
    same = "select round(elapsed, 3), cpu_share, memory, io_read, io_write, io_read_count from levels where level = '{}' and absent is null order by tick"
    for level in ("process", "user", "system"):
        first = ask(path, f"select min(elapsed) from levels where level = '{level}'")[0][0]
        one, two = ask(path, same.format(level)), ask(tmp_path / "back.assay", same.format(level))
        assert len(one) == len(two)
        for a, b in zip(one, two):
            assert b == (pytest.approx(a[0] - first, abs=0.002), *[v if v is None else pytest.approx(v, rel=1e-6, abs=1e-4) for v in a[1:]])
    assert ask(path, "select core, util from cores order by tick, core") == ask(tmp_path / "back.assay", "select core, util from cores order by tick, core")
    # A report of the folder itself.
    assert report(assay, tmp_path / "nb")["run"]["level"]["name"] is None


def test_a_hardware_monitor_gets_the_cpu(assay, busy, tmp_path):
    path, _ = busy
    assert assay("convert", path, tmp_path / "hw", "--to", "hardware-monitor").returncode == 0
    lines = (tmp_path / "hw" / "cpu_metrics.csv").read_text().splitlines()
    assert lines[0] == "timestamp,usr_pct,idle_pct" and len(lines) > 8
    usr, idle = (sum(float(line.split(",")[i]) for line in lines[1:]) / (len(lines) - 1) for i in (1, 2))
    summary = json.loads(assay("report", path, "--format", "resource-summary").stdout)
    assert summary["cpu_usr_mean_pct"] == pytest.approx(usr, abs=0.1) and summary["cpu_idle_mean_pct"] == pytest.approx(idle, abs=0.1)
