"""The host's levels against a program whose use of the machine is known, and against odd trees."""
import csv
import io
import json
import os
import pathlib
import shutil
import signal
import tempfile
import sqlite3
import subprocess
import time

import pytest

NOBODY = 65534
NO_OTHER_TEST = 65013  # a user that only one test has
AT_HOME_NOWHERE = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
FIXTURE = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "proc"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be somebody else")


@pytest.fixture(scope="session")
def burn(program):
    """The program that burns, reads, writes and forks as told."""
    return str(pathlib.Path(program).parent / "tests" / "burn")


@pytest.fixture
def anybody(program, tmp_path):
    """The program at a place every user may run it from."""
    folder = pathlib.Path("/tmp") / f"assay-any-{os.getpid()}"
    folder.mkdir(mode=0o755, exist_ok=True)
    shutil.copy(program, folder / "assay")
    yield str(folder / "assay")
    shutil.rmtree(folder)


FIRST_PID_NAMESPACE = "pid:[4026531836]"  # the kernel's PROC_PID_INIT_INO


class Watched:
    """A burn that waits to be started, an export that watches it, and what both said."""

    def __init__(self, program, burn, options, watch, poll=0.1, uid=None):
        become = {"user": uid} if uid is not None else {}
        self.burn = subprocess.Popen([burn, "wait=1", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True, **become)
        self.export = subprocess.Popen([program, "export", "--host", "--poll", str(poll), *watch(self.burn.pid)],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.head = self.export.stdout.readline() + self.export.stdout.readline()

    def run(self, linger=0.3):
        """Starts it, waits for its word, lets it end. Gives (the truth, the rows)."""
        self.burn.stdin.write("\n")
        self.burn.stdin.flush()
        words = self.burn.stdout.readline().split()
        truth = dict(zip(words[::2], map(float, words[1::2])))
        time.sleep(linger)
        self.burn.stdin.close()
        self.burn.wait()
        time.sleep(0.3)
        self.export.send_signal(signal.SIGINT)
        text, _ = self.export.communicate(timeout=20)
        return truth, list(csv.DictReader(io.StringIO(self.head + text)))


def near(measured, true, share=0.02, slack=0.03):
    return abs(measured - true) <= max(true * share, slack)


def column(rows, name):
    return [float(row[name]) for row in rows if row[name] != ""]


def grown(rows, name):
    """The growth of a memory column from its first value to its largest, in bytes."""
    values = column(rows, name)
    return (max(values) - values[0]) * 2**30


def never_falls(rows):
    for name in rows[0]:
        if name.endswith("_total") or name == "cpu_time":
            values = column(rows, name)
            assert values == sorted(values), name


@pytest.mark.slow
@pytest.mark.parametrize("options", [
    ["cores=1", "seconds=4"],
    ["cores=2", "seconds=4", "tree=1"],
    ["cores=2", "seconds=3", "ignore=1"],
    ["short=60"],
], ids=["one core", "a tree with orphans and a new session", "children nobody waits for", "children between ticks"])
def test_process_cpu_is_the_truth(program, burn, options):
    if "tree=1" in options and os.readlink("/proc/self/ns/pid") != FIRST_PID_NAMESPACE:
        pytest.skip("in a container the kernel does not tell who forks whom, and a watched tree may cut all other ties")
    truth, rows = Watched(program, burn, options, lambda pid: ["--levels", "process", "--pid", str(pid)]).run()
    never_falls(rows)
    lost = 0.1 if "ignore=1" in options or "tree=1" in options else 0.03
    assert near(float(rows[-1]["cpu_time_s"]), truth["cpu"], slack=lost), (rows[-1]["cpu_time_s"], truth)
    assert rows[-1]["processes"] == "0"
    spent = sum(float(r["cpu_cores_busy"]) * 0.1 for r in rows)
    assert near(spent, truth["cpu"], share=0.1, slack=0.2)


@pytest.mark.slow
def test_process_memory_and_io_are_the_truth(program, burn):
    path = pathlib.Path("/var/tmp") / f"assay-burn-{os.getpid()}"
    try:
        watched = Watched(program, burn, ["touch=300", f"file={path}", "write=67108864", "read=33554432"],
                          lambda pid: ["--levels", "process", "--pid", str(pid), "--pss"])
        truth, rows = watched.run(linger=2)  # no process is measured more than once a second
    finally:
        path.unlink(missing_ok=True)
    if truth == {}:
        pytest.skip("the file system here has no O_DIRECT")
    never_falls(rows)
    assert near(grown(rows, "rss_gib"), truth["touched"], slack=3 << 20)
    assert near(grown(rows, "pss_gib"), truth["touched"], slack=3 << 20)
    assert near(grown(rows, "uss_gib"), truth["touched"], slack=3 << 20)
    assert near(float(rows[-1]["io_write_total_bytes"]), truth["write"], slack=65536)
    assert near(float(rows[-1]["io_read_total_bytes"]), truth["read"], slack=65536)
    assert near(float(rows[-1]["io_write_total_ops"]), truth["write"] / 2**20, slack=5)


@pytest.mark.slow
@needs_root
def test_user_level_is_that_user_alone(program, burn):
    # The checkout may lie in a home that others may not enter.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-burn-"))
    folder.chmod(0o755)
    burn = shutil.copy(burn, folder / "burn")
    busy = subprocess.Popen([burn, "cores=1", "seconds=4"], stdout=subprocess.DEVNULL)
    try:
        truth, rows = Watched(program, burn, ["cores=1", "seconds=3"], lambda _: ["--levels", "user", "--user", str(NO_OTHER_TEST)],
                              uid=NO_OTHER_TEST).run()
    finally:
        busy.wait()
        shutil.rmtree(folder)
    never_falls(rows)
    assert near(float(rows[-1]["cpu_time_s"]) - float(rows[0]["cpu_time_s"]), truth["cpu"], slack=0.12)
    assert max(column(rows, "processes")) == 2


def make_group(name, tasks):
    """A real control group with memory and CPU accounting, of either version; None where none can be made."""
    unified = pathlib.Path("/sys/fs/cgroup")
    if (unified / "cgroup.controllers").exists():
        folders = [unified / name]
    else:
        folders = [unified / kind / name for kind in ("memory", "cpuacct")]
    try:
        for folder in folders:
            folder.mkdir()
        for folder in folders:
            for limit in ("memory.max", "memory.limit_in_bytes"):
                if (folder / limit).exists():
                    (folder / limit).write_text(str(1 << 30))
            (folder / "cgroup.procs").write_text(str(tasks))
    except OSError:
        remove_group(folders)
        return None
    return folders


def remove_group(folders):
    for folder in folders or []:
        if folder.exists():
            try:
                folder.rmdir()
            except OSError:
                pass


@pytest.mark.slow
@needs_root
def test_cgroup_level_reads_the_groups_counters(program, burn):
    name = f"assay-test-{os.getpid()}"
    process = subprocess.Popen([burn, "wait=1", "cores=1", "seconds=2", "touch=100", "tree=1"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    folders = make_group(name, process.pid)
    try:
        if folders is None:
            pytest.skip("no control group can be made here")
        export = subprocess.Popen([program, "export", "--host", "--levels", "cgroup", "--cgroup", f"/{name}", "--poll", "0.1"],
                                  stdout=subprocess.PIPE, text=True)
        head = export.stdout.readline() + export.stdout.readline()
        truth = dict(zip(*[iter(process.communicate("\n\n", timeout=30)[0].split())] * 2))
        time.sleep(0.3)
        export.send_signal(signal.SIGINT)
        rows = list(csv.DictReader(io.StringIO(head + export.communicate(timeout=20)[0])))
    finally:
        process.kill()
        process.wait()
        time.sleep(0.1)
        remove_group(folders)
    never_falls(rows)
    used = float(rows[-1]["cpu_time_s"]) - float(rows[0]["cpu_time_s"])
    assert near(used, float(truth["cpu"]), slack=0.05), (used, truth)
    assert float(rows[-1]["memory_limit_gib"]) == 1
    assert float(rows[-1]["memory_peak_gib"]) >= 0.0976
    assert max(column(rows, "processes")) >= 4
    assert rows[-1]["processes"] == "0"


@needs_root
def test_other_users_io_is_denied_not_zero(anybody):
    target = subprocess.Popen(["sleep", "20"])
    try:
        done = subprocess.run([anybody, "export", "--host", "--format", "jsonl", "--levels", "process", "--pid", str(target.pid),
                               "--poll", "0.05", "--count", "2"], user=NOBODY, env=AT_HOME_NOWHERE, capture_output=True, text=True, check=True)
    finally:
        target.kill()
        target.wait()
    row = json.loads(done.stdout.splitlines()[-1])
    assert row["figures"]["io_read_total"] is None
    assert row["missing"]["io_read_total"] == "denied"
    assert row["figures"]["rss"] > 0
    assert row["figures"]["processes"] == 1


@needs_root
def test_hidden_processes_are_not_counted_as_none(anybody):
    script = f"mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid={NOBODY} --clear-groups {anybody} " \
             "export --host --format jsonl --levels system,user --poll 0.05 --count 1"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], env=AT_HOME_NOWHERE, capture_output=True, text=True, check=False)
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip("no mount namespace can be made here")
    rows = {r["level"]: r for r in map(json.loads, done.stdout.splitlines())}
    assert rows["system"]["figures"]["processes"] is None
    assert rows["system"]["missing"]["processes"] == "denied"
    assert rows["user"]["figures"]["processes"] == 1


def test_export_ends_with_its_target(assay):
    target = subprocess.Popen(["sleep", "0.5"])
    waiter = __import__("threading").Thread(target=target.wait)
    waiter.start()
    done = assay("export", "--host", "--pid", target.pid, "--levels", "process", "--poll", "0.1", timeout=10)
    waiter.join()
    assert done.returncode == 0
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert rows[0]["processes"] == "1"
    assert rows[-1]["processes"] == "0"


def test_header_is_what_is_promised(assay):
    done = assay("export", "--host", "--poll", "0.05", "--count", "2")
    head = done.stdout.splitlines()[0].split(",")
    cores = [f"cpu_util_{i}_pct" for i in range(os.cpu_count())]
    promised = ["timestamp", "level", "cpu_util_avg_pct", "cpu_util_min_pct", "cpu_util_max_pct", *cores, "memory_gib", "io_read_bytes_s", "io_write_bytes_s",
                "io_read_ops_s", "io_write_ops_s", "processes"]
    assert head[:len(promised)] == promised
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {"user", "system"} <= {row["level"] for row in rows}
    assert all(0 <= float(row["cpu_util_avg_pct"]) <= 101 for row in rows if row["level"] == "system")


@pytest.mark.parametrize("args, words", [
    (["--pid", "999999999"], "no process"),
    (["--pid", "0"], "is not a process"),
    (["--user", "nobody-of-that-name"], "no user"),
    (["--cgroup", "/no/such/group"], "no control group"),
    (["--levels", "galaxy"], "not a list of levels"),
    (["--poll", "0"], "--poll"),
    (["--root", "/no/such/folder"], "cannot open"),
])
def test_wrong_targets_are_usage_errors(assay, args, words):
    done = assay("export", "--host", "--count", "1", *args)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 2, "a hint follows"
    assert done.stdout == ""


def test_once_shows_the_host_alone(assay):
    done = assay("once")
    assert done.returncode == 3 and done.stderr == ""
    assert "no GPU found" in done.stdout
    assert "system" in done.stdout and "pressure" in done.stdout
    told = assay("once", "--json")
    assert told.returncode == 3 and "no GPU found" in told.stderr
    assert assay("once", "--csv").returncode == 3
    data = json.loads(told.stdout)
    assert data["gpus"] == []
    assert {level["level"] for level in data["host"]["levels"]} >= {"user", "system"}
    assert "no --pid" in data["host"]["absent"]["process"]


def test_once_adds_the_host_to_a_capture_when_asked(assay):
    capture = FIXTURE.parent / "dcgm" / "dmon-basic-2gpu-c3.txt"
    assert "pressure" not in assay("once", "--source", capture).stdout
    assert "pressure" in assay("once", "--source", capture, "--host").stdout
    data = json.loads(assay("once", "--source", capture, "--host", "--json").stdout)
    assert len(data["gpus"]) == 2
    levels = {level["level"]: level for level in data["host"]["levels"]}
    assert set(levels["system"]["gpus"]) == {"0", "1"}
    assert levels["system"]["gpus"]["0"]["util"] == data["gpus"][0]["metrics"]["gpu_util"]
    assert levels["user"]["gpus"]["0"]["util"] is None, "no driver told what the user's processes do"


def test_fixture_tree(assay):
    """A machine in a folder: cgroup v2, a Slurm job, a container, RLIMIT_AS, an offline CPU."""
    done = assay("export", "--host", "--root", FIXTURE / "node", "--pid", "4242", "--format", "jsonl", "--poll", "0.02", "--count", "1")
    assert done.returncode == 0, done.stderr
    rows = {r["level"]: r for r in map(json.loads, done.stdout.splitlines())}
    process, slurm, group, user, system = (rows[k] for k in ("process", "slurm", "cgroup", "user", "system"))
    assert process["figures"]["processes"] == 2
    assert process["figures"]["cpu_time"] == 12.5 + 3.5 + 0.5
    assert process["figures"]["memory_limit"] == 4 << 30
    assert process["figures"]["cpus"] == 4
    assert slurm["name"] == "77"
    assert slurm["figures"]["cpu_time"] == 123.5, "the job's own counter"
    assert slurm["figures"]["memory"] == 6 << 30
    assert slurm["figures"]["memory_limit"] == 16 << 30, "the tightest on the way up"
    assert slurm["figures"]["processes"] == 3
    assert group["figures"]["cpus"] == 1.5, "the quota"
    assert group["figures"]["io_read_total"] == 4096
    assert user["name"] == "1000"
    assert user["figures"]["processes"] == 4
    assert user["figures"]["memory_limit"] == 32 << 30, "the slice's"
    assert system["figures"]["processes"] == 6
    assert system["figures"]["io_read_total"] == 1000 * 512, "the disk, not its partition or the loop"
    assert system["system"]["figures"]["cpus_online"] == 2
    assert system["system"]["cores"][1] is None
    assert system["system"]["figures"]["net_rx_total"] == 5000
    assert system["system"]["figures"]["net_loopback_total"] == 900
    assert system["system"]["missing"]["pressure_cpu"] == "unsupported"


@pytest.mark.slow
def test_three_hundred_children_keep_the_beat(program):
    nursery = ("import os,signal,sys\nfor _ in range(300):\n  if os.fork()==0:\n    signal.pause()\n"
               "print('ready',flush=True)\nsys.stdin.read()\nos.killpg(0,9)")
    target = subprocess.Popen([__import__("sys").executable, "-c", nursery], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              start_new_session=True)
    target.stdout.readline()
    try:
        done = subprocess.run([program, "export", "--host", "--levels", "process", "--pid", str(target.pid), "--poll", "0.1",
                               "--count", "40"], capture_output=True, text=True, check=True)
    finally:
        target.stdin.close()
        target.wait()
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 40
    assert all(row["processes"] == "301" for row in rows)
    times = column(rows, "timestamp")
    gaps = [b - a for a, b in zip(times, times[1:])]
    assert abs(sum(gaps) / len(gaps) - 0.1) < 0.01 or int(rows[-1]["ticks_missed"]) > 0


def asked(path, sql):
    """Rows of a session that may still grow; none before it has tables."""
    try:
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        rows = db.execute(sql).fetchall()
        db.close()
        return rows
    except sqlite3.Error:
        return []


@needs_root
def test_a_control_group_that_is_removed_is_absent(program, tmp_path):
    """Not a group at rest: the level says why it is not there."""
    with subprocess.Popen(["sleep", "60"]) as task:
        name = f"assay-removed-{task.pid}"
        folders = make_group(name, task.pid)
        try:
            if not folders:
                pytest.skip("no control group can be made here")
            path = tmp_path / "x.assay"
            with subprocess.Popen([program, "record", "-q", "--levels", "cgroup,system", "--cgroup", f"/{name}", "--interval", "0.1", "-o", path]) as p:
                while not asked(path, "select 1 from levels where level = 'cgroup' and absent is null limit 1"):
                    time.sleep(0.1)
                task.kill()
                task.wait()
                remove_group(folders)
                for _ in range(100):
                    if asked(path, "select 1 from levels where absent = 'the control group was removed' limit 1"):
                        break
                    time.sleep(0.1)
                p.terminate()
            assert asked(path, "select memory, cpu from levels where level = 'cgroup' order by tick desc limit 1") == [(None, None)]
            assert asked(path, "select absent from levels where level = 'cgroup' order by tick desc limit 1") == [("the control group was removed",)]
        finally:
            task.kill()
            task.wait()
            remove_group(folders)
