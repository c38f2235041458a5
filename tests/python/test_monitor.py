"""Monitor and recorded sessions: the same questions, live and afterwards."""
import errno
import json
import math
import threading
import time
import zipfile

import pytest

import assay

LEVEL_COLUMNS = ["time", "memory", "io_read_count", "io_write_count", "io_read", "io_write", "cpu_util_avg", "cpu_util_min",
                 "cpu_util_max"]


def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A monitor that watched this process at work, stopped, and its session."""
    path = tmp_path_factory.mktemp("run") / "run.assay"
    monitor = assay.Monitor(interval=0.1, session=path)
    with monitor:
        with assay.RunLog(path.parent / "run.jsonl") as log:
            with log.phase("work", step=7):
                busy(0.8)
            log.log_event("saved", {"n": 1})
            log.log_metric("loss", 0.5)
        time.sleep(0.4)
    return monitor, path


def test_running():
    monitor = assay.Monitor(interval=0.1)
    assert not monitor.running
    monitor.start()
    assert monitor.running
    assert monitor.start() is monitor
    assert monitor.wait(5)
    monitor.stop()
    assert not monitor.running
    monitor.stop()


def test_latest():
    with assay.Monitor(interval=0.1, levels=["process", "system"]) as monitor:
        assert monitor.wait(5)
        time.sleep(0.35)
        one = monitor.latest()
        time.sleep(0.25)
        two = monitor.latest()
    assert two["tick"] > one["tick"] and two["time"] > one["time"]
    assert abs(two["time"] - time.time()) < 5
    levels = {level["level"]: level for level in two["host"]["levels"]}
    assert set(levels) == {"process", "system"}
    assert levels["process"]["figures"]["memory"] > 1e6
    assert monitor.latest()["tick"] >= two["tick"], "what was measured stays readable"


def test_frames():
    with assay.Monitor(interval=0.1) as monitor:
        ticks = []
        for frame in monitor.frames(timeout=5):
            ticks.append(frame["tick"])
            if len(ticks) == 5:
                break
    assert ticks == list(range(ticks[0], ticks[0] + 5))


def test_machine(measured):
    import os
    monitor, path = measured
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    for recording in (monitor, assay.open_session(path)):
        assert recording.num_cpus == len(os.sched_getaffinity(0))
        assert recording.memory_limits["system"] == pytest.approx(total, rel=0.01)
        assert set(recording.memory_limits) <= set(assay.LEVELS)
        assert recording.num_gpus == 0 and recording.gpu_name == "" and recording.gpu_memory == 0.0
        counts = recording.counts
        assert counts.taken >= 8 and counts.asked >= counts.taken
        assert recording.missed == counts.missed


def test_columns(measured):
    monitor, path = measured
    for recording in (monitor, assay.open_session(path)):
        columns = recording.columns("notebook:process")
        assert list(columns)[:9] == LEVEL_COLUMNS and list(columns)[-1] == "cell_index"
        times = columns["time"]
        assert len(times) >= 8 and all(a < b for a, b in zip(times, times[1:]))
        assert max(v for v in columns["cpu_util_avg"] if not math.isnan(v)) > 0.5
        assert 0.001 < columns["memory"][-1] < 64, "GiB"


def test_columns_are_those_of_json(measured):
    """One time base, SI units, the names of `assay export --host --format jsonl`."""
    monitor, path = measured
    before = time.time() - 3600
    for recording in (monitor, assay.open_session(path)):
        columns = recording.columns("process")
        assert before < columns["time"][0] < time.time() and columns["elapsed"][0] < 60
        assert columns["time"][-1] - columns["elapsed"][-1] == pytest.approx(recording.start_time, abs=1e-3)
        assert max(v for v in columns["cpu"] if not math.isnan(v)) > 0.02, "cores"
        assert 1e6 < columns["memory"][-1] < 64e9, "bytes"
        assert {"mem_total", "cores.0", "load_1"} <= set(recording.columns("system"))
    names = set(monitor.latest()["host"]["levels"][0]["figures"])
    assert set(columns) - {"time", "elapsed", "tick", "name"} <= names


def test_data(measured):
    pandas = pytest.importorskip("pandas")
    monitor, path = measured
    live, later = monitor.data("process"), assay.open_session(path).data("process")
    pandas.testing.assert_frame_equal(live, later)
    assert live["memory"].dtype == float and live["cpu"].max() > 0.02
    assert live.attrs["units"]["memory"] == "B" and live.attrs["units"]["time"] == "s since 1970"
    live["memory"] *= 2  # it is the caller's
    system = monitor.data("notebook:system")
    assert {"cpu_util_0", "cpu_util_avg"} <= set(system.columns)
    assert (system.attrs["units"]["memory"], system.attrs["units"]["cpu_util_0"], system.attrs["units"]["io_read"]) == ("GiB", "%", "B/s")
    phases = monitor.data("phases")
    assert list(phases["name"]) == ["work"]


def test_phases_events_metrics(measured):
    _, path = measured
    session = assay.open_session(path)
    phase, = session.phases()
    assert phase["name"] == "work" and phase["data"]["step"] == 7 and phase["open"] is False
    assert 0.75 < phase["seconds"] < 5
    assert session.columns("events")["event"] == ["saved"]
    assert list(session.columns("user_metrics")["value"]) == [0.5]
    cell, = session.cells()
    assert cell.source == "work" and cell.duration == pytest.approx(phase["seconds"])


def test_reports(measured):
    monitor, path = measured
    assert "work" in monitor.report()
    told = json.loads(assay.open_session(path).report("json", phase="work"))
    assert [p["name"] for p in told["phases"]] == ["work"]
    assert monitor.report("html").lstrip().lower().startswith("<!doctype html")


def test_many_draw_the_same_picture(measured, tmp_path):
    failed = []

    def draw():
        for _ in range(12):
            try:
                measured[0].plot(tmp_path / "plot.svg", metrics="cpu_summary")
            except assay.AssayError as error:
                failed.append(str(error))

    threads = [threading.Thread(target=draw) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and sorted(p.name for p in tmp_path.iterdir()) == ["plot.svg", "tmp"]


def test_while_it_runs(tmp_path):
    """Data, reports and exports need no stop; the temporary session is gone afterwards."""
    with assay.Monitor(interval=0.1) as monitor:
        time.sleep(0.6)
        early = len(monitor.columns("system")["time"])
        saved = monitor.save(tmp_path / "early.assay")
        time.sleep(0.5)
        late = len(monitor.columns("system")["time"])
        assert monitor.running
    assert early >= 2 and late >= early + 3
    assert early - 2 <= len(assay.open_session(saved).columns("system")["time"]) <= late


@pytest.mark.parametrize("name", ["copy.assay", "copy.zip", "copy.csv", "copy.jsonl"])
def test_exports(measured, gpu, tmp_path, name):
    with assay.Monitor(interval=0.1, **gpu) as monitor:
        time.sleep(0.6)
    out = monitor.export(tmp_path / name)
    assert out.stat().st_size > 100
    if name.endswith(".zip"):
        assert {"manifest.json", "perf_process.csv", "cell_history.csv"} <= set(zipfile.ZipFile(out).namelist())
    again = assay.open_session(out)
    assert again.columns("gpus" if "." in name else "system")
    with pytest.raises(assay.AssayError):
        monitor.export(out)  # nothing that is there is overwritten


def test_gpu(gpu, tmp_path):
    path = tmp_path / "gpu.assay"
    with assay.Monitor(interval=0.1, session=path, **gpu) as monitor:
        time.sleep(0.8)
        latest = monitor.latest()
        assert latest["gpus"][0]["verdict"]["class"] == "tensor-heavy compute"
    for recording in (monitor, assay.open_session(path)):
        assert recording.num_gpus == 1 and "H200" in recording.gpu_name
        assert recording.gpu_memory == pytest.approx(140, rel=0.05)
        system = recording.columns("notebook:system")
        assert {"gpu_util_avg", "gpu_util_0", "gpu_band_0", "gpu_mem_0"} <= set(system)
        assert {"gpus.0.util", "gpus.0.memory"} <= set(recording.columns("system"))
        gpus = recording.columns()
        assert max(gpus["sm_active"]) == pytest.approx(0.955, abs=0.001)


def test_gpu_data_is_the_default(gpu, tmp_path):
    """With the names and units of JSON, and a figure to look at."""
    pytest.importorskip("pandas")
    with assay.Monitor(interval=0.1, **gpu) as monitor:
        monitor.wait(5)
        time.sleep(0.5)
    frame = monitor.data()
    row, units = frame.iloc[-1], frame.attrs["units"]
    assert row["class"] == "tensor-heavy compute" and row["bottleneck"] == "compute" and row["health"]
    latest = monitor.latest()["gpus"][0]
    assert row["power"] == pytest.approx(latest["metrics"]["power"], rel=0.05) and units["power"] == "W"
    assert 0 <= row["sm_active"] <= 1 and units["sm_active"] == "ratio" and units["fb_used"] == "B"
    assert set(frame.columns) - {"tick", "time", "elapsed", "stale", "gpu", "model", "uuid", "class", "bottleneck", "health"} <= set(latest["metrics"])
    findings = monitor.findings()
    assert findings and findings[0].text == findings[0]["text"] and isinstance(monitor.stretches(), list)
    plot = monitor.plot(metrics="power")
    assert plot._repr_svg_().lstrip().startswith("<") and "svg" in plot.svg and plot.save(tmp_path / "p.svg").exists()
    html = monitor._repr_html_()
    assert "H200" in html and findings[0]["text"].split()[0] in html and "<table>" in html
    report = monitor.report()
    assert isinstance(report, str) and "<pre>" in report._repr_html_() and repr(report) == str(report)
    assert "srcdoc" in monitor.report("html")._repr_html_()
    assert "H200" in assay.open_session(monitor.save(tmp_path / "x.assay"))._repr_html_()
    monitor.close()


def test_html_of_hostile_names(tmp_path):
    """What a session says of itself is text, not markup."""
    evil = tmp_path / "<img src=x onerror=alert(1)>.assay"
    with assay.Monitor(0.1, session=evil, levels="system") as monitor:
        with assay.RunLog(session=monitor).phase("<script>alert(1)</script>"):
            monitor.wait(5)
    session = assay.open_session(evil)
    for html in (session._repr_html_(), session.report()._repr_html_(), session.report("html")._repr_html_()):
        assert "<script>alert" not in html and "<img src=x" not in html
    assert "not been started" in assay.Monitor()._repr_html_()


def test_latest_of_a_session(measured):
    _, path = measured
    with assay.open_session(path) as session:
        last = session.latest()
        assert not session.running
        assert last["levels"]["process"]["memory"] > 1e6 and last["time"] > 1e9
        assert session.start() is session and not session.running, "a recording does not run, and that is no error"


def test_start_again(scratch):
    monitor = assay.Monitor(interval=0.1)
    for _ in range(2):
        with monitor:
            time.sleep(0.35)
        assert 1 <= len(monitor.columns("system")["time"]) <= 8
    assert len(list(scratch.glob("assay-monitor-*"))) == 1
    monitor.close()
    assert not list(scratch.iterdir())


def test_several_at_once():
    with assay.Monitor(interval=0.1) as a, assay.Monitor(interval=0.2, levels="system") as b:
        time.sleep(0.8)
        assert a.path != b.path
    assert a.counts.taken > b.counts.taken


def test_a_program_that_goes_elsewhere(tmp_path, monkeypatch):
    """Sessions, phases and recordings are found again."""
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with assay.Monitor(interval=0.1, session="run.assay") as monitor:
        log = assay.RunLog()
        monkeypatch.chdir(tmp_path / "other")
        with log.phase("there"):
            monitor.wait(5)
        assert len(monitor.columns("system")["time"]) > 0
    assert [p["name"] for p in monitor.phases()] == ["there"]
    monkeypatch.chdir(tmp_path)
    session = assay.open_session("run.assay")
    monkeypatch.chdir(tmp_path / "other")
    assert [p["name"] for p in session.phases()] == ["there"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "run.assay", "tmp"]


def test_a_folder_to_write_but_not_to_look_into(monkeypatch):
    """As some machines have /tmp."""
    def scandir(_path):
        raise PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr("os.scandir", scandir)
    with assay.Monitor(interval=0.1, levels="system") as monitor:
        assert monitor.wait(5)
    monkeypatch.undo()
    monitor.close()


def test_a_log_finds_the_monitor(tmp_path):
    """A RunLog made while a monitor runs writes to its session, the newest one's."""
    with assay.Monitor(interval=0.1, session=tmp_path / "a.assay") as a:
        with assay.Monitor(interval=0.1, session=tmp_path / "b.assay"):
            log = assay.RunLog()
        other = assay.RunLog(session=a)
        with other.phase("there"):
            time.sleep(0.2)
        with assay.RunLog().phase("here"):
            time.sleep(0.2)
    log.close()
    assert [p["name"] for p in a.phases()] == ["there", "here"]


@pytest.mark.parametrize("options, says", [
    ({"interval": "fast"}, "interval"),
    ({"interval": -1}, "interval: '-1' is not a time"),
    ({"interval": 0, "levels": "none"}, "interval: '0' is out of range"),
    ({"intervall": 1}, "did you mean"),
    ({"levels": "proces"}, "proces"),
    ({"levels": ["process", "moon"]}, "moon"),
    ({"backend": "abacus"}, "abacus"),
    ({"source": "/nowhere/capture.txt"}, "/nowhere/capture.txt"),
    ({"session": "/nowhere/run.assay"}, "/nowhere/run.assay"),
    ({"backend": "nvml", "levels": "none", "nvml_lib": "/nowhere/libnvidia-ml.so.1"}, "/nowhere/libnvidia-ml.so.1"),
])
def test_errors(options, says, scratch):
    with pytest.raises(assay.AssayError) as raised:
        assay.Monitor(**options).start()
    assert says in str(raised.value) and raised.value.hint
    assert not list(scratch.iterdir()), "what could not start leaves nothing"


def test_what_cannot_work_says_so_always():
    monitor = assay.Monitor(levels="none", backend="nvml", nvml_lib="/nowhere/libnvidia-ml.so.1")
    with pytest.raises(assay.AssayError) as first:
        monitor.start()
    for ask in (monitor.latest, monitor.data, monitor.report, lambda: monitor.counts, monitor.wait, lambda: monitor.num_gpus):
        with pytest.raises(assay.AssayError) as raised:
            ask()
        assert raised.value.args == first.value.args and raised.value.code == assay.E_NO_SOURCE
    assert not monitor.running
    monitor.stop()


@pytest.mark.slow
def test_a_driver_that_does_not_answer(tmp_path, python):
    """Starting and ending take seconds at most; the host is watched."""
    from .conftest import BUILD
    (tmp_path / "hang.scn").write_text("nvmlInit_v2 = hang\n[gpu]\nnvmlDeviceGetUUID = 0 GPU-1\n")
    done = python("import assay, sys, time\nbegan = time.monotonic()\nm = assay.Monitor(interval=0.2, levels='system', nvml_lib=sys.argv[1]).start()\n"
                  "print(time.monotonic() - began < 4, m.num_gpus, m.describe()['notice'])\n"
                  "print(m.latest()['host']['levels'][0]['level'])\nbegan = time.monotonic()\nm.stop()\nprint(time.monotonic() - began < 3)",
                  BUILD / "tests/libnvidia-ml-fake.so", FAKE_NVML=str(tmp_path / "hang.scn"))
    lines = done.stdout.splitlines()
    assert lines[0].startswith("True 0 no answer from the GPU source for ") and lines[1:] == ["system", "True"], done.stdout + done.stderr
    assert done.returncode == 0


def test_not_started():
    monitor = assay.Monitor()
    for ask in (monitor.latest, monitor.data, monitor.report, lambda: monitor.counts, lambda: monitor.num_cpus):
        with pytest.raises(assay.AssayError) as raised:
            ask()
        assert raised.value.code == assay.E_STOPPED and "start()" in raised.value.hint


@pytest.mark.parametrize("path, says, code", [
    ("/nowhere/run.assay", "/nowhere/run.assay", -errno.ENOENT),
    (__file__, "test_monitor.py", assay.E_DATA),
    ("a\0b", "null character", assay.E_USAGE),
    ("", "''", -errno.ENOENT),
])
def test_no_session(path, says, code):
    with pytest.raises(assay.AssayError) as raised:
        assay.open_session(path)
    assert says in str(raised.value) and raised.value.code == code


def test_other_files(tmp_path):
    """What others wrote is read too."""
    from .conftest import ROOT
    tour = assay.open_session(ROOT / "data/h200-tour.csv")
    assert "H200" in tour.gpu_name and tour.num_gpus == 1
    assert len(tour.columns("gpus")["sm_active"]) > 100
    with pytest.raises(assay.AssayError) as raised:
        tour.columns("nothing")
    assert "nothing" in str(raised.value)
    with pytest.raises(assay.AssayError):
        tour.report("odt")


def test_numbers_of_ones_own(tmp_path):
    """A list of commands; what cannot be one is refused at the start."""
    with assay.Monitor(interval=0.1, session=tmp_path / "run.assay", collect=["queue=echo 42 jobs", "plain=echo 7"]) as monitor:
        end = time.monotonic() + 20
        while {"queue", "plain"} - set(monitor.columns("user_metrics")["name"]) and time.monotonic() < end:
            time.sleep(0.1)
    found = assay.open_session(tmp_path / "run.assay").columns("user_metrics")
    assert set(zip(found["name"], found["value"])) == {("queue", 42), ("plain", 7)}
    with pytest.raises(ValueError, match="collect"):
        assay.Monitor(collect="no name", session=tmp_path / "other.assay").start()
