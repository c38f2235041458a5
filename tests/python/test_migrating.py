"""Every row of docs/MIGRATING.md, run: the right side, and the left where it is ours as it stands."""
import contextlib
import http.server
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
            rows = [tuple(CODE.findall(c) for c in cells) for cells in lines[2:]]
            found.append((heading, lines[0][0], rows))
    return found


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
        if ".start(" in right[0]:
            time.sleep(1.2)
    assert names["result"]["cpu_idle_mean_pct"] >= 0
    assert (tmp_path / "copy.jsonl").read_text().count("\n") == 4


def test_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"work": lambda: time.sleep(0.4)}
    for _, right in rows_of("From the notebook monitor", "in Python, as before"):
        for code in right:
            exec(code, names)
    assert len(names["frame"]) > 1
    assert names["session"].cells()[0].source == "work"


@pytest.mark.slow
def test_notebook(tmp_path, gpu):
    """All rows in one notebook, the left spelling and the right, in a real kernel; nothing complains."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    cell = nbformat.v4.new_code_cell
    cells = [cell("%load_ext assay"), cell("%assay start 0.1")]
    cells += [cell("import time\nend = time.time() + 0.5\nwhile time.time() < end: sum(range(999))") for _ in range(6)]
    rows = rows_of("From the notebook monitor", "as before")
    cells += [cell(code) for row in rows for side in row for code in side]
    book = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(book, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    for done in book.cells:
        for output in done.outputs:
            assert output.output_type != "error", f"{done.source}: {output}"
            assert output.get("name") != "stderr", f"{done.source}: {output.get('text')}"
    assert (tmp_path / "old.jpg").read_bytes()[:3] == b"\xff\xd8\xff" == (tmp_path / "new.jpg").read_bytes()[:3]
    assert sys.version_info >= (3, 9) and assay.__version__
