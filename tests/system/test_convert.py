"""Conversions: there and back, what other programs read, and zips from strangers."""
import csv
import io
import json
import os
import sqlite3
import subprocess
import threading
import zipfile

import pytest

from conftest import FIXTURES, ROOT

TOUR = ROOT / "data" / "h200-tour.csv"
SMI = FIXTURES / "nvidia-smi"


@pytest.fixture
def session(assay, tmp_path):
    """A minute of the tour with two phases."""
    path = tmp_path / "tour.assay"
    assay("record", "-q", "--source", TOUR, "--duration", "60", "-o", path)
    db = sqlite3.connect(path)
    start = db.execute("select value from manifest where key = 'start_ns'").fetchone()[0]
    for name, end, seconds in (("first", 20, 10.0), ("second, with a comma", 50, 15.0)):
        db.execute("insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds) values (?, 0, 'h', 1, 'phase', ?, ?)",
                   (start + end * 10**9, name, seconds))
    db.commit()
    db.close()
    return path


def rows(assay, path, columns="all"):
    done = assay("export", columns, "--source", path)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_every_kind_and_back(assay, session, tmp_path):
    """What each kind can hold comes back within the precision it writes."""
    wanted = rows(assay, session)
    kept = {
        "a.csv": {"sm_active_pct": 0.011, "power_w": 0.06, "pcie_rx_bytes_s": 1, "energy_j": 0.11, "mem_used_mib": 0.01},
        "a.jsonl": {"sm_active_pct": 0.011, "power_w": 0.01, "pcie_rx_bytes_s": 1, "energy_j": 0.11, "mem_used_mib": 0.01},
        "a.assay": {"sm_active_pct": 0.011, "power_w": 0.01, "pcie_rx_bytes_s": 1, "energy_j": 0.11, "mem_used_mib": 0.01},
        "a.txt": {"sm_active_pct": 0.051, "power_w": 0.01, "pcie_rx_bytes_s": 1, "energy_j": 0.11, "mem_used_mib": 1},
        "a.zip": {"gpu_util_pct": 0.011, "memcpy_util_pct": 0.011, "mem_used_mib": 0.01},
    }
    for name, columns in kept.items():
        done = assay("convert", session, tmp_path / name)
        assert (done.returncode, done.stderr) == (0, ""), (name, done.stderr)
        got = rows(assay, tmp_path / name)
        assert len(got) == len(wanted), name
        for a, b in zip(wanted, got):
            for column, close in columns.items():
                assert float(b[column]) == pytest.approx(float(a[column]), abs=close), (name, column)


def test_a_hardware_monitor_folder_and_back(assay, session, tmp_path):
    assert assay("convert", session, tmp_path / "hw", "--to", "hardware-monitor").returncode == 0
    assert sorted(p.name for p in (tmp_path / "hw").iterdir()) == ["hw_dmon.csv", "hw_metrics.csv"]
    lines = (tmp_path / "hw" / "hw_metrics.csv").read_text().splitlines()
    assert all(len(line.split(", ")) == 9 for line in lines)
    one, two = (json.loads(assay("report", p, "--format", "resource-summary").stdout) for p in (session, tmp_path / "hw"))
    assert one.keys() == two.keys()
    for key in one:
        assert two[key] == pytest.approx(one[key], abs=0.6), key


def test_cpu_figures_come_along(assay, tmp_path):
    place = tmp_path / "in"
    place.mkdir()
    (place / "hw_metrics.csv").write_text((SMI / "smi-query.csv").read_text())
    (place / "cpu_metrics.csv").write_text("timestamp,usr_pct,idle_pct\n2026/11/15 07:26:18.010,12.5,80.0\n2026-11-15T07:26:19.5,14.5,79.0\n")
    assert assay("convert", place, tmp_path / "x.assay").returncode == 0
    assert assay("convert", tmp_path / "x.assay", tmp_path / "out", "--to", "hardware-monitor").returncode == 0
    assert (tmp_path / "out" / "cpu_metrics.csv").read_text().splitlines()[1:] == ["2026-11-15T07:26:18.010+00:00,12.5,80.0", "2026-11-15T07:26:19.500+00:00,14.5,79.0"]
    one, two, three = (json.loads(assay("report", p, "--format", "resource-summary").stdout) for p in (place, tmp_path / "x.assay", tmp_path / "out"))
    assert one == two == three and one["cpu_usr_mean_pct"] == 13.5


def test_phases_and_facts_come_along(assay, session, tmp_path):
    assert assay("convert", session, tmp_path / "b.assay").returncode == 0
    ask = "select name, round(start_time, 3), round(end_time, 3) from phases"
    with sqlite3.connect(session) as a, sqlite3.connect(tmp_path / "b.assay") as b:
        assert a.execute(ask).fetchall() == b.execute(ask).fetchall()
        facts = dict(b.execute("select * from manifest"))
    assert facts["backend"] == "replay" and facts["converted_from"] == str(session)


def test_nothing_is_overwritten(assay, session, tmp_path):
    for name in ("a.csv", "a.assay", "a.zip"):
        (tmp_path / name).write_text("mine")
        assert assay("convert", session, tmp_path / name).returncode == 1
        assert (tmp_path / name).read_text() == "mine"


def test_standard_output(assay, session):
    done = assay("convert", session, "-", "--to", "csv")
    assert done.returncode == 0 and done.stdout.startswith("timestamp,gpu_id,")


@pytest.mark.parametrize("words, status", [([], 2), (["a"], 2), (["a", "b"], 2), (["no-such", "x.csv"], 3), (["/etc", "x.csv"], 1)])
def test_usage(assay, tmp_path, words, status):
    done = assay("convert", *words)
    assert done.returncode == status and done.stderr.count("\n") >= 2


# ---- notebook sessions ----

PERF = ["time", "memory", "io_read_count", "io_write_count", "io_read", "io_write", "cpu_util_avg", "cpu_util_min", "cpu_util_max"]
GPU = [f"gpu_{what}_{kind}" for what in ("util", "band", "mem") for kind in ("avg", "min", "max")]


def test_pandas_reads_what_convert_writes(assay, session, tmp_path):
    pandas = pytest.importorskip("pandas")
    assert assay("convert", session, tmp_path / "nb", "--to", "notebook").returncode == 0
    manifest = json.loads((tmp_path / "nb" / "manifest.json").read_text())
    assert manifest["version"] == "1.0" and manifest["levels"] == ["system"] and manifest["time_origin"] == "perf_counter"
    assert set(manifest["monitor"]) == {"interval", "start_time", "stop_time", "wallclock_start_time", "wallclock_stop_time", "num_cpus",
                                        "num_system_cpus", "num_gpus", "gpu_memory", "gpu_name", "memory_limits", "cpu_handles", "pid", "uid",
                                        "slurm_job", "os", "python"}
    perf = pandas.read_csv(tmp_path / "nb" / "perf_system.csv")
    assert list(perf.columns) == PERF + GPU + ["gpu_util_0", "gpu_band_0", "gpu_mem_0", "cell_index"]
    assert list(perf.columns) == manifest["schemas"]["perf"]["system"]
    assert perf.gpu_util_0.max() == 100 and 10 < perf.gpu_mem_0.max() < 30 and perf.memory.isna().all()
    cells = pandas.read_csv(tmp_path / "nb" / "cell_history.csv")
    assert list(cells.columns) == manifest["schemas"]["cell_history"]
    assert list(cells.raw_cell) == ["first", "second, with a comma"] and list(cells.duration) == [10.0, 15.0]
    inside = perf[(perf.time > cells.start_time[0]) & (perf.time < cells.end_time[0])]
    assert set(inside.cell_index) == {0.0}


@pytest.fixture
def notebook(tmp_path):
    """A session as the monitor itself writes one: two GPUs, three levels, a cell with line ends and quotes."""
    place = tmp_path / "nb-in"
    place.mkdir()
    columns = PERF[:6] + ["cpu_util_avg", "cpu_util_min", "cpu_util_max", "cpu_util_0", "cpu_util_1"] + GPU
    columns += [f"gpu_{what}_{i}" for i in range(2) for what in ("util", "band", "mem")] + ["cell_index"]
    for level in ("process", "user", "system"):
        out = io.StringIO()
        write = csv.writer(out, lineterminator="\n")
        write.writerow(columns)
        for t in range(10):
            write.writerow([1000.5 + t, 1.25, 1, 2, 3, 4, 50.0, 10.0, 90.0, 10.0, 90.0, *[20, 10, 30] * 3,
                            10 + t, 5, 1.5, 30 + t, 6, 2.5, 0 if t < 5 else ""])
        (place / f"perf_{level}.csv").write_text(out.getvalue())
    (place / "cell_history.csv").write_text(
        "cell_index,raw_cell,start_time,end_time,duration,wallclock_start_time,wallclock_end_time\n"
        '0,"import torch\nprint(""hi, there"")",1000.0,1004.5,4.5,1.0,2.0\n1,train(),1005.0,1009.0,4.0,3.0,4.0\n')
    (place / "manifest.json").write_text(json.dumps({
        "version": "1.0", "app": {"name": "JUmPER", "version": "1"}, "levels": ["process", "user", "system"],
        "monitor": {"interval": 1.0, "start_time": 1000.0, "stop_time": 1010.0, "wallclock_start_time": 1794726548.5, "num_gpus": 2,
                    "gpu_memory": 79.6, "gpu_name": "NVIDIA H100 80GB HBM3"}, "time_origin": "perf_counter", "timezone": "UTC"}))
    return place


def as_zip(folder, path, prefix=""):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for f in sorted(folder.iterdir()):
            z.write(f, prefix + f.name)
    return path


@pytest.mark.parametrize("kind", ["folder", "zip", "zip in a folder"])
def test_a_notebook_session_is_a_source(assay, notebook, tmp_path, kind):
    source = notebook if kind == "folder" else as_zip(notebook, tmp_path / "nb.zip", "" if kind == "zip" else "session-1/")
    got = rows(assay, source)
    assert len(got) == 20 and got[0]["model"] == "H100"
    assert (got[0]["timestamp"], got[0]["gpu_util_pct"], got[1]["gpu_util_pct"]) == ("1794726549.00", "10.00", "30.00")
    assert float(got[1]["mem_used_mib"]) == pytest.approx(2.5 * 1024) and float(got[0]["mem_total_mib"]) == pytest.approx(79.6 * 1024, abs=0.1)
    report = json.loads(assay("report", source, "--format", "json").stdout)
    assert [(p["name"], p["seconds"]) for p in report["phases"]] == [("cell 0", 4.5), ("train()", 4.0)]


def test_there_and_back_without_loss(assay, notebook, tmp_path):
    """Folder → session → zip: the same bytes, levels we have no use for included."""
    assert assay("convert", notebook, tmp_path / "x.assay").returncode == 0
    assert assay("convert", tmp_path / "x.assay", tmp_path / "out.zip").returncode == 0
    with zipfile.ZipFile(tmp_path / "out.zip") as z:
        assert z.testzip() is None
        assert {n: z.read(n) for n in z.namelist()} == {f.name: f.read_bytes() for f in notebook.iterdir()}


def bad_zip(path, name, data=b"x", link=False):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_DEFLATED
        if link:
            info.create_system, info.external_attr = 3, 0o120777 << 16
        z.writestr(info, data)
        z.writestr("manifest.json", "{}")
    return path


@pytest.mark.parametrize("name, link, words", [
    ("../../evil.csv", False, "leads out of it"), ("/etc/cron.d/evil", False, "leads out of it"), ("a/../../b", False, "leads out of it"),
    ("perf_system.csv", True, "leads out of it"), ("fine.txt", False, "not a notebook monitor's session"),
])
def test_a_malicious_zip_is_refused(assay, tmp_path, name, link, words):
    done = assay("once", "--source", bad_zip(tmp_path / "bad.zip", name, link=link))
    assert done.returncode in (1, 3) and words in done.stderr and (words[:5] != "leads" or f"the zip names '{name}', which" in done.stderr)
    assert [p.name for p in tmp_path.iterdir()] == ["bad.zip"]


def test_a_bomb_is_refused(program, tmp_path):
    """600 MiB of zeros in some hundred kilobytes; read with little memory."""
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as z:
        with z.open("perf_system.csv", "w", force_zip64=True) as f:
            for _ in range(300):
                f.write(b"0" * (1 << 20))
        z.writestr("manifest.json", "{}")
    done = subprocess.run([program, "once", "--source", str(tmp_path / "bomb.zip")], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in (1, 3) and "larger than" in done.stderr


def test_damaged_zips(assay, notebook, tmp_path):
    good = as_zip(notebook, tmp_path / "g.zip").read_bytes()
    for cut in range(5, len(good), max(1, len(good) // 40)):
        (tmp_path / "x.zip").write_bytes(good[:cut])
        assert assay("once", "--source", tmp_path / "x.zip").returncode in (0, 1, 3)


def send_rest(fd, text):
    with os.fdopen(fd, "wb") as rest:
        rest.write(text)


@pytest.mark.parametrize("words", [("report", TOUR), ("convert", "--to", "csv", TOUR, "-")])
def test_a_pipe_is_read_from_its_first_byte(assay, program, words):
    """As bash's <(zcat capture.gz) gives it: a look at what is there already must not take it away."""
    wanted = assay(*words).stdout
    read, write = os.pipe()
    text = TOUR.read_bytes()
    os.write(write, text[:4096])
    with subprocess.Popen([program, *("/dev/stdin" if w == TOUR else w for w in words)], stdin=read,
                          stdout=subprocess.PIPE) as p:
        os.close(read)
        writer = threading.Thread(target=send_rest, args=(write, text[4096:]))
        writer.start()
        same = p.stdout.read().decode().replace("/dev/stdin", str(TOUR)) == wanted
        writer.join()
        assert same


@pytest.mark.parametrize("over", ["", "run.assay"])
def test_gpus_of_a_monitor_with_cpus_come_into_a_notebook(assay, tmp_path, over):
    """Its CPU file tells nothing of GPUs: then the frames do."""
    folder = tmp_path / "hw"
    folder.mkdir()
    lines = [f"2026/11/15 12:01:4{i}.000, {50 + i}, 0, 4096, 80000, 200.00, 40, 1000, 2000" for i in range(6)]
    (folder / "hw_metrics.csv").write_text("\n".join(lines) + "\n")
    stamps = [f"{1794744100 + i}.000,50.0,40.0" for i in range(6)]
    (folder / "cpu_metrics.csv").write_text("timestamp,usr_pct,idle_pct\n" + "\n".join(stamps) + "\n")
    source = folder
    if over:
        source = tmp_path / over
        assert assay("convert", folder, source).returncode == 0
    assert assay("convert", source, tmp_path / "nb.zip").returncode == 0
    with zipfile.ZipFile(tmp_path / "nb.zip") as z:
        read = list(csv.DictReader(io.StringIO(z.read("perf_system.csv").decode())))
    assert [r["gpu_util_0"] for r in read] == ["50", "51", "52", "53", "54", "55"]
