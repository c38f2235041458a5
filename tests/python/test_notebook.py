"""The notebook commands in a real Jupyter kernel, and what they leave in the cells."""
import csv
import importlib.util
import io
import json
import os
import re
import struct
import threading
import time
import xml.etree.ElementTree as xml
import zipfile
import zlib
from pathlib import Path

import pytest

import assay
from assay.notebook import Notebook as Book
from assay.show import findings_of

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytestmark = pytest.mark.slow

WORK = "import time\nend = time.time() + {}\nwhile time.time() < end: sum(range(999))"


class Notebook:
    """Runs cells in one kernel; `[i]` gives the outputs of a cell."""

    def __init__(self, folder, sources, env=None):
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        self.book = nbformat.v4.new_notebook(cells=cells)
        client = nbclient.NotebookClient(self.book, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
        client.execute()
        self.folder = folder

    def outputs(self, i):
        return self.book.cells[i].outputs

    def text(self, i, name="stdout"):
        return "".join(o["text"] for o in self.outputs(i) if o.output_type == "stream" and o["name"] == name)

    def data(self, i, kind):
        return ["".join(o["data"][kind]) for o in self.outputs(i) if "data" in o and kind in o["data"]]

    def complaints(self):
        return [self.text(i, "stderr") for i in range(len(self.book.cells)) if self.text(i, "stderr")]


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """One notebook that uses most commands; tests look at its cells."""
    folder = tmp_path_factory.mktemp("notebook")
    return Notebook(folder, [
        "%load_ext assay",                                   # not a cell of ours yet
        "%assay start 0.1",                                  # In [2]
        WORK.format(1.0),                                    # In [3]
        "time.sleep(0.6)  # <idle>",                         # In [4]
        "%assay report --cell 3 --text",                     # In [5]
        "%perfmonitor_perfreport --cell 3:4 --level system",  # In [6]
        "%assay report",                                     # In [7]
        "%cell_history",                                     # In [8]
        "%assay plot --cell 3:4 --metrics cpu_all,mem",  # In [9]
        "%perfmonitor_plot --metrics cpu_summary --save-jpeg plot.jpg",  # In [10]
        "%assay plot --save plot.png",                       # In [11]
        "%assay resources",                                  # In [12]
        "%perfmonitor_export_perfdata\nperfdata_df.shape[0], list(perfdata_df)[:2]",  # In [13]
        "%assay data perf.csv --level system",               # In [14]
        "%perfmonitor_export_cell_history cells.json",       # In [15]
        "%assay export session.zip",                         # In [16]
        "%assay export session.assay",                       # In [17]
        "%assay stop",                                       # In [18]
        "%assay report --cell 3 --text",                     # In [19]
        "%import_session session.zip",                       # In [20]
        "%assay report --cell 3 --text",                     # In [21]
        "%assay cells",                                      # In [22]
    ])


def test_nothing_complains(book):
    assert not book.complaints()
    assert all(o.output_type != "error" for c in book.book.cells for o in c.outputs)


def figures(text):
    """{name: (avg, min, max, total)} of a report."""
    return {m[1].strip(): m[2].split() for m in re.finditer(r"^(CPU Util.*?\)|Memory \(GB\)|GPU.*?\))\s+(.*)$", text, re.M)}


def test_report(book):
    """The layout that notebooks have: duration and number of cells, the findings, AVG MIN MAX TOTAL."""
    text = book.text(4)
    lines = text.splitlines()
    assert re.fullmatch(r"Duration: 1\.\d\ds \(1 cell: 3\), level process", lines[3]), text
    assert lines[5] == "No GPU was seen: these are the host's figures" and "Signature" not in text, text
    assert "Metric                    AVG      MIN      MAX      TOTAL" in lines
    found = figures(text)
    cpu = next(v for k, v in found.items() if k.startswith("CPU Util"))
    assert float(cpu[0]) > 5 and cpu[3] == "-"
    memory = found["Memory (GB)"]
    assert 0.01 < float(memory[1]) <= float(memory[0]) <= float(memory[2]) < float(memory[3])


def test_report_as_table(book):
    html, = book.data(5, "text/html")
    assert "(2 cells: 3 to 4), level system" in html and "<th" in html and "Memory (GB)" in html
    assert "(1 cell: 4)" in book.data(6, "text/html")[0], "without a range the last cell that did something"


def test_cells(book):
    html, = book.data(7, "text/html")
    assert "time.sleep(0.6)  # &lt;idle&gt;" in html
    assert html.count("<tr>") == 1 + 6, "a head, and the cells that ended"


def test_plot(book):
    """A drawing, with its panels and the cells as bands."""
    svg, = book.data(8, "image/svg+xml")
    tree = xml.fromstring(svg)
    assert tree.tag.endswith("svg") and len(list(tree.iter())) > 30


def png_pixels(path):
    """(width, height, distinct bytes) of a PNG, decoded."""
    raw = path.read_bytes()
    assert raw[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", raw[16:24])
    body, at = b"", 8
    while at < len(raw):
        size, kind = struct.unpack(">I4s", raw[at:at + 8])
        body += raw[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    pixels = zlib.decompress(body)
    assert len(pixels) >= width * height
    return width, height, len(set(pixels))


def test_pictures(book):
    assert book.text(9) == "assay: wrote plot.jpg\n"
    raw = (book.folder / "plot.jpg").read_bytes()
    assert raw[:3] == b"\xff\xd8\xff" and raw[-2:] == b"\xff\xd9"
    image = pytest.importorskip("PIL.Image").open(book.folder / "plot.jpg")
    assert image.format == "JPEG" and image.width > 300 and len(image.getcolors(1 << 20)) > 10
    width, height, colours = png_pixels(book.folder / "plot.png")
    assert width > 300 and height > 100 and colours > 10


def test_resources(book):
    import os
    text = book.text(11)
    assert f"CPUs: {len(os.sched_getaffinity(0))}" in text and "Memory: " in text and "GPUs: 0" in text


def test_data(book):
    assert "assay: the data frame is perfdata_df" in book.text(12)
    rows, names = eval(book.data(12, "text/plain")[0])
    assert rows > 10 and names == ["time", "memory"]
    table = list(csv.DictReader((book.folder / "perf.csv").open()))
    assert len(table) >= rows - 1 and any(float(r["cpu_share"] or 0) > 0 for r in table) and "cores.0" in table[0]
    assert float(table[0]["time"]) > 1e9 and float(table[0]["mem_total"]) > 1e8, "seconds since 1970, bytes"
    cells = json.loads((book.folder / "cells.json").read_text())
    assert [c["cell_index"] for c in cells] == list(range(2, 15)), "the numbers of the notebook"
    assert cells[1]["raw_cell"] == WORK.format(1.0) and 1.0 <= cells[1]["duration"] < 3
    assert list(cells[0]) == ["cell_index", "raw_cell", "start_time", "end_time", "duration", "wallclock_start_time",
                              "wallclock_end_time"]


def test_session_for_notebook_monitors(book):
    """The zip has the cells as they were typed, and their numbers beside the samples."""
    with zipfile.ZipFile(book.folder / "session.zip") as archive:
        assert {"manifest.json", "perf_process.csv", "perf_system.csv", "cell_history.csv"} <= set(archive.namelist())
        cells = list(csv.DictReader(io.TextIOWrapper(archive.open("cell_history.csv"), newline="")))
        perf = list(csv.DictReader(io.TextIOWrapper(archive.open("perf_process.csv"))))
        manifest = json.loads(archive.read("manifest.json"))
    assert [int(c["cell_index"]) for c in cells][:4] == [2, 3, 4, 5]
    assert cells[1]["raw_cell"] == WORK.format(1.0)
    inside = [r for r in perf if r["cell_index"] == "3"]
    assert 5 <= len(inside) <= 15
    assert manifest["monitor"]["num_cpus"] >= 1 and manifest["version"] == "1.0"


def test_session_of_ours(book):
    session = assay.open_session(book.folder / "session.assay")
    assert [c.index for c in session.cells()][:3] == [2, 3, 4]
    assert session.cells()[1].source == WORK.format(1.0)


def test_after_stop_and_import(book):
    """The report of a cell is the same while measuring, afterwards, and from the file that was exported."""
    assert re.search(r"stopped after \d+ samples, \d+ missed", book.text(17))
    live, stopped, imported = figures(book.text(4)), figures(book.text(18)), figures(book.text(20))
    assert live == stopped
    for name, values in live.items():
        assert [float(v) for v in imported[name][:3]] == pytest.approx([float(v) for v in values[:3]], abs=0.02)
    assert "cells" in book.text(19)
    assert "&lt;idle&gt;" in book.data(21, "text/html")[0]


def test_automatic_reports(tmp_path):
    book = Notebook(tmp_path, ["%load_ext assay", "%perfmonitor_enable_perfreports --interval 0.1 --text", WORK.format(0.5), "x = 1",
                               "%assay help", "%perfmonitor_disable_perfreports", WORK.format(0.4), "%assay auto on", WORK.format(0.4)])
    assert not book.complaints()
    assert "Performance Report" in book.text(2) and "(1 cell: 3)" in book.text(2)
    assert not book.outputs(3), "a cell too short to be measured has no report"
    assert "Performance Report" not in book.text(4)
    assert not book.outputs(6)
    assert "(1 cell: 9)" in book.data(8, "text/html")[0]


def test_live(tmp_path):
    """The plot changes in place; other cells stay clean; it ends with the monitor."""
    book = Notebook(tmp_path, ["%load_ext assay", "%assay start 0.1", "%assay plot --live 0.3 60", WORK.format(1.5),
                               "import threading; [t.name for t in threading.enumerate() if t.name == 'assay-live']",
                               "%assay plot --live 0.3", "%assay stop",
                               "[t.name for t in threading.enumerate() if t.name == 'assay-live']"])
    assert not book.complaints()
    assert not book.outputs(3)
    assert book.data(2, "image/svg+xml"), "what was shown first has become a drawing"
    assert len(book.outputs(2)) == 1
    assert book.data(4, "text/plain") == ["['assay-live']"]
    assert book.data(7, "text/plain") == ["[]"], "the thread ended with the monitor"


def test_live_does_not_outlive_the_kernel(tmp_path, scratch):
    start = time.monotonic()
    Notebook(tmp_path, ["%load_ext assay", "%assay start 0.1", "%assay plot --live 0.2 10", "import time; time.sleep(1)"])
    assert time.monotonic() - start < 30
    assert not [p.name for p in scratch.iterdir() if p.name.startswith("assay")]


def test_a_kernel_that_is_interrupted_and_restarted(tmp_path, scratch):
    """An interrupt ends the cell, not the monitor; a restart leaves nothing behind, and measuring begins anew."""
    manager, client = pytest.importorskip("jupyter_client.manager").start_new_kernel(kernel_name="python3", cwd=str(tmp_path))

    def run(code):
        told = []
        client.execute_interactive(code, timeout=60, output_hook=lambda m: told.append(m["content"]))
        return "".join(c.get("text", c.get("ename", "")) for c in told)

    def insist(code):
        """A kernel drops what comes in the moment after an error."""
        return next(filter(None, (run(code) for _ in range(20))), "")

    try:
        assert "measuring every 0.1 s" in run("%load_ext assay\n%assay start 0.1")
        threading.Timer(1, manager.interrupt_kernel).start()
        assert "KeyboardInterrupt" in run("while True: sum(range(999))")
        assert "level process" in insist("%assay report --cell 2 --text")
        assert [p for p in scratch.iterdir() if p.name.startswith("assay")]
        manager.restart_kernel()
        client.wait_for_ready(timeout=60)
        assert not [p for p in scratch.iterdir() if p.name.startswith("assay")]
        assert "measuring every 0.1 s" in run("%load_ext assay\n%assay start 0.1")
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
    assert not [p for p in scratch.iterdir() if p.name.startswith("assay")]


@pytest.mark.parametrize("line, says", [
    ("%assay fly", "there is no command 'fly'"),
    ("%assay report", "nothing has been measured"),
    ("%assay plot", "nothing has been measured"),
    ("%assay plot --live", "nothing is being measured"),
    ("%assay plot --live 1 2 3", "--live takes an interval and a window"),
    ("%assay plot --live nan", "--live takes an interval and a window"),
    ("%assay plot --live 1e400 5", "--live takes an interval and a window"),
    ("%assay report\t--cell 1", "nothing has been measured"),
    ("%assay load-data empty.csv", "cannot read 'empty.csv'"),
    ("%assay load-data empty.json", "cannot read 'empty.json'"),
    ("%assay load-history picture.csv", "cannot read 'picture.csv'"),
    ("%assay start fast", "invalid float value: 'fast'"),
    ("%assay start -1", "-1"),
    ("%assay report --level moon", "invalid choice: 'moon'"),
    ("%assay import /nowhere.zip", "/nowhere.zip"),
    ("%assay import", "which session?"),
    ("%end_write_script", "no script was started"),
    ("%wrap_kernel no_such", "there is no kernel 'no_such'"),
    ("%assay plot --metrics gpu_al", "nothing has been measured"),
    ("%assay history /nowhere/x.csv", "/nowhere/x.csv"),
    ("%assay report 'x", "close the quotation"),
    ("%perfmonitor_perfreport --cell x", "nothing has been measured"),
])
def test_complaints(shell, capsys, line, says):
    """One or two lines, no traceback, and the notebook goes on."""
    shell.kernel = object()
    for name, data in (("empty.csv", b""), ("empty.json", b""), ("picture.csv", b"\x89PNG\r\n\xff")):
        Path(name).write_bytes(data)
    shell.run_cell(line)
    told = capsys.readouterr()
    assert says in told.err and "Traceback" not in told.err + told.out
    assert told.err.startswith("assay: ")


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """IPython as in a terminal, in this process."""
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.chdir(tmp_path)
    interactive.InteractiveShell.clear_instance()
    made = interactive.InteractiveShell.instance()
    assay.load_ipython_extension(made)
    yield made
    assay.unload_ipython_extension(made)
    interactive.InteractiveShell.clear_instance()


def test_in_a_terminal(shell, capsys):
    shell.run_cell("%assay start 0.1")
    shell.run_cell(WORK.format(0.5))
    shell.run_cell("%assay report")
    shell.run_cell("%assay cells")
    shell.run_cell("%assay plot")
    told = capsys.readouterr()
    assert "assay Performance Report" in told.out and "seconds  source" in told.out
    assert "a terminal cannot show pictures" in told.err
    shell.run_cell("%assay report --cell 70")
    assert "no cell is in '70'" in capsys.readouterr().err
    shell.run_cell("%assay start")
    assert "measuring already" in capsys.readouterr().out
    shell.run_cell("%assay stop")
    shell.run_cell("x = 1")
    capsys.readouterr()
    shell.run_cell("%assay report")
    told = capsys.readouterr()
    assert "(1 cell: 2)" in told.out and not told.err, "the last cell that was measured"
    shell.run_cell("%assay report --cell -2")
    assert "there is no sample of cell 9" in capsys.readouterr().err


def test_a_run_is_imported_and_measuring_goes_on(shell, capsys, tmp_path):
    """A session of `assay run` has no cells: its report is the run's. Files say what they are, or are not written."""
    session = Path(assay.__file__).parents[2] / "tests" / "truth" / "resnet.assay"
    shell.run_cell("%assay start 0.1")
    shell.run_cell(f"%assay import {session}")
    assert "a run without cells" in capsys.readouterr().out
    shell.run_cell("%assay report")
    told = capsys.readouterr()
    assert told.out.strip() == assay.open_session(session).report().strip() and not told.err
    for line, says in (("%assay export out.xlsx", "a session cannot be written as '.xlsx'"),
                       ("%assay data out.feather", "a table cannot be written as '.feather'"), ("%assay history out.parquet", "Parquet needs pyarrow or fastparquet")):
        if "history" in line and importlib.util.find_spec("pyarrow"):
            continue
        shell.run_cell(line)
        assert says in capsys.readouterr().err and not list(tmp_path.glob("out*"))
    shell.run_cell("%assay export gpus.parquet")
    assert Path("gpus.parquet").read_bytes()[-4:] == b"PAR1"
    shell.run_cell("%assay export run-1.5")
    assert Path("run-1.5").is_dir() and not capsys.readouterr().err
    shell.run_cell("%assay start 0.2")
    assert "measuring every 0.2 s" in capsys.readouterr().out
    shell.run_cell("%assay start 0.5")
    assert "measuring already, every 0.2 s; %assay stop ends that" in capsys.readouterr().out
    shell.run_cell(WORK.format(0.6))
    shell.run_cell("%assay report")
    assert "No GPU was seen" in (told := capsys.readouterr().out) and "Signature" not in told
    shell.run_cell("%perfmonitor_perfreport")
    assert "Signature(s):" in capsys.readouterr().out


def test_findings_of_cells():
    """All of them, numbered, with what to try."""
    path = Path(assay.__file__).parents[2] / "tests" / "truth" / "train_pipeline.assay"
    session = assay.open_session(path if path.exists() else sorted(path.parent.glob("*.assay"))[0])
    told = json.loads(session.report("json"))
    lines = findings_of(told, 1)
    texts = [f["text"] for f in told["findings"]]
    assert texts and [line for line in lines if "try: " not in line] == ([f"{i} {t}" for i, t in enumerate(texts, 1)] if len(texts) > 1 else texts)
    assert findings_of({"findings": []}, 1) == ["No problems found"]


def test_cells_inside_cells(shell, capsys):
    """%run of a notebook, or a program that runs cells: they are part of the cell that runs them."""
    shell.run_cell("%assay start 0.1")
    shell.run_cell("get_ipython().run_cell('y = 1'); get_ipython().run_cell(' '); get_ipython().run_cell('import time; time.sleep(0.3)')")
    shell.run_cell("z = 1")
    shell.run_cell("%assay stop")
    book = shell.magics_manager.registry["AssayMagics"].book
    assert [c.source for c in book.cells()][2] == "z = 1"
    assert [(c.index, c.duration > 0.25) for c in book.recording.cells()][:3] == [(1, False), (2, True), (3, False)]
    assert not [p for p in book.recording.phases() if p["open"]]


def test_every_older_spelling(shell):
    """The names of docs/MIGRATING.md and of the notebooks that people have."""
    magics = shell.magics_manager.magics["line"]
    for name in ("perfmonitor_fast_setup perfmonitor_help perfmonitor_resources perfmonitor_start perfmonitor_stop perfmonitor_perfreport "
                 "perfmonitor_plot cell_history perfmonitor_enable_perfreports perfmonitor_disable_perfreports "
                 "perfmonitor_export_perfdata perfmonitor_export_cell_history export_session import_session start_write_script end_write_script "
                 "list_kernels wrap_kernel assay").split():
        assert name in magics, name


def test_a_script_of_cells(shell, capsys, tmp_path, python):
    """The cells between the commands as a program that runs, each a phase; what only a notebook understands is not run."""
    for cell in ("%assay start 0.1", "%start_write_script out/job.py", "x = 1\nif x:\n    %time y = 2\ntext = '''a\n  b'''",
                 "%%bash\necho no", "files = !ls", "assert text == 'a\\n  b'\nprint('ran', x)", "%end_write_script", "%assay stop"):
        shell.run_cell(cell)
    told = capsys.readouterr()
    assert "the next cells go to out/job.py" in told.out and "wrote out/job.py" in told.out, told
    assert "x" not in shell.user_ns and "files" not in shell.user_ns and "ran 1" not in told.out, "the cells are kept, not run"
    assert told.out.count("kept for out/job.py, not run") == 4
    shell.run_cell("x = 'runs again'")
    assert shell.user_ns["x"] == "runs again"
    text = (tmp_path / "out/job.py").read_text()
    assert "interval=0.1" in text and "write_script" not in text and "# files = !ls" in text and "# echo no" in text
    done = python("import runpy, sys; runpy.run_path(sys.argv[1])", "out/job.py")
    assert done.returncode == 0 and "ran 1" in done.stdout, done.stderr
    session = assay.open_session(tmp_path / "out/job.assay")
    assert [p["name"] for p in session.phases()] == ["cell 3", "cell 4", "cell 5", "cell 6"]
    shell.run_cell("%start_write_script")
    shell.run_cell("%end_write_script")
    assert "no cell has come" in capsys.readouterr().err


def test_a_kernel_that_is_recorded(tmp_path, monkeypatch):
    """The wrapper kernel's way: a kernel of any language under `assay run`, chosen in the menu."""
    manager = pytest.importorskip("jupyter_client.manager")
    from assay import kernels

    from .conftest import BUILD
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("PATH", f"{BUILD}:{os.environ['PATH']}")
    assert "python3" in [name for name, _, _ in kernels.listed()]
    assert kernels.wrap("python3") == "assay-python3" and kernels.wrap("python3", "mine") == "mine"
    with pytest.raises(assay.AssayError):
        kernels.wrap("mine")
    (tmp_path / "work").mkdir()
    kernel, client = manager.start_new_kernel(kernel_name="assay-python3", cwd=str(tmp_path / "work"))
    told = []
    client.execute_interactive("print(6 * 7)", timeout=60, output_hook=lambda m: told.append(m["content"].get("text", "")))
    client.execute_interactive("import time; time.sleep(1.5)", timeout=60, output_hook=lambda m: None)
    client.shutdown()
    client.stop_channels()
    kernel.finish_shutdown()
    kernel.cleanup_resources()  # an open socket keeps the interpreter from ending
    assert "42\n" in told
    found = list((tmp_path / "work").glob("*.assay"))
    assert len(found) == 1 and "python" in " ".join(assay.open_session(found[0]).describe()["command"])


def test_a_cell_magic(shell, capsys):
    """%%assay measures its cell and reports on it; lines keep their numbers; a second one goes on measuring."""
    shell.run_cell("%%assay --text\n" + WORK.format(0.6))
    told = capsys.readouterr()
    assert "assay Performance Report" in told.out and "(1 cell: 1), level process" in told.out and not told.err
    shell.run_cell("y = 1")
    assert "Performance" not in capsys.readouterr().out, "only the cell that asks"
    shell.run_cell("%%assay 5 --level system --text\nz = 1\nraise KeyError(z)")
    told = capsys.readouterr()
    assert "level system" in told.out and re.search(r"line 3|----> 3 ", told.out + told.err), told
    shell.run_cell("%%assay --bogus\nran = 1")
    assert "unrecognized arguments: --bogus" in capsys.readouterr().err and shell.user_ns["ran"] == 1
    shell.run_cell("get_ipython().run_cell_magic('assay', '--text', 'import time; time.sleep(.3)')")
    assert "Performance Report" in capsys.readouterr().out
    assert "assay" in shell.magics_manager.magics["cell"]


def test_plots_are_the_charts_of_the_page(gpu):
    """What has a chart on the page is interactive, what has none a drawing; a range of cells is a range there too."""
    book = Book()
    book.start(0.1, **gpu)
    for number in (1, 2):
        book.begin_cell(f"cell {number}", number)
        time.sleep(0.6)
        book.end_cell()
    whole, cell, some = book.charts(), book.charts("2"), book.charts(metrics="gpu_util_summary,power")
    ids = [set(re.findall(r'data-m=(\w+)', made)) for made in (whole, cell, some)]
    assert {"gpu_util", "power", "sm_active"} <= ids[0] == ids[1] and ids[2] == {"strips", "gpu_util", "power"}
    assert "<h2>Findings" not in whole and "<script" in whole and "<iframe" in whole._repr_html_()
    assert book.charts(metrics="cpu_all") is None and book.charts(metrics="io_read_count") is None
    book.stop()
    book.drop()
