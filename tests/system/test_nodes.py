"""Other hosts as one fleet: a real sshd on loopback, a real Slurm of four nodes, endpoints by the dozen."""
import asyncio
import itertools
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

import pytest

import test_slurm
import test_top
from conftest import FIXTURES, clean_env
from endpoints import Endpoints, answer, text, well
from sshd import SSHD, Sshd

LIBRARY = pathlib.Path("tests/libnvidia-ml-fake.so")
SCENARIO = FIXTURES / "nvml" / "h200-bf16.scn"
NO_SSHD = pytest.mark.skipif(not SSHD or os.geteuid() != 0, reason="needs sshd (openssh-server), and root to start it")


def fake_driver(program):
    return {"ASSAY_NVML_LIB": str(pathlib.Path(program).parent / LIBRARY), "FAKE_NVML": str(SCENARIO)}


def make_assay(program, folder, **more):
    """A folder for the PATH with an assay that reads the fake driver."""
    folder.mkdir()
    exports = "".join(f"export {name}='{value}'\n" for name, value in {**fake_driver(program), **more}.items())
    (folder / "assay").write_text(f"#!/bin/sh\n{exports}exec {program} \"$@\"\n")
    os.chmod(folder / "assay", 0o755)
    return folder


def left_behind(mark):
    """Processes whose environment or command line has the mark."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        if mark.encode() in line:
            found.append(line.decode(errors="replace"))
    return found


def wait_for(what, seconds=10):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if what():
            return True
        time.sleep(0.05)
    return what()


# ---- a program in the place of ssh ----

STAND_IN = """#!/bin/sh
# HOST COMMAND…: what a host does is in its name.
host=$1; shift
case $host in
refuses*) echo "ssh: connect to host $host port 22: Connection refused" >&2; exit 255 ;;
hangs*) exec sleep 300 ;;
banner*) echo "Welcome to $host"; echo; exec "$@" ;;
old*) echo "assay: unknown option '--peer'" >&2; exit 2 ;;
newer*) echo '{"assay":"9.9.9","protocol":1}'; exec "$@" ;;
other*) echo '{"assay":"9.9.9","protocol":99}'; exec sleep 300 ;;
garbage*) echo '{"assay":"0.2.0","protocol":1}'; exec cat /dev/urandom ;;
lies*) exec yes '{"end":1,"time":1e300}' ;;
blank*) exit 0 ;;
missing*) exec /nonexistent/assay "$@" ;;
stops*) (sleep 1; kill -STOP $$) & exec "$@" ;;
dies*) (sleep 1; kill -KILL $$) & exec "$@" ;;
esac
exec "$@"
"""


@pytest.fixture
def hosts(program, tmp_path):
    """Runs assay with hosts that a shell script plays."""
    path = make_assay(program, tmp_path / "bin")
    script = tmp_path / "reach"
    script.write_text(STAND_IN)
    os.chmod(script, 0o755)
    env = {**clean_env(tmp_path), "PATH": f"{path}:{os.environ['PATH']}"}

    def command(*args):
        return [program, *map(str, args), "--ssh", str(script)], env

    return command


def run(command, timeout=30):
    line, env = command
    return subprocess.run(line, env=env, capture_output=True, text=True, check=False, timeout=timeout)


WORDS = {
    "refuses": ("down", "no ssh server answers there"),
    "old": ("other-version", "too old to be read from here"),
    "other": ("other-version", "assay 9.9.9 there cannot be read from here"),
    "garbage": ("down", "cannot be understood"),
    "lies": ("down", "cannot be understood"),
    "blank": ("down", "no assay had answered"),
    "missing": ("down", "assay was not found there"),
}


def test_one_moment_of_all(hosts, tmp_path):
    done = run(hosts("once", "--json", "--hosts", "n[1-3],banner,newer," + ",".join(WORDS)))
    assert done.returncode == 0, done.stderr
    frame = json.loads(done.stdout)
    assert [g["identity"]["hostname"] for g in frame["gpus"]] == ["banner", "n1", "n2", "n3", "newer"]
    nodes = {n["name"]: n for n in frame["nodes"]}
    for name in ("n1", "n2", "n3", "banner"):
        assert (nodes[name]["state"], nodes[name]["why"], nodes[name]["gpus"]) == ("ok", "", 1)
    assert nodes["newer"]["state"] == "ok" and "assay 9.9.9 there" in nodes["newer"]["why"]
    for name, (state, words) in WORDS.items():
        assert nodes[name]["state"] == state and words in nodes[name]["why"], nodes[name]
        assert f"assay: {name}: " in done.stderr
    assert wait_for(lambda: not left_behind(str(tmp_path)), 3), left_behind(str(tmp_path))


def test_nobody_answers(hosts):
    done = run(hosts("once", "--hosts", "missing1,refuses1"))
    assert done.returncode == 3 and "missing1: assay was not found there" in done.stderr and "--remote-assay" in done.stderr


@pytest.mark.parametrize("args, words", [
    (("--hosts", "a[1-"), "is no host"),
    (("--hosts", "-oProxyCommand=x"), "starts with a dash"),
    (("--hosts", "@/nonexistent"), "cannot read '/nonexistent'"),
    (("--hosts", "a", "--slurm", "1"), "both --hosts and --slurm"),
    (("--hosts", "a", "--source", "x.csv"), "two sources"),
    (("--slurm", "x y"), "is no job id"),
    (("--hosts", "a", "--ssh", "'x"), "is no command"),
])
def test_refused(assay, args, words):
    done = assay("once", *args)
    assert done.returncode == 2 and words in done.stderr, done.stderr


@pytest.mark.slow
def test_a_stream_goes_on_while_hosts_come_and_go(hosts, tmp_path):
    """One host hangs at login, one stops in the middle, one dies: the rest is sampled every time."""
    listed = tmp_path / "list"
    listed.write_text("n[1-2] # two that are well\nhangs\nstops\ndies\n")
    line, env = hosts("export", "hostname,gpu_id", "--poll", "0.2", "--hosts", f"@{listed}")
    with subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        seen = []
        deadline = time.monotonic() + 15
        # The one that dies comes back.
        while time.monotonic() < deadline and not ("dies,0" in seen[-3:] and seen.count("n1,0") > 15):
            seen.append(process.stdout.readline().strip())
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=5) == 0
        told = process.stderr.read()
    assert seen.count("n1,0") >= 10 and seen.count("n2,0") >= 10 and seen.count("stops,0") >= 1
    assert "assay: dies: " in told and "assay: dies answers again" in told
    assert wait_for(lambda: not left_behind(str(tmp_path)), 3), left_behind(str(tmp_path))


def test_a_host_that_stops_is_late(hosts):
    line, env = hosts("export", "hostname", "--poll", "0.2", "--hosts", "n1,stops")
    with subprocess.Popen(line, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        begun = time.monotonic()
        told = process.stderr.readline()
        assert "stops: no new sample for" in told and time.monotonic() - begun < 8
        process.terminate()
        process.wait(timeout=5)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left(hosts, tmp_path, sig):
    line, env = hosts("export", "hostname", "--poll", "0.2", "--hosts", "n[1-3],hangs,stops")
    with subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        while (line := process.stdout.readline()).strip() != "n2":
            assert line, "it ended"
        process.send_signal(sig)
        process.wait(timeout=5)
    assert wait_for(lambda: not left_behind(str(tmp_path)), 5), left_behind(str(tmp_path))


def test_recorded(hosts, assay, tmp_path):
    path = tmp_path / "fleet.assay"
    done = run(hosts("record", "--poll", "0.2", "--duration", "2", "-o", path, "--hosts", "n[1-2],refuses"))
    assert done.returncode == 0 and "refuses: no ssh server" in done.stderr, done.stderr
    rows = assay("export", "hostname,gpu_id", path).stdout.split()[1:]
    assert set(rows) == {"n1,0", "n2,0"}
    # One label means two GPUs: the report says whose each is.
    report = assay("report", path)
    assert "n1:0" in report.stdout and "n2:0" in report.stdout, report.stdout
    page = assay("report", path, "--format", "html").stdout
    assert "n1:0" in page and "n2:0" in page
    for more in (), ("--per-gpu",):
        assert assay("plot", path, "--force", "-o", tmp_path / "plot.svg", *more).returncode == 0
        drawn = (tmp_path / "plot.svg").read_text()
        assert ">n1:0<" in drawn or ">GPU n1:0<" in drawn, drawn


@pytest.mark.slow
def test_a_lost_node_is_in_the_report(hosts, assay, tmp_path):
    path = tmp_path / "fleet.assay"
    done = run(hosts("record", "--poll", "0.2", "--duration", "5", "-o", path, "--hosts", "n1,dies"))
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(path) as db:
        told = db.execute("select event, data from events").fetchall()
    assert told and {name.split()[1] for name, _ in told} == {"dies"}, told
    assert told[0][0] == "node dies down" and json.loads(told[0][1])["why"]
    back = next(json.loads(data) for name, data in told if name == "node dies answers again")
    assert 0.5 < back["lost_s"] < 5
    report = assay("report", path).stdout
    assert "node dies down" in report and "node dies answers again" in report, report


def test_peer_ends_with_its_input(program, tmp_path):
    """Also one whose driver hangs, and one that nobody reads."""
    for answer in ("", "nvmlInit_v2 = hang\n"):
        scenario = tmp_path / "scenario"
        scenario.write_text(answer + SCENARIO.read_text())
        env = {**clean_env(tmp_path), **fake_driver(program), "FAKE_NVML": str(scenario)}
        with subprocess.Popen([program, "export", "--peer", "--backend", "nvml"], env=env, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert json.loads(process.stdout.readline())["protocol"] == 1
            process.stdin.write("17\n")
            process.stdin.flush()
            while '"clock":17' not in (line := process.stdout.readline()):
                assert line, "it ended"
            assert abs(json.loads(line)["time"] - time.time()) < 5
            process.stdin.close()
            process.wait(timeout=5)


# ---- a real sshd ----

@NO_SSHD
def test_through_ssh(program, tmp_path):
    path = make_assay(program, tmp_path / "bin")
    keys = tmp_path / "ssh"
    keys.mkdir()
    server = Sshd(keys, {"well": None, "banner": "echo Welcome; echo; eval $SSH_ORIGINAL_COMMAND",
                         "noassay": "PATH=/usr/bin:/bin; eval $SSH_ORIGINAL_COMMAND",
                         "dies": "timeout -s KILL 3 $SSH_ORIGINAL_COMMAND"}, f"{path}:/usr/bin:/bin")
    env = clean_env(tmp_path)
    try:
        names = "well,banner,noassay,password,refuses,unknownkey"
        done = subprocess.run([program, "once", "--json", "--hosts", names, "--ssh", server.ssh], env=env, capture_output=True,
                              text=True, timeout=30, check=False)
        frame = json.loads(done.stdout)
        nodes = {n["name"]: (n["state"], n["why"]) for n in frame["nodes"]}
        assert [g["identity"]["hostname"] for g in frame["gpus"]] == ["banner", "well"]
        assert nodes["noassay"] == ("down", "assay was not found there")
        assert nodes["password"][0] == "down" and "never asks for a password" in nodes["password"][1]
        assert nodes["refuses"] == ("down", "no ssh server answers there")
        assert nodes["unknownkey"] == ("down", "its host key is not known here")
        # A host that hangs at login keeps nobody waiting, and whatever ends the program ends the others.
        with subprocess.Popen([program, "export", "hostname", "--poll", "0.2", "--hosts", "well,hangs,dies", "--ssh", server.ssh],
                              env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            seen = ""
            while "well" not in seen or "dies" not in seen:
                seen += (line := process.stdout.readline())
                assert line, "it ended"
            process.kill()
            process.wait(timeout=5)
        assert wait_for(lambda: not left_behind("export --peer --poll 0.2"), 5), left_behind("export --peer --poll 0.2")
    finally:
        server.stop()


# ---- a real Slurm ----

def needs_slurm(test):
    for mark in test_slurm.pytestmark:
        test = mark(test)
    return test


@needs_slurm
def test_through_slurm(program, tmp_path):
    """Four nodes: all GPUs within 3 s, a killed node is told within 5 s, nothing is left."""
    folder = tempfile.mkdtemp(prefix="assay-nodes-")
    cluster = test_slurm.Cluster(folder, test_slurm.PLAIN, [f"n{i}" for i in range(1, 5)])
    env = {**clean_env(tmp_path), **fake_driver(program), "SLURM_CONF": cluster.env["SLURM_CONF"]}
    try:
        if not cluster.wait_until_up():
            pytest.fail("the cluster did not start:\n" + cluster.logs())
        ranks_of_slurm(program, env, tmp_path)
        job = cluster.run("sbatch", "--parsable", "-N4", "--mem=100", "-o", "/dev/null", "--wrap", "sleep 300").stdout.strip()
        assert wait_for(lambda: "RUNNING" in cluster.run("squeue", "-h", "-j", job, "-o", "%T").stdout, 20)
        top_of_slurm(program, env, tmp_path, job)
        line = [program, "export", "hostname,gpu_id", "--poll", "0.2", "--slurm", job]
        with subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            begun, seen = time.monotonic(), set()
            while len(seen) < 5:
                seen.add((line := process.stdout.readline()).strip())
                assert line, "it ended"
            assert seen == {"hostname,gpu_id", *(f"n{i},0" for i in range(1, 5))}
            assert time.monotonic() - begun < 3 or os.getloadavg()[0] > 2 * os.cpu_count()
            kill_node(cluster, "n3")
            killed = time.monotonic()
            assert process.stderr.readline().startswith("assay: n3: ")
            assert time.monotonic() - killed < 5 or os.getloadavg()[0] > 2 * os.cpu_count()
            rest = [process.stdout.readline().strip() for _ in range(12)]
            assert {"n1,0", "n2,0", "n4,0"} <= set(rest[-6:])
            process.terminate()
            process.wait(timeout=5)
        assert wait_for(lambda: not left_behind("export --peer --poll 0.2"), 5), left_behind("export --peer --poll 0.2")
        done = subprocess.run([program, "once", "--slurm", "99999"], env=env, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 3 and "job 99999" in done.stderr
    finally:
        cluster.stop()
        shutil.rmtree(folder)


# Steps of half a second; rank 2 works for most of each.
STEPS = """
t=0.10; [ "$SLURM_PROCID" = 2 ] && t=0.35
for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
  sleep $t; "$ASSAY_PROGRAM" mark -q phase compute --seconds $t; sleep $(awk "BEGIN { print 0.45 - $t }")
done
"""


def ranks_of_slurm(program, env, tmp_path):
    """`srun assay run …`: a session a rank in the job's folder, and one report that names the late one."""
    done = subprocess.run(["srun", "-N4", "-n4", "--mem=100", program, "run", "--poll", "0.5", "sh", "-c", STEPS], env={**env, "ASSAY_PROGRAM": program},
                          cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    (folder,) = tmp_path.glob("assay-*.0")
    assert sorted(p.name for p in folder.glob("*.assay")) == [f"rank-{r:04d}.assay" for r in range(4)], done.stderr
    assert done.stderr.count(f"assay report {folder.name}") == 1, done.stderr
    told = subprocess.run([program, "report", folder.name, "--format", "json"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=True)
    job = json.loads(told.stdout)
    assert [r["rank"] for r in job["ranks"]] == [0, 1, 2, 3] and job["world_size"] == 4 and job["missing"] == []
    assert [s["rank"] for s in job["stragglers"]] == ["2"], job["stragglers"]


def top_of_slurm(program, env, tmp_path, job):
    """The dashboard has all GPUs within 3 s, and ends them all with itself."""
    terminal = test_top.Terminal(program, tmp_path, 120, 40, env)
    try:
        terminal.type(f"cd {tmp_path}")
        begun = time.monotonic()
        terminal.start(f"--slurm {job} --poll 0.3")
        screen = ""
        while not all(f"n{i}:0" in screen for i in range(1, 5)):
            assert time.monotonic() - begun < (3 if os.getloadavg()[0] < 2 * os.cpu_count() else 20), screen
            screen = terminal.screen()
        terminal.keys("q")
        assert terminal.intact() == 0
    finally:
        terminal.close()
    assert wait_for(lambda: not left_behind("export --peer --poll 0.3"), 5), left_behind("export --peer --poll 0.3")


def kill_node(cluster, node):
    """Everything that runs there: the daemon, the step's and ours."""
    cluster.slurmd[node].kill()
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"export\0--peer" in (entry / "cmdline").read_bytes() and \
                    f"SLURMD_NODENAME={node}\0".encode() in (entry / "environ").read_bytes():
                step = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                os.kill(step, signal.SIGKILL)
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue


# ---- many exporters ----

def drip(transport):
    """An answer that never ends."""
    transport.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n# a b\r\n")


def flood(transport):
    """One that is larger than any exporter's."""
    transport.write(b"HTTP/1.1 200 OK\r\n\r\n" + b"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 1\n" * 400000)
    transport.close()


HOSTILE = {
    "drip": (drip, "no answer within 1 s"),
    "mute": (lambda transport: None, "no answer within 1 s"),
    "hang-up": (lambda transport: transport.abort(), ""),
    "flood": (flood, "larger than 8 MiB"),
    "page": (lambda transport: transport.write(answer("<html>hello</html>")), "not an exporter's text"),
    "empty": (lambda transport: transport.write(answer("")), "its answer is empty"),
    "no GPU": (lambda transport: transport.write(answer("up 1\n")), "it says nothing about GPUs"),
    "404": (lambda transport: transport.write(answer("", "404 Not Found")), "the server answers 404"),
    "moved": (lambda transport: transport.write(b"HTTP/1.1 302 Found\r\nLocation: http://example.org/\r\nContent-Length: 0\r\n\r\n"),
              "the server answers 302"),
    "noise": (lambda transport: transport.write(bytes(range(256)) * 10), ""),
}


@pytest.fixture(scope="module")
def exporters():
    """24 that are well, two of which have one name and two none; ten that are not; the last port has nobody."""
    names = [f"node{i:02d}" for i in range(20)] + ["twin", "twin", "", ""]
    e = Endpoints([well(name, i) for i, name in enumerate(names)] + [behave for behave, _ in HOSTILE.values()] + [None])
    e.servers[-1].close()
    yield e
    e.stop()


def test_many_exporters_at_one_moment(assay, exporters):
    done = assay("once", "--json", "--source", exporters.list)
    assert done.returncode == 0, done.stderr
    frame = json.loads(done.stdout)
    address = [f"127.0.0.1:{port}" for port in exporters.ports]
    assert sorted(g["identity"]["hostname"] for g in frame["gpus"]) == sorted([f"node{i:02d}" for i in range(20)] + address[20:24])
    assert len({g["identity"]["uuid"] for g in frame["gpus"]}) == 24
    nodes = frame["nodes"]
    assert [n["state"] for n in nodes] == ["ok"] * 24 + ["down"] * 11
    for node, (_, words) in zip(nodes[24:], HOSTILE.values()):
        assert words in node["why"] and node["name"] in address, node
    assert nodes[-1]["why"] == "nothing answers there"


def test_many_exporters_stream(assay, exporters, tmp_path):
    """Those that do not answer delay nobody: a sample a second of all that are well, on time."""
    listed = tmp_path / "list"
    listed.write_text("# a rack\n" + "\n".join(f"127.0.0.1:{port}" for port in exporters.ports))
    begun = time.monotonic()
    done = assay("export", "timestamp,hostname,sm_active_pct", "--count", "3", "--source", f"@{listed}")
    took = time.monotonic() - begun
    rows = [line.split(",") for line in done.stdout.splitlines()[1:]]
    ticks = sorted({row[0] for row in rows})
    assert len(rows) == 3 * 24 and len(ticks) == 3, done.stdout
    assert took < 6 or os.getloadavg()[0] > 2 * os.cpu_count()
    assert {row[2] for row in rows if row[1] == "node03"} <= {"50.00", "60.00", "70.00"}
    assert done.stderr.count("assay: 127.0.0.1:") >= 11


@pytest.mark.slow
def test_an_exporter_that_recovered_is_waited_for_again(assay):
    """Slow as it is, each tick has what it says in that tick: it says when it said so."""
    answers = itertools.chain([lambda: answer("", "503 Busy")], itertools.repeat(lambda: answer(text("slow", 1, time.time() % 50 / 50))))

    def slow(transport):
        asyncio.get_running_loop().call_later(0.12, lambda: transport.write(next(answers)()))

    e = Endpoints([well("quick", 0), slow])
    try:
        done = assay("export", "--format", "jsonl", "--count", "8", "--poll", "1", "--source", e.list)
        heard = [row for row in map(json.loads, done.stdout.splitlines()) if row["identity"]["hostname"] == "slow"]
        assert len(heard) >= 5, done.stdout + done.stderr
        assert [row["age"].get("sm_active", 0) for row in heard] == [0] * len(heard)
        late = sorted((row["time"] - 50 * row["metrics"]["sm_active"] + 5) % 50 - 5 for row in heard)
        assert late[len(late) // 2] < 0.5, late
    finally:
        e.stop()


def test_none_of_many(assay, exporters):
    done = assay("once", "--source", f"127.0.0.1:{exporters.ports[-1]},127.0.0.1:{exporters.ports[-2]}")
    assert done.returncode == 3 and "nothing answers there; nor does another of 2 exporters" in done.stderr
    assert assay("once", "--source", "@/nonexistent").returncode == 2
    done = assay("once", "--source", "a:1,ftp://b")
    assert done.returncode == 2 and "only http and https" in done.stderr


def test_units_of_each_exporter(assay):
    """One gives ratios, one percent under the same name: each is read by its own."""
    def one(host, value):
        line = f'DCGM_FI_DEV_GPU_UTIL_RATIO{{gpu="0",UUID="GPU-{host}",Hostname="{host}"}} {value}\n'
        return lambda transport: transport.write(answer(line))

    e = Endpoints([one("ratio", 0.5), one("percent", 50)])
    try:
        rows = assay("export", "hostname,gpu_util_pct", "--count", "1", "--source", e.list).stdout.split()
        assert sorted(rows[1:]) == ["percent,50.00", "ratio,50.00"]
    finally:
        e.stop()


def test_nodes_are_in_the_order_of_their_numbers(assay):
    e = Endpoints([well(name, i) for i, name in enumerate(("node10", "node9", "node1", "rack2-node3", "rack2-node20"))])
    try:
        rows = assay("export", "hostname", "--count", "1", "--source", e.list).stdout.split()[1:]
        assert rows == ["node1", "node9", "node10", "rack2-node3", "rack2-node20"]
    finally:
        e.stop()


def test_text_is_an_exporters(assay, tmp_path):
    path = tmp_path / "one.prom"
    path.write_text(text("node1", 1))
    assert "node1" in assay("once", "--json", "--source", path).stdout
