"""Sessions as users meet them: recorded, killed, read by sqlite3 and pandas."""
import concurrent.futures
import contextlib
import csv
import io
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

from conftest import FIXTURES, ROOT, tried

TOUR = ROOT / "data" / "h200-tour.csv"
DMON = FIXTURES / "tour" / "h200-tour.dmon.txt"


@pytest.fixture(scope="module")
def tour(program, tmp_path_factory):
    """The tour as a session."""
    path = tmp_path_factory.mktemp("tour") / "tour.assay"
    subprocess.run([program, "record", "--quiet", "--source", str(TOUR), "-o", str(path)], check=True)
    return path


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_session_replays_as_its_capture_does(assay, tour):
    """Every number within the step it is stored in; times and words exactly."""
    one, two = rows(assay("export", "full", "--source", TOUR).stdout), rows(assay("export", "full", "--source", tour).stdout)
    assert len(one) == len(two) == 1180
    for a, b in zip(one, two):
        for key in a:
            if a[key] == b[key] or key == "status":
                continue
            assert float(b[key]) == pytest.approx(float(a[key]), abs=0.011), (key, a["timestamp"])
    same = sum(a["status"] == b["status"] for a, b in zip(one, two))
    assert same >= 1178  # a value on a threshold may fall to the other side


def test_once_at_a_moment(assay, tour):
    shown = assay("once", "--source", tour, "--at", "40", "--json").stdout
    assert '"source":"assay CSV"' in shown and '"time":1794726588' in shown


def test_a_closed_session_is_one_plain_file(tour):
    assert [p.name for p in tour.parent.iterdir()] == ["tour.assay"]
    with sqlite3.connect(tour) as db:
        assert db.execute("pragma journal_mode").fetchone() == ("delete",)
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)


def test_the_sqlite3_program_reads_the_views(tour):
    ask = "select count(*), round(max(power), 1), max(fb_total) from gpus; select count(distinct metric) from samples where value is not null"
    out = subprocess.run(["sqlite3", str(tour), ask], capture_output=True, text=True, check=True).stdout.split()
    assert out == ["1180|706.5|150754820096.0", "33"]


def test_pandas_reads_si_units(tour, assay):
    pandas = pytest.importorskip("pandas")
    with sqlite3.connect(tour) as db:
        table = pandas.read_sql("select time, gpu, sm_active, power, sm_clock, fb_used, pcie_rx from gpus order by tick", db)
        words = pandas.read_sql("select workload, count(*) n from verdicts group by 1", db)
    plain = rows(assay("export", "all", "--source", TOUR).stdout)
    assert table.time.iloc[0] == pytest.approx(1794726548.14, abs=1e-6)
    assert table.sm_active.max() <= 1
    for name, column, factor in (("sm_active", "sm_active_pct", 100), ("power", "power_w", 1), ("sm_clock", "sm_clock_mhz", 1e-6),
                                 ("pcie_rx", "pcie_rx_bytes_s", 1), ("fb_used", "mem_used_mib", 1 / 2**20)):
        assert list(table[name] * factor) == pytest.approx([float(r[column]) for r in plain], abs=0.006), name
    assert words.n.sum() == 1180
    assert "tensor-heavy compute" in set(words.workload)


def test_missing_has_its_reason(assay, tmp_path):
    path = tmp_path / "x.assay"
    assert assay("record", "-q", "--source", FIXTURES / "dcgm" / "dmon-prof-2gpu-c3.txt", "-o", path).returncode == 0
    with sqlite3.connect(path) as db:
        first = dict(db.execute("select metric, missing from samples where tick = 0 and gpu = '0' and value is null"))
    assert first.get("sm_active") == "blank"


def test_bytes_per_value(program, tmp_path):
    """Eight GPUs through the tour, ten times a second."""
    text = TOUR.read_text().splitlines()
    many = [text[0]]
    for line in text[1:]:
        time_, _, rest = line.split(",", 2)
        many += [f"{time_},{gpu},{rest}" for gpu in range(8)]
    (tmp_path / "eight.csv").write_text("\n".join(many) + "\n")
    path = tmp_path / "eight.assay"
    subprocess.run([program, "record", "-q", "--source", str(tmp_path / "eight.csv"), "-o", str(path)], check=True)
    with sqlite3.connect(path) as db:
        values = db.execute("select count(*) from samples where value is not null").fetchone()[0]
    assert values == 8 * 38935
    assert path.stat().st_size / values <= 1.45


def test_bytes_per_value_of_a_day(program, tmp_path):
    """One GPU once a second, with the values of the tour again and again."""
    text = TOUR.read_text().splitlines()
    rows = [line.split(",", 2)[2] for line in text[1:]]
    (tmp_path / "day.csv").write_text("\n".join([text[0], *(f"{1794726548 + t},0,{rows[t % len(rows)]}" for t in range(86400))]) + "\n")
    path = tmp_path / "day.assay"
    subprocess.run([program, "record", "-q", "--source", str(tmp_path / "day.csv"), "-o", str(path)], check=True)
    with sqlite3.connect(path) as db:
        assert db.execute("select count(*), max(id) from tick").fetchone() == (86400, 86399)
        # The view is slow for a day: of one block in twenty.
        found = {t: db.execute("select count(value) from samples where tick = ?", (t,)).fetchone()[0] for t in range(0, 86400, 2400)}
    values = sum(found.values()) / len(found) * 86400
    assert 30 * 86400 < values < 36 * 86400 and path.stat().st_size / values <= 1.6


def test_values_that_come_again_take_little(program, tmp_path):
    """SQL and the program undo each way of packing: in order, by place, with reasons, one value, wide ones."""
    head = "timestamp,gpu_id,power_w,gpu_temp_c,mem_used_mib,sm_active_pct"
    levels = [3, 700, 512.5, 3]
    rows = [f"{1794726548 + t},0,{levels[t // 9 % 4] if t % 50 else ''},{40 + t * 7919 % 61},{(t * 104729) % 130000},{'' if t % 3 else 99.5}" for t in range(300)]
    (tmp_path / "x.csv").write_text("\n".join([head, *rows]) + "\n")
    path = tmp_path / "x.assay"
    subprocess.run([program, "record", "-q", "--source", str(tmp_path / "x.csv"), "-o", str(path)], check=True)
    with sqlite3.connect(path) as db:
        forms = {row[0] for row in db.execute("select width from block where width > 0")}
        assert any(f >= 1024 for f in forms) and any(8 < f < 128 for f in forms) and any(f & 1 for f in forms), forms
        sql = db.execute("select power, gpu_temp, fb_used, sm_active from gpus order by tick").fetchall()
    done = subprocess.run([program, "export", "--format", "jsonl", str(path)], capture_output=True, text=True, check=True)
    told = [json.loads(line)["metrics"] for line in done.stdout.splitlines()]
    assert [tuple(t[m] for m in ("power", "gpu_temp", "fb_used", "sm_active")) for t in told] == sql
    assert [p for p, *_ in sql] == [levels[t // 9 % 4] if t % 50 else None for t in range(300)]


def test_an_existing_file_is_not_overwritten(assay, tour):
    before = tour.read_bytes()
    done = assay("record", "--source", TOUR, "-o", tour)
    assert done.returncode == 1 and "is there already" in done.stderr
    assert tour.read_bytes() == before


@pytest.mark.parametrize("bad, words", [
    (b"SQLite format 3\0" + b"\1" * 4000, "not a session"),
    (b"", "empty"),
])
def test_what_is_no_session_is_refused(assay, tmp_path, bad, words):
    (tmp_path / "x.assay").write_bytes(bad)
    done = assay("once", "--source", tmp_path / "x.assay")
    assert done.returncode != 0 and words in done.stderr


def test_another_database_is_refused(assay, tmp_path):
    with sqlite3.connect(tmp_path / "x.assay") as db:
        db.execute("create table t(a)")
    done = assay("once", "--source", tmp_path / "x.assay")
    assert done.returncode != 0 and "but not a session" in done.stderr


def test_damage_is_survived(assay, tour, tmp_path):
    """A session with any page overwritten is read or refused, and never crashes the reader."""
    good, rng = tour.read_bytes(), random.Random(4)
    for _ in range(40):
        bad = bytearray(good)
        at = rng.randrange(100, len(bad) - 64)
        bad[at:at + 64] = rng.randbytes(64)
        (tmp_path / "x.assay").write_bytes(bad)
        done = assay("export", "--source", tmp_path / "x.assay")
        assert done.returncode in (0, 1, 2, 3), done.stderr
        (tmp_path / "x.assay").unlink()


def test_record_without_gpus_and_for_a_time(assay, tmp_path):
    started = time.monotonic()
    done = assay("record", "--interval", "0.05", "--duration", "0.5", "-o", tmp_path / "x.assay")
    assert done.returncode == 0 and "recording the host only" in done.stderr and "raised" not in done.stderr
    assert 0.4 < time.monotonic() - started < 3
    with sqlite3.connect(tmp_path / "x.assay") as db:
        ticks = db.execute("select count(*), max(elapsed) from ticks").fetchone()
        facts = dict(db.execute("select * from manifest"))
    assert 8 <= ticks[0] <= 12
    assert facts["ticks_taken"] == ticks[0] and facts["interval_s"] == 0.05
    assert facts["stop_ns"] - facts["start_ns"] == pytest.approx(0.5e9, rel=0.6)


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_recording_in_order(program, tmp_path, sig):
    path = tmp_path / "x.assay"
    with subprocess.Popen([program, "record", "--speed", "1", "--source", str(TOUR), "-o", str(path)], stderr=subprocess.PIPE) as p:
        time.sleep(0.7)
        p.send_signal(sig)
        assert p.wait(5) == 0
    assert [f.name for f in tmp_path.iterdir()] == ["x.assay"]
    with sqlite3.connect(path) as db:
        assert db.execute("select count(*) from ticks").fetchone()[0] >= 5


def kill_at(program, folder, after):
    """Records in real time, is killed after so long; gives how many seconds of it are missing."""
    path = folder / f"k{after:.4f}.assay"
    with subprocess.Popen([program, "record", "-q", "--speed", "1", "--source", str(TOUR), "-o", str(path)]) as p:
        time.sleep(after)
        p.kill()
        tried("kills")
        p.wait()
    if not path.exists():
        assert after < (3 if os.environ.get("SANITIZED") else 0.8), "no session yet"
        return 0
    done = subprocess.run([program, "export", "--source", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 or after < 0.6, done.stderr
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        last = db.execute("select max(elapsed) from ticks").fetchone()[0]
    shutil.rmtree(str(path) + "-marks", ignore_errors=True)
    return after - (last or 0)


def worst_loss(program, folder, times):
    """The most seconds lost, over so many kills, six recorders at a time."""
    rng = random.Random(times)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        return max(pool.map(lambda after: kill_at(program, folder, after), [rng.uniform(0, 1.5) ** 2 * 0.8 for _ in range(times)]))


def test_killed_at_thirty_moments(program, tmp_path):
    # A sanitizer makes each commit several times slower.
    assert worst_loss(program, tmp_path, 30) <= (2.0 if os.environ.get("SANITIZED") else 1.0)


@pytest.mark.long
def test_killed_at_two_hundred_moments(program, tmp_path):
    assert worst_loss(program, tmp_path, 200) <= 1.0


def test_killed_while_it_starts(program, assay, tmp_path):
    """The file is not there, or it is a session."""
    there = 0
    for i in range(40):
        path = tmp_path / f"k{i}.assay"
        with subprocess.Popen([program, "record", "-q", "-o", str(path)], stderr=subprocess.DEVNULL) as p:
            while not (tmp_path / f"k{i}.assay-marks").exists():
                assert p.poll() is None
            time.sleep(i * 0.0001)
            p.kill()
            tried("kills")
        there += path.exists()
        assert not path.exists() or assay("report", path).returncode == 0
    assert there > 0


def test_reading_a_copy_of_a_killed_recording_leaves_nothing(program, assay, tmp_path):
    """The log is read, also where no index of it can be made."""
    path, copy = tmp_path / "k.assay", tmp_path / "copy"
    with subprocess.Popen([program, "record", "-q", "--interval", "0.1", "-o", str(path)], stderr=subprocess.DEVNULL) as p:
        while not (path.exists() and "samples   0" not in assay("report", path).stdout):
            time.sleep(0.1)
        p.kill()
    copy.mkdir()
    for ending in ("", "-wal"):
        shutil.copy(f"{path}{ending}", copy)
    assert (copy / "k.assay-wal").stat().st_size > 0
    before = {f.name: f.read_bytes() for f in copy.iterdir()}
    for words in (["report"], ["once", "--source"], ["export", "--source"], ["diff", path]):
        assay(*words, copy / "k.assay")
        assert {f.name: f.read_bytes() for f in copy.iterdir()} == before
    told = [assay("report", folder / "k.assay").stdout.replace(str(folder), "") for folder in (tmp_path, copy)]
    assert told[0] == told[1] and "samples   0" not in told[0]


@pytest.mark.parametrize("log", [b"", b"\x37\x7f\x06\x82\0\x2d\xe2\x18" + bytes(24), b"\x37\x7f\x06\x82" + b"\xff" * 9000], ids=["empty", "begun", "spoiled"])
@pytest.mark.parametrize("words", [["report"], ["once", "--source"]], ids=" ".join)
def test_a_log_in_which_nothing_counts_stays(assay, tour, tmp_path, log, words):
    """A recorder that was killed at its start leaves the head of one."""
    shutil.copy(tour, tmp_path / "k.assay")
    head = bytearray((tmp_path / "k.assay").read_bytes())
    head[18:20] = b"\x02\x02"  # it uses a log
    (tmp_path / "k.assay").write_bytes(head)
    (tmp_path / "k.assay-wal").write_bytes(log)
    before = {f.name: f.read_bytes() for f in tmp_path.iterdir()}
    assert assay(*words, tmp_path / "k.assay").returncode == 0
    assert {f.name: f.read_bytes() for f in tmp_path.iterdir()} == before


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_it_starts_ends_in_order(program, tmp_path, sig):
    path = tmp_path / "x.assay"
    with subprocess.Popen([program, "record", "-q", "-o", str(path)], stderr=subprocess.DEVNULL) as p:
        while not (tmp_path / "x.assay-marks").exists():
            assert p.poll() is None
        p.send_signal(sig)
        assert p.wait(5) == 0
    assert [f.name for f in tmp_path.iterdir()] == ["x.assay"]


@contextlib.contextmanager
def disk(place, size):
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "assay-test", str(place)], capture_output=True, check=False).returncode:
        pytest.skip("may not mount")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.fixture
def small_disk(tmp_path):
    with disk(tmp_path / "small", "384k") as place:
        yield place


@pytest.fixture
def roomy_disk(tmp_path):
    with disk(tmp_path / "roomy", "4m") as place:
        yield place


def test_a_full_disk(program, small_disk, tmp_path):
    """What fits stays readable, the command runs on and keeps its exit status."""
    path = small_disk / "x.assay"
    (small_disk / "filler").write_bytes(b"x" * 150_000)
    done = subprocess.run([program, "run", "--speed", "50", "--source", str(TOUR), "-o", str(path), "--",
                           "sh", "-c", "sleep 2.5; echo mine; exit 7"], capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == 7 and done.stdout == "mine\n"
    assert "disk is full" in done.stderr
    db = sqlite3.connect(path)
    assert db.execute("pragma integrity_check").fetchone() == ("ok",)
    assert db.execute("select count(*) from ticks").fetchone()[0] > 5
    db.close()


def longest_gap(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        times = [t for t, in db.execute("select time from ticks order by tick")]
    return max(b - a for a, b in zip(times, times[1:])), len(times)


def test_a_disk_that_is_full_for_a_while(program, roomy_disk, tmp_path):
    """Full blocks wait in memory, so nothing is missing afterwards."""
    path, filler = roomy_disk / "x.assay", roomy_disk / "filler"
    with subprocess.Popen([program, "run", "--speed", "20", "--source", str(TOUR), "-o", str(path), "--", "sleep", "4"],
                          stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}) as p:
        time.sleep(0.7)
        with pytest.raises(OSError, match="No space"), filler.open("wb", buffering=0) as f:
            while True:
                f.write(b"x" * 4096)
        time.sleep(2)
        filler.unlink()
        said = p.communicate()[1]
    assert "disk is full" in said and f"for a while; '{path}' is whole" in said
    gap, n = longest_gap(path)
    assert gap < 1 and n > 500, "more than two blocks came while it was full"


def test_a_file_that_somebody_locks_delays_no_tick(program, tmp_path):
    path = tmp_path / "x.assay"
    with subprocess.Popen([program, "run", "-q", "--speed", "20", "--source", str(TOUR), "-o", str(path), "--", "sleep", "4"]) as p:
        time.sleep(0.7)
        db = sqlite3.connect(path, isolation_level=None, timeout=5)
        db.execute("begin immediate")
        time.sleep(2)
        db.execute("rollback")
        db.close()
        assert p.wait() == 0
    gap, n = longest_gap(path)
    assert gap < 1 and n > 500


def test_a_full_disk_from_the_start(program, small_disk, tmp_path):
    (small_disk / "filler").write_bytes(b"x" * 386_000)
    done = subprocess.run([program, "run", "-o", str(small_disk / "x.assay"), "--", "sh", "-c", "exit 7"], capture_output=True, text=True,
                          check=False, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == 7
    assert "instead" in done.stderr and list(tmp_path.glob("*.assay"))


@pytest.mark.skipif(bool(os.environ.get("SANITIZED")), reason="a sanitizer that looks for leaks cannot be traced")
def test_a_file_system_without_shared_memory(program, tmp_path):
    """As some of clusters are: known at once, and the run is recorded elsewhere."""
    there, elsewhere = tmp_path / "there", tmp_path / "tmp"
    there.mkdir()
    elsewhere.mkdir()
    strace = ["strace", "-f", "-o", "/dev/null", "-P", str(there / "x.assay-shm"), "-e", "trace=mmap", "-e", "inject=mmap:error=ENODEV"]
    if subprocess.run([*strace, "true"], capture_output=True, check=False).returncode:
        pytest.skip("may not trace")
    done = subprocess.run([*strace, program, "run", "-o", str(there / "x.assay"), "--", "sh", "-c", "exit 7"], capture_output=True, text=True,
                          check=False, env={**os.environ, "TMPDIR": str(elsewhere)})
    assert done.returncode == 7 and "instead" in done.stderr and "No such device" in done.stderr
    assert list(there.iterdir()) == [] and len(list(elsewhere.glob("*.assay"))) == 1


def test_many_runs_whose_name_is_taken_in_one_second(program, tmp_path):
    """Each is recorded under a name of its own."""
    (tmp_path / "x.assay").write_text("mine")
    runs = [subprocess.Popen([program, "run", "-q", "-o", "x.assay", "--", "true"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in range(6)]
    said = [p.communicate(timeout=60)[1] for p in runs]
    assert all("recording to 'assay-" in s for s in said), said
    assert len(list(tmp_path.glob("assay-*.assay"))) == 6 and (tmp_path / "x.assay").read_text() == "mine"


def test_a_folder_that_cannot_be_written(program, tmp_path):
    done = subprocess.run([program, "run", "-o", "/proc/x.assay", "--", "sh", "-c", "exit 7"], capture_output=True, text=True, check=False,
                          env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == 7 and "instead" in done.stderr
    done = subprocess.run([program, "run", "-o", "/proc/x.assay", "--", "sh", "-c", "exit 7"], capture_output=True, text=True, check=False,
                          env={**os.environ, "TMPDIR": "/proc"})
    assert done.returncode == 7 and "without a recording" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_folder_of_somebody_elses(program, tmp_path):
    """The reason is told as it is."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    folder = tmp_path / "theirs"
    folder.mkdir()
    # The checkout may lie where others may not look.
    program = shutil.copy(program, tmp_path / "assay")
    done = subprocess.run([program, "run", "-o", str(folder / "x.assay"), "--", "sh", "-c", "exit 7"], capture_output=True, text=True, check=False,
                          user=65534, env={**os.environ, "TMPDIR": "/proc"})
    assert done.returncode == 7 and "Permission denied" in done.stderr and "without a recording" in done.stderr
    assert list(folder.iterdir()) == []


def test_a_reader_never_blocks_the_writer(program, tmp_path):
    path = tmp_path / "x.assay"
    with subprocess.Popen([program, "record", "-q", "--speed", "1", "--source", str(TOUR), "-o", str(path)]) as p:
        time.sleep(0.8)
        db = sqlite3.connect(path)
        cursor = db.execute("select * from tick")
        first = cursor.fetchone()
        time.sleep(1.3)
        other = sqlite3.connect(path)
        assert other.execute("select max(id) from tick").fetchone()[0] > 12
        assert first[0] == 0
        db.close()
        other.close()
        p.send_signal(signal.SIGINT)
        assert p.wait(5) == 0
    assert pathlib.Path(path).exists()


def test_a_signal_that_comes_first_of_all_ends_in_order(program, tmp_path):
    """As soon as there is a file."""
    for i in range(5):
        path = tmp_path / f"{i}.assay"
        with subprocess.Popen([program, "record", "-q", "-o", str(path)], stderr=subprocess.DEVNULL) as p:
            while not path.exists():
                assert p.poll() is None
            p.terminate()
            assert p.wait(10) == 0
        assert not path.with_name(path.name + "-wal").exists()


def test_a_week(assay, tmp_path):
    """Of two GPUs that are busy in two of three hours and a half: the means and the energy of all of it."""
    capture, path = tmp_path / "week.csv", tmp_path / "week.assay"
    rows = [f"{1794726548 + t},{g},NVIDIA H200,{62.5 * busy},{99 * busy},{50000 * busy},143771,{80 + 420 * busy}"
            for t in range(0, 604800, 10) for busy in ((t // 5400) % 3 != 0,) for g in range(2)]
    capture.write_text("timestamp,gpu_id,model,sm_active_pct,gpu_util_pct,mem_used_mib,mem_total_mib,power_w\n" + "\n".join(rows) + "\n")
    assert assay("record", "-q", "--source", capture, "-o", path, timeout=120).returncode == 0
    busy = sum((t // 5400) % 3 != 0 for t in range(0, 604800, 10)) / 60480
    for source in (path, capture):
        report = json.loads(assay("report", source, "--format", "json", timeout=120).stdout)
        run = report["run"]
        assert run["seconds"] == pytest.approx(604790, abs=11)
        for gpu in run["gpus"]:
            means = {name: m["mean"] for name, m in gpu["metrics"].items()}
            assert means["gpu_util"] == pytest.approx(0.99 * busy, rel=1e-3)
            assert means["sm_active"] == pytest.approx(0.625 * busy, rel=1e-3)
            assert means["power"] == pytest.approx(80 + 420 * busy, rel=1e-3)
    assert path.stat().st_size < 3_000_000
