"""Every row of docs/MIGRATING.md, run: the right side, and the left where it is ours as it stands."""
import contextlib
import csv
import http.server
import io
import json
import math
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

import assay

from .conftest import BUILD, ROOT

TEXT = (ROOT / "docs/MIGRATING.md").read_text()
CODE = re.compile(r"`([^`]+)`")


def tables():
    """(heading of the section, head row, rows as pairs of lists of code) of each table."""
    found = []
    for section in TEXT.split("\n## ")[1:]:
        heading = section.splitlines()[0]
        for block in re.findall(r"(?:^\|.*\n)+", section, re.M):
            lines = [[c.strip() for c in x.strip("|\n ").split(" | ")] for x in block.splitlines()]
            if lines[0][0].startswith("what differs"):
                continue
            rows = [tuple(CODE.findall(c) for c in cells) for cells in lines[2:]]
            found.append((heading, lines[0][0], rows))
    return found


def differences():
    """The first cell of each line of the tables of differences."""
    blocks = re.findall(r"^\| what differs from .*\n\|[- |]+\n((?:\|.*\n)+)", TEXT, re.M)
    return [line.strip("|").split(" | ")[0].strip() for block in blocks for line in block.splitlines()]


TABLES = tables()


def commands():
    """The command lines, with the dashboard's name replaced by ours."""
    for heading, head, rows in TABLES:
        if head not in ("the dashboard", "what scripts do with it", "on the command line"):
            continue
        for left, right in rows:
            if head == "the dashboard":
                yield [re.sub(r"\bdashboard\b", "assay", left[0], count=1)]
            yield right


def test_the_tables_are_there():
    assert [head for _, head, _ in TABLES] == ["the dashboard", "what scripts do with it", "as before", "in Python, as before",
                                               "as before", "on the command line"]
    for _, _, rows in TABLES:
        for row in rows:
            assert len(row) == 2 and row[1], row
    assert len(list(commands())) >= 40


class Exporter(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = EXPOSITION.read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


EXPOSITION = ROOT / "tests/fixtures/exposition/dcgm-exporter.prom"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with what the commands speak of: captures, an old CSV, a hardware monitor's folder; an exporter."""
    folder = tmp_path_factory.mktemp("migrating")
    (folder / "bin").mkdir()
    (folder / "bin/assay").symlink_to(BUILD / "assay")
    shutil.copy(ROOT / "tests/fixtures/tour/h200-tour.dmon.txt", folder / "capture.txt")
    shutil.copy(ROOT / "data/h200-tour.csv", folder / "dashboard.csv")
    fixtures = ROOT / "tests/fixtures/nvidia-smi"
    (folder / "hw").mkdir()
    shutil.copy(fixtures / "smi-query.csv", folder / "hw/hw_metrics.csv")
    shutil.copy(fixtures / "smi-dmon-mu.txt", folder / "hw/hw_dmon.csv")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder), "TERM": "xterm-256color", "TZ": "UTC", "LANG": "C.UTF-8",
           "FAKE_NVML": str(ROOT / "tests/fixtures/nvml/h200-bf16.scn"), "ASSAY_NVML_LIB": str(BUILD / "tests/libnvidia-ml-fake.so"),
           "ASSAY_DCGMI": str(DCGMI), "FAKE_DCGMI": "{}", "PORT": str(server.server_port)}
    yield folder, env
    server.shutdown()
    server.server_close()


DCGMI = ROOT / "tests/fakes/dcgmi"


def in_terminal(line, folder, env):
    """(exit status, output) of a command line on a terminal: the dashboard is left with q, a stream with Ctrl-C."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve("/bin/bash", ["bash", "-c", line], env)
    output, start, left = b"", time.monotonic(), False
    while time.monotonic() - start < 20:
        ready, _, _ = select.select([terminal], [], [], 0.1)
        if ready:
            with contextlib.suppress(OSError):
                got = os.read(terminal, 65536)
                output += got
                if got:
                    continue
            break
        if not left and time.monotonic() - start > (0.6 if output else 1.5):
            os.write(terminal, b"q" if b"\x1b[?1049h" in output else b"\x03")
            left = True
    else:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), output.decode("utf-8", "replace")


@pytest.mark.slow
@pytest.mark.parametrize("lines", list(commands()), ids=lambda lines: lines[0])
def test_command(place, lines):
    folder, env = place
    for line in lines:
        status, output = in_terminal(line.replace("localhost:9400", f"127.0.0.1:{env['PORT']}"), folder, env)
        assert status in (0, -signal.SIGINT, 128 + signal.SIGINT), f"{line}: {status}: {output}"
        target = re.search(r"> (\S+)", line)
        if target:
            assert len((folder / target.group(1)).read_text().splitlines()) > 1, line


def test_the_same_bytes(place):
    """The dashboard's CSV has CRLF and computes with zeros; ours does on demand."""
    folder, env = place
    done = subprocess.run(["assay", "export", "all", "--source", "capture.txt", "--missing", "zero", "--crlf"], cwd=folder, env=env,
                          capture_output=True, check=True)
    assert done.stdout.count(b"\r\n") == done.stdout.count(b"\n") > 100
    assert b"unknown" not in done.stdout


def rows_of(heading, head):
    return next(rows for h, first, rows in TABLES if h == heading and first == head)


def test_hardware_monitor(gpu, tmp_path, monkeypatch):
    """The rows are one program, in order. The left column differs in its import alone."""
    monkeypatch.setenv("ASSAY_BACKEND", "nvml")
    monkeypatch.chdir(tmp_path)
    rows = rows_of("From the hardware-monitor module", "as before")
    names = {"output_dir": str(tmp_path / "hw")}
    for i, (left, right) in enumerate(rows):
        if "import" not in left[0] and "import" not in right[0]:
            assert left == right
        for code in right:
            exec(code, names)
        if "interval_sec" in right[0]:
            time.sleep(1.2)
    assert names["result"]["cpu_idle_mean_pct"] >= 0
    assert (tmp_path / "copy.jsonl").read_text().count("\n") == 5


def test_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"work": lambda: time.sleep(0.4)}
    for _, right in rows_of("From the notebook monitor", "in Python, as before"):
        for code in right:
            exec(code, names)
    assert len(names["frame"]) > 1 and "cpu_util_avg" in names["frame"]
    assert names["session"].cells()[0].source == "work"


@pytest.mark.slow
def test_notebook(tmp_path, gpu, monkeypatch):
    """All rows in one notebook, the left spelling and the right, in a real kernel; nothing complains."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("PATH", f"{BUILD}:{os.environ['PATH']}")
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    cell = nbformat.v4.new_code_cell
    cells = [cell("%load_ext assay"), cell("%assay start 0.1")]
    cells += [cell("import time\nend = time.time() + 0.5\nwhile time.time() < end: sum(range(999))") for _ in range(6)]
    rows = rows_of("From the notebook monitor", "as before")
    # Commands of one side may depend on those before: scripts are begun and ended one side after the other.
    scripts = [row for row in rows if "script" in row[0][0] or row[0][0] == "x = 1"]
    cells += [cell(code) for row in rows if row not in scripts for side in row for code in side]
    cells += [cell(code) for side in (0, 1) for row in scripts for code in row[side]]
    book = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(book, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    for done in book.cells:
        for output in done.outputs:
            assert output.output_type != "error", f"{done.source}: {output}"
            assert output.get("name") != "stderr", f"{done.source}: {output.get('text')}"
    assert (tmp_path / "old.jpg").read_bytes()[:3] == b"\xff\xd8\xff" == (tmp_path / "new.jpg").read_bytes()[:3]
    assert "x = 1" in (tmp_path / "job.py").read_text() and "x = 2" in (tmp_path / "job2.py").read_text()
    assert sys.version_info >= (3, 9) and assay.__version__


# ---- what differs: a check for each line, by its first cell ----

TOUR = "capture.txt"


def run(place, *words, env=None, ok=True):
    folder, base = place
    done = subprocess.run(["assay", *map(str, words)], cwd=folder, env={**base, **(env or {})}, capture_output=True, text=True, check=False)
    assert not ok or done.returncode == 0, done.stderr
    return done


def rows_in(done):
    return list(csv.DictReader(io.StringIO(done.stdout)))


def few(place):
    """A capture without counters."""
    path = place[0] / "few.txt"
    path.write_text("#Entity   GPUTL   POWER\nID\nGPU 0     50      300\n")
    return path


def missing_counter(place, **_):
    assert rows_in(run(place, "export", "all", "--source", few(place)))[0]["status"] == "unknown"
    assert rows_in(run(place, "export", "all", "--source", few(place), "--missing", "zero"))[0]["status"] != "unknown"


def line_ends(place, **_):
    folder, env = place
    for words, end in (([], b"\n"), (["--crlf"], b"\r\n")):
        done = subprocess.run(["assay", "export", "--source", TOUR, *words], cwd=folder, env=env, capture_output=True, check=True)
        assert done.stdout.splitlines(keepends=True)[0].endswith(end) and (b"\r" in done.stdout) == (end == b"\r\n")


def source_without_backend(place, **_):
    told = json.loads(run(place, "once", "--json").stdout)
    assert "nvml" in told["source"] and told["gpus"]
    done = run(place, "once", "--backend", "prometheus", "--source", f"http://127.0.0.1:{place[1]['PORT']}/metrics", "--json")
    assert "prometheus" in json.loads(done.stdout)["source"]


def time_between_samples(place, **_):
    for words, interval in (([], 1), (["--poll", "0.1"], 0.1)):
        run(place, "run", *words, "-o", f"every-{interval}.assay", "--", "true")
        assert json.loads(run(place, "report", f"every-{interval}.assay", "--format", "json").stdout)["interval_s"] == pytest.approx(interval)


def poll_too_short(place, **_):
    done = run(place, "export", "--poll", "0.01", "--count", "1")
    assert "raised" in done.stderr
    address = f"http://127.0.0.1:{place[1]['PORT']}/metrics"
    assert run(place, "export", "--source", address, "--poll", "0.1", "--count", "1", ok=False).returncode == 2


def a_list_that_names_nothing(place, **_):
    done = run(place, "once", "--source", TOUR, "--gpus", "7", ok=False)
    assert done.returncode == 2 and "0" in done.stderr


def without_a_header(place, **_):
    (place[0] / "bare.txt").write_text("GPU 0 1 2 3\n")
    assert run(place, "once", "--source", "bare.txt", ok=False).returncode == 3
    for columns, fine in ((23, True), (25, True), (22, False), (24, False), (26, False)):
        (place[0] / "own.txt").write_text("GPU 0 " + " ".join(["1"] * columns) + "\n")
        assert (run(place, "once", "--source", "own.txt", ok=fine).returncode == 0) == fine, columns


def another_host(place, **_):
    env = {"CUDA_VISIBLE_DEVICES": "1"}
    assert len(rows_in(run(place, "export", "gpu_id", "--source", EXPOSITION, env=env))) == 2
    (place[0] / "two.txt").write_text("#Entity   GPUTL\nID\nGPU 0     50\nGPU 1     60\n")
    assert len(rows_in(run(place, "export", "gpu_id", "--source", "two.txt", env=env))) == 1


def colon_q(place, **_):
    """The dashboard ends at the second :q, and at :quit in any view."""
    for keys in ([b":job\r", b":q\r", b":q\r"], [b":job\r", b":quit\r"]):
        type_into_top(place, keys)


def type_into_top(place, keys):
    folder, env = place
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve("/bin/sh", ["sh", "-c", f"exec assay top --source {TOUR} --speed 1"], env)
    seen = b""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.7)
        try:
            if ready:
                seen += os.read(terminal, 65536)
            elif keys:
                os.write(terminal, keys.pop(0))
        except OSError:
            break
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0 and not keys and seen


def replay(place, **_):
    start = time.monotonic()
    run(place, "export", "--source", TOUR)
    assert time.monotonic() - start < 20, "it is a capture of a minute"
    rows = "".join(f"{1700000000 + i},0,5\n" for i in range(3))
    (place[0] / "two-seconds.csv").write_text("timestamp,gpu_id,gpu_util_pct\n" + rows)
    start = time.monotonic()
    assert len(rows_in(run(place, "export", "gpu_id", "--source", "two-seconds.csv", "--speed", "1"))) == 3
    assert time.monotonic() - start > 1.9


def shell_of(tmp_path):
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    interactive.InteractiveShell.clear_instance()
    shell = interactive.InteractiveShell.instance()
    assay.load_ipython_extension(shell)
    return shell


@contextlib.contextmanager
def notebook(tmp_path, interval=0.1):
    shell = shell_of(tmp_path)
    try:
        shell.run_cell(f"%assay start {interval}", store_history=True)
        yield shell
    finally:
        assay.unload_ipython_extension(shell)
        type(shell).clear_instance()


def cell_numbers(tmp_path, capsys, **_):
    with notebook(tmp_path) as shell:
        shell.run_cell("import time; time.sleep(0.5)", store_history=True)
        number = shell.execution_count - 1
        shell.run_cell(f"%assay report --cell {number} --text", store_history=True)
    assert f"(1 cell: {number})" in capsys.readouterr().out


def gpu_of_a_process(gpu, **_):
    with assay.Monitor(0.1, **gpu) as monitor:
        time.sleep(0.6)
    assert all(v != v for v in monitor.columns("notebook:process").get("gpu_util_0", [])), "the driver says nothing of this process"
    gpus_of_system = monitor.columns("system")["gpus.0.util"]
    assert max(v for v in gpus_of_system if v == v) > 0.5
    tags = [t["tag"] for t in json.loads(monitor.report("json", level="process"))["run"]["tags"]]
    assert "gpu-util-bound" not in tags
    tags = [t["tag"] for t in json.loads(monitor.report("json", level="system"))["run"]["tags"]]
    assert "gpu-util-bound" in tags
    monitor.close()


def short_cell(tmp_path, capsys, **_):
    with notebook(tmp_path, 0.2) as shell:
        shell.run_cell("import time; time.sleep(1)", store_history=True)
        shell.run_cell("x = 1", store_history=True)
        shell.run_cell("time.sleep(1)", store_history=True)
        shell.run_cell("%assay report --cell -2", store_history=True)
        assert "estimated from those" in capsys.readouterr().out
        shell.run_cell("%assay stop", store_history=True)
        shell.run_cell("x = 2", store_history=True)
        shell.run_cell("%assay report --cell -1", store_history=True)
        assert "there is no sample" in capsys.readouterr().err
        shell.run_cell("%assay report", store_history=True)
        assert "Performance Report" in capsys.readouterr().out


def io_columns(tmp_path, **_):
    with assay.Monitor(0.1, levels="process") as monitor:
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            with open("/proc/self/stat") as file:
                file.read()
    rates = [v for v in monitor.columns("notebook:process")["io_read_count"] if v == v]
    per_second = [v for v in monitor.columns("process")["io_read_count"] if v == v]
    assert rates == pytest.approx(per_second, rel=0.01, abs=1) and rates[-1] > 100
    monitor.close()


def own_io(**_):
    """Nothing else writes here: what is counted is the recording."""
    with assay.Monitor(1.0, levels="process") as monitor:
        time.sleep(4.2)
    written = [v for v in monitor.columns("process")["io_write"] if v == v]
    assert 1e3 < sum(written) / len(written) < 60e3, written
    monitor.close()


def uss(**_):
    with assay.Monitor(0.1, levels="process", pss=True) as monitor:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not any(v == v for v in monitor.columns("process").get("uss", [])):
            time.sleep(0.1)
        memory, process = monitor.columns("notebook:process"), monitor.columns("process")
    each = list(zip(memory["memory"], process["uss"], process["memory"]))
    assert any(uss == uss for _, uss, _ in each)
    for shown, uss, known in each:
        assert shown == pytest.approx((uss if uss == uss else known) / 2**30, rel=1e-6, nan_ok=True)
    monitor.close()


def single_cores(**_):
    with assay.Monitor(0.1) as monitor:
        time.sleep(0.5)
    assert all(v != v for v in monitor.columns("notebook:process")["cpu_util_0"])
    assert any(v == v for v in monitor.columns("notebook:system")["cpu_util_0"])
    monitor.close()


def ours_is_si(tmp_path, capsys, **_):
    with notebook(tmp_path) as shell:
        shell.run_cell("import time; time.sleep(0.5)", store_history=True)
        shell.run_cell("%assay data --level process\n%perfmonitor_export_perfdata", store_history=True)
        assert shell.user_ns["assay_df"]["time"].iloc[0] > 1e9 > shell.user_ns["perfdata_df"]["time"].iloc[0]


def plots(tmp_path, capsys, monkeypatch, **_):
    monkeypatch.chdir(tmp_path)
    with notebook(tmp_path) as shell:
        shell.run_cell("import time; time.sleep(0.5)", store_history=True)
        shell.run_cell("%assay plot --save p.svg", store_history=True)
        shell.run_cell("%assay plot --pickle p.pkl\n%assay plot --backend plotly", store_history=True)
        shell.run_cell("%assay plot --backend plotly", store_history=True)
    assert (tmp_path / "p.svg").read_text().lstrip().startswith("<")
    said = capsys.readouterr().err
    assert "--pickle" in said and "--backend" in said


def parquet(tmp_path, capsys, monkeypatch, **_):
    monkeypatch.chdir(tmp_path)
    with notebook(tmp_path) as shell:
        shell.run_cell("import time; time.sleep(0.5)", store_history=True)
        shell.run_cell("%perfmonitor_export_perfdata --file x.parquet", store_history=True)
        shell.run_cell("%assay export gpus.parquet", store_history=True)
    assert (tmp_path / "gpus.parquet").read_bytes()[-4:] == b"PAR1"
    if (tmp_path / "x.parquet").exists():
        assert (tmp_path / "x.parquet").read_bytes()[-4:] == b"PAR1"
    else:
        assert "Parquet needs pyarrow or fastparquet" in capsys.readouterr().err


def script(tmp_path, monkeypatch, **_):
    monkeypatch.chdir(tmp_path)
    with notebook(tmp_path) as shell:
        for code in ("%start_write_script s.py", "%assay report\ny = 1", "%end_write_script"):
            shell.run_cell(code, store_history=True)
    text = (tmp_path / "s.py").read_text()
    assert "pass  # %assay report" in text and "monitor.report()" in text and "monitor.save(" in text


def wrapped_kernel(tmp_path, monkeypatch, **_):
    pytest.importorskip("jupyter_client")
    from assay import kernels
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("PATH", f"{BUILD}:{os.environ['PATH']}")
    assert kernels.wrap("python3") == "assay-python3"
    spec = json.loads((tmp_path / "jupyter/kernels/assay-python3/kernel.json").read_text())
    assert spec["argv"][1] == "run" and "(assay)" in spec["display_name"]


def offline(place, **_):
    session = assay.open_session(place[0] / "dashboard.csv")
    assert session.start() is session and not session.running
    session.stop()


def stop_time(tmp_path, **_):
    (tmp_path / "perf.csv").write_text("time,memory,io_read_count,io_write_count,io_read,io_write,cpu_util_avg,cpu_util_min,cpu_util_max\n"
                                       "10.0,1,0,0,0,0,1,1,1\n14.0,1,0,0,0,0,1,1,1\n")
    assert assay.open_session(tmp_path / "perf.csv").describe()["stop"] == pytest.approx(4.0)


def no_nvidia_smi(tmp_path, monkeypatch, **_):
    marker = tmp_path / "called"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/nvidia-smi").write_text(f"#!/bin/sh\ntouch {marker}\n")
    (tmp_path / "bin/nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monitor = assay.HWMonitor()
    monitor.start(tmp_path / "hw", 0.1)
    time.sleep(0.4)
    assert monitor.stop().cpu_csv and not marker.exists()


def not_measured(**_):
    summary = assay.build_resource_summary()
    assert summary.peak_vram_mb != summary.peak_vram_mb and summary.to_dict()["peak_vram_mb"] is None
    assert not {"mem_util_mean_pct", "jax_peak_bytes_mb"} & set(summary.to_dict())


def iso_times(tmp_path, **_):
    monitor = assay.HWMonitor()
    monitor.start(tmp_path / "hw", 0.1)
    time.sleep(0.6)
    rows = list(csv.DictReader(monitor.stop().cpu_csv.open()))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", rows[0]["timestamp"])


def folder_again(tmp_path, **_):
    (tmp_path / "hw_metrics.csv").write_text("old\n")
    monitor = assay.HWMonitor()
    monitor.start(tmp_path, 0.1)
    monitor.start(tmp_path / "other", 0.1)
    monitor.stop()
    assert not (tmp_path / "hw_metrics.csv").exists() and not (tmp_path / "other").exists()


def jax_is_not_imported(python, **_):
    done = python("import assay, sys; print(assay.probe_jax_peak_memory_mb(), 'jax' in sys.modules)")
    assert done.stdout.split() == ["0.0", "False"]


def impossible(place, tmp_path, **_):
    (tmp_path / "c.txt").write_text("#Entity  TMPTR  NBWLT\nGPU 0  441  1000\n")
    ask = ["export", "gpu_temp_c,nvlink_gbps", "--source", tmp_path / "c.txt"]
    assert [run(place, *ask, *more).stdout.split()[1] for more in ([], ["--missing", "zero"])] == [",1.0240", "441.0000,1.0000"]


def old_flags(place, **_):
    for line, status in (("--export --once --hist 3", 0), ("--once --history 3 --focus 0", 0), ("--export --once --focus-gpu 0", 0),
                         ("once --history 3", 2), ("export --hist 3", 2)):
        assert run(place, *line.split(), "--source", TOUR, ok=False).returncode == status, line


RUN = ROOT / "docs/example/tour.assay"


def protocol(**_):
    session = assay.open_session(RUN)
    assert all(isinstance(one, assay.MonitorProtocol) for one in (session, assay.Monitor(), assay.UnavailableMonitor())) and not isinstance(5, assay.MonitorProtocol)
    assert (session.is_imported, session.session_source, session.running) == (True, str(RUN), False) and session.interval > 0
    assert (assay.Monitor().is_imported, assay.Monitor().session_source) == (False, None)


def reader_errors(tmp_path, **_):
    stub = assay.UnavailableMonitor("no driver")
    assert not stub.running and stub.stop() is None
    for ask in (stub.start, lambda: stub.data, lambda: stub.report()):
        with pytest.raises(assay.AssaySourceError, match="no driver"):
            ask()
    (tmp_path / "odd.txt").write_text("nothing that anybody writes\n")
    for path, error, python in (("odd.txt", assay.AssayDataError, ValueError), ("none.assay", assay.AssayFileNotFoundError, FileNotFoundError)):
        with pytest.raises(error) as caught:
            assay.open_session(tmp_path / path).data()
        assert isinstance(caught.value, python) and isinstance(caught.value, assay.AssayError)
    with pytest.raises(assay.AssaySourceError):
        raise assay.AssayError(assay.E_NO_SOURCE, "x")


def nodes_of_a_job(place, tmp_path, **_):
    """Two ranks as srun starts them; the report is of both."""
    for rank in ("0", "1"):
        run(place, "run", "-q", "-o", str(tmp_path / "job") + "/", "--", "sleep", "0.3",
            env={"SLURM_PROCID": rank, "SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_LOCALID": rank, "SLURM_NODEID": rank})
    assert "2 ranks" in run(place, "report", tmp_path / "job").stdout
    for command in ("top", "record"):
        assert "--slurm" in run(place, command, "--help").stdout


def collectors(place, tmp_path, **_):
    run(place, "run", "-q", "-o", tmp_path / "c.assay", "--collect", "queue=echo 12 items", "--", "sleep", "1.2")
    assert set(assay.open_session(tmp_path / "c.assay").columns("user_metrics")["value"]) == {12.0}


def odd_lengths(tmp_path, **_):
    log = assay.RunLog(tmp_path / "log.jsonl")
    for seconds in (math.nan, math.inf, -1, 1e300):
        log.log_phase("p", seconds, step=3)
    log.log_phase("p", 1.5)
    entries = log.entries()
    assert [(e["type"], e.get("event"), e.get("data")) for e in entries[:2]] == [("event", "p", {"seconds": "nan", "step": 3}), ("event", "p", {"seconds": "inf", "step": 3})]
    assert [e["type"] for e in entries] == ["event"] * 4 + ["phase"]


def dmon_without_header(tmp_path, **_):
    lines = (ROOT / "tests/fixtures/nvidia-smi/smi-dmon-mu.txt").read_text().splitlines(True)
    head, rows = [line for line in lines if line.startswith("#")][:2], [line for line in lines if not line.startswith("#")]
    (tmp_path / "none.txt").write_text("".join(rows))
    (tmp_path / "late.txt").write_text("".join(rows[:3] + head + rows[3:]))
    assert math.isnan(assay.build_resource_summary(dmon_csv_path=tmp_path / "none.txt").mem_util_mean_pct)
    assert assay.build_resource_summary(dmon_csv_path=tmp_path / "late.txt").mem_util_max_pct > 0


def odd_columns(tmp_path, **_):
    lines = (ROOT / "tests/fixtures/nvidia-smi/smi-query.csv").read_text().splitlines(True)
    row = lines[-1]
    for bad in ("WARNING: infoROM is corrupted\n", row[: len(row) // 2] + "\n", row.rstrip() + ", 7\n"):
        (tmp_path / "odd.csv").write_text("".join([lines[0], bad, *lines[1:]]))
        (tmp_path / "plain.csv").write_text("".join(lines))
        odd, plain = (assay.build_resource_summary(gpu_csv_path=tmp_path / name).to_dict() for name in ("odd.csv", "plain.csv"))
        assert odd == plain and plain["peak_vram_mb"] is not None


def fields_of_a_backend(gpu, **_):
    monitor = assay.Monitor(interval=0.1, **gpu).start()
    assert {"power", "sm_active", "gpu_temp"} <= set(monitor.fields()) and "no_such" not in monitor.fields()
    monitor.stop()
    assert "power" in assay.open_session(RUN).fields()


CHECKS = {
    "a value that cannot be (441 °C, 25 kW)": impossible, "NVLink in GB/s from DCGM's MB/s": impossible,
    "abbreviated flags (`--hist 3`)": old_flags, "`--history` and `--focus-gpu` with `--export`, `--history` with `--once`": old_flags,
    "a missing counter": missing_counter, "ends of CSV lines": line_ends, "the source without `--backend`": source_without_backend,
    "time between samples": time_between_samples, "`--poll` below what the source has": poll_too_short,
    "a GPU list that names nothing": a_list_that_names_nothing, "captures without a header": without_a_header,
    "captures of another host": another_host, "`:q`": colon_q, "replay": replay, "numbers of cells": cell_numbers,
    "GPU figures of a process, a user, a job": gpu_of_a_process, "GPU tags of a level": gpu_of_a_process, "a cell without a sample": short_cell,
    "I/O columns": io_columns, "the monitor's own I/O": own_io, "`memory` of a level": uss,
    "`perfdata_df` columns of single cores": single_cores, "`--file x.parquet` of `%perfmonitor_export_perfdata`": parquet, "`%assay data`": ours_is_si, "plots": plots,
    "`--pickle` and `--backend` of `%perfmonitor_plot`": plots, "a script of cells": script, "`%wrap_kernel`": wrapped_kernel,
    "`start()` and `stop()` of a session from a file": offline, "`stop_time` of an imported session without one": stop_time,
    "who measures": no_nvidia_smi, "what was not measured": not_measured, "times in `cpu_metrics.csv`": iso_times,
    "`isinstance(monitor, MonitorProtocol)`, `is_imported`, `session_source`": protocol, "the stub's error, errors of readers": reader_errors,
    "collectors in YAML (in a branch of it)": collectors, "nodes of a Slurm job (in a branch of it)": nodes_of_a_job,
    "`log_phase` with NaN, below 0 or above 1e9 seconds": odd_lengths, "`nvidia-smi dmon` files without a header": dmon_without_header,
    "rows of `hw_metrics.csv` with more or fewer than nine columns": odd_columns, "which fields a backend has (`BackendCaps.fields`)": fields_of_a_backend,
    "a folder that is used again": folder_again, "starting one that runs": folder_again, "JAX's peak": jax_is_not_imported,
}


def test_every_difference_has_a_check():
    assert sorted(differences()) == sorted(CHECKS)


@pytest.mark.slow
@pytest.mark.parametrize("check", sorted(set(CHECKS.values()), key=lambda f: f.__name__), ids=lambda f: f.__name__)
def test_what_differs(check, place, tmp_path, gpu, capsys, monkeypatch, python):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    check(place=place, tmp_path=tmp_path, gpu=gpu, capsys=capsys, monkeypatch=monkeypatch, python=python)
