"""Epilog and prolog of deploy/slurm on a real cluster with slurmdbd and MariaDB."""
import base64
import contextlib
import gzip
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

import pytest

from conftest import ROOT
from serving import Server
from test_slurm import Cluster, PLAIN, fake_gpus, free_port

SLURM = ROOT / "deploy" / "slurm"
NEEDED = ("munged", "slurmctld", "slurmd", "slurmdbd", "sacctmgr", "mariadbd", "mariadb-install-db")
missing = [name for name in NEEDED if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
pytestmark = [pytest.mark.slow,
              pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}"),
              pytest.mark.skipif(os.geteuid() != 0, reason="slurmd needs root")]

SLURMDBD = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=root
StorageLoc=slurm
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
"""
ACCOUNTING = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge/socket
AccountingStoreFlags=job_comment
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
Prolog={folder}/prolog.sh
Epilog={folder}/epilog.sh
"""


def until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not (got := condition()):
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.2)
    return got


def answers(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Accounted(Cluster):
    """A cluster whose jobs are in a database."""

    def __init__(self, folder, extra, **kind):
        self.database, self.dbd = free_port(), free_port()
        try:
            super().__init__(folder, extra + ACCOUNTING.format(folder=folder, port=self.dbd), **kind)
        except BaseException:
            self.stop()
            raise

    def start_munge(self):
        super().start_munge()
        self.start_database()
        host = socket.gethostname().split(".")[0]
        conf = self.folder / "slurmdbd.conf"
        conf.write_text(SLURMDBD.format(folder=self.folder, host=host, port=self.dbd, database=self.database))
        conf.chmod(0o600)
        self.start("slurmdbd", "-D")
        until(lambda: answers(self.dbd), 30, self.logs)
        added = []
        until(lambda: added.append(self.run("sacctmgr", "-i", "add", "cluster", "assay")) or added[-1].returncode == 0, 20,
              lambda: f"{added[-1].stdout}{added[-1].stderr}\n{self.logs()}")

    def start_database(self):
        data = self.folder / "data"
        subprocess.run(["mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", "--user=root",
                        f"--datadir={data}"], check=True, capture_output=True, timeout=120)
        self.start("mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={self.folder}/mysql", f"--pid-file={self.folder}/mysql.pid",
                   "--bind-address=127.0.0.1", f"--port={self.database}", "--skip-name-resolve", "--skip-grant-tables", "--innodb-buffer-pool-size=32M",
                   "--innodb-flush-log-at-trx-commit=0", f"--log-error={self.folder}/mariadb.log")
        until(lambda: answers(self.database), 30, self.logs)

    def comment(self, job):
        """What sacct has of a job as its AdminComment."""
        lines = self.run("sacct", "-n", "-P", "-X", "-j", job, "-o", "JobIDRaw,AdminComment").stdout.splitlines()
        return next((line.split("|", 1)[1] for line in lines if line.split("|")[0] == job), "")


def unpack(comment):
    """As jobstats does."""
    assert comment.startswith("JS1:") and len(comment) > 10, comment
    return json.loads(gzip.decompress(base64.b64decode(comment[4:], validate=True)))


@pytest.fixture(scope="module")
def cluster(program):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-acct-"))
    host = socket.gethostname().split(".")[0]
    for name in ("prolog", "epilog"):
        (folder / f"{name}.sh").write_text(
            f"#!/bin/sh\nexport ASSAY={program} ASSAY_STATE={folder}/{'serve' if name == 'epilog' else 'state'} ASSAY_RECORDINGS={folder}/recordings SLURM_CONF={folder}/slurm.conf\n"
            f"[ ! -e {folder}/fails ] || ln -s /nowhere/at/all {folder}/recordings/$SLURM_JOB_ID.assay\n"
            f"export PATH={folder}/bin:$PATH HOME={folder} ASSAY_NVML_LIB={os.environ.get('ASSAY_NVML_LIB', '')}\n"
            f"[ -e {SLURM}/{name}.sh ] && exec sh {SLURM}/{name}.sh\n"
            "exit 0\n")
        (folder / f"{name}.sh").chmod(0o755)
    c = Accounted(folder, PLAIN, nodes=[host])
    if not c.wait_until_up():
        logs = c.logs()
        c.stop()
        shutil.rmtree(folder)
        pytest.fail("the cluster did not start:\n" + logs)
    yield c
    c.stop()
    shutil.rmtree(folder)


def submit(cluster, script, *options):
    """A batch job: its number, once it runs."""
    path = cluster.folder / "job.sh"
    path.write_text("#!/bin/sh\n" + script)
    done = cluster.run("sbatch", "--parsable", "-n1", "--mem=400", "--time=20", "--output=/dev/null", "--chdir=/", *options, str(path))
    assert done.returncode == 0, done.stderr
    job = done.stdout.strip()
    until(lambda: cluster.run("squeue", "-h", "-j", job, "-o", "%T").stdout.startswith("RUNNING"), 30, cluster.logs)
    return job


@contextlib.contextmanager
def newer_sacctmgr(cluster):
    """What 'sacctmgr modify job' does since Slurm 23.02: the letters stay as they are."""
    folder = cluster.folder / "bin"
    folder.mkdir()
    (folder / "sacctmgr").write_text(
        "#!/bin/sh\n"
        f"[ \"$1 $2 $3 $4\" = '-i modify job where' ] && exec mariadb --no-defaults -h127.0.0.1 -P{cluster.database} -uroot slurm -e "
        "\"update assay_job_table set admin_comment='${7#AdminComment=}' where id_job=${5#jobid=}\"\nexit 1\n")
    (folder / "sacctmgr").chmod(0o755)
    yield
    shutil.rmtree(folder)


@contextlib.contextmanager
def served_job(program, cluster, tmp_path):
    """A job that holds a GPU for some seconds and is over then: its number, and the state folder."""
    job = submit(cluster, "while :; do :; done\n")
    env = fake_gpus(tmp_path, [[], []])
    (tmp_path / "map").mkdir()
    (tmp_path / "map" / "0").write_text(job)
    state = cluster.folder / "serve"
    with Server(program, tmp_path, "--backend", "nvml", "--state", state, "--hpc-job-mapping-dir", tmp_path / "map", env=env) as s:
        s.wait(lambda: f'job="{job}",user="root"' in s.metrics(), 20)
        time.sleep(2)
        cluster.run("scancel", job)
        (tmp_path / "map" / "0").unlink()
        yield job, state


def test_epilog_writes_the_comment_that_jobstats_reads(program, assay, cluster, tmp_path):
    with newer_sacctmgr(cluster), served_job(program, cluster, tmp_path) as (job, state):
        comment = until(lambda: cluster.comment(job), 40, cluster.logs)
        told = unpack(comment)
        (name, node), = told["nodes"].items()
        assert name == socket.gethostname().split(".")[0] and told["gpus"] == 1 and 2 <= told["total_time"] <= 60
        assert node["cpus"] == 1 and node["total_memory"] == 400 << 20
        assert list(node["gpu_utilization"]) == ["0"] == list(node["gpu_total_memory"]) == list(node["gpu_used_memory"])
        assert 90 < node["gpu_utilization"]["0"] <= 100 and 0 < node["gpu_used_memory"]["0"] < node["gpu_total_memory"]["0"]
        env = {"SLURM_CONF": cluster.env["SLURM_CONF"]}
        card = assay("job", job, "--state", state, env=env).stdout
        assert re.search(r"CPU efficiency +-- of 1 CPU\n", card) and re.search(r"memory +-- of 400\S* MiB\n", card), card
        assert re.search(r"time used +[\d.]+ % of the limit of 20 min 0 s\n", card) and "What limited the GPUs" in card, card

        def merged(with_, **more):
            return unpack(assay("job", job, "--state", state, "--format", "jobstats", "--merge", with_, env={**env, **more}).stdout.strip())
        # Another node of the same job adds itself; what it finds stays, what makes no sense goes.
        both = merged(comment, SLURMD_NODENAME="other")
        assert list(both["nodes"]) == sorted([name, "other"]) and both["gpus"] == 2 and both["nodes"][name] == node
        for hostile in (b"", b"AAAA", gzip.compress(b'{"nodes": [1]}'), gzip.compress(b'{"nodes": {"a": ' + b"[" * 5000 + b"]" * 5000 + b"}}"),
                        gzip.compress(b"x" * 5_000_000)):
            assert merged("JS1:" + base64.b64encode(hostile).decode())["nodes"] == told["nodes"], hostile[:40]
        assert merged("no comment of ours")["nodes"] == merged("JS1:Short")["nodes"] == told["nodes"]


def test_epilog_writes_a_line_where_sacctmgr_makes_letters_small(program, cluster, tmp_path):
    """As Slurm 22.05 of Debian 12 does."""
    with served_job(program, cluster, tmp_path) as (job, _):
        until(lambda: cluster.comment(job).startswith("assay: 1 gpu; 0.00 gpu-hours"), 40, lambda: cluster.comment(job) + cluster.logs())


def test_every_job_is_recorded(program, assay, cluster):
    """From its first second to its last, though Slurm kills what a prolog leaves behind; what goes wrong is written down."""
    folder = cluster.folder / "recordings"
    job = submit(cluster, "/usr/bin/python3 -c 'import time\nend = time.time() + 6\nwhile time.time() < end: pass'\n", "--uid=nobody")
    recording = folder / f"{job}.assay"
    until(lambda: recording.exists() and not (folder / f"{job}.pid").exists(), 20, cluster.logs)
    until(lambda: recording.stat().st_uid == 65534, 10, cluster.logs)
    report = json.loads(assay("report", recording, "--format", "json").stdout)
    assert 3.5 < report["stop"] - report["start"] < 15 and report["ticks_taken"] > 0, report
    rows = [json.loads(line) for line in assay("export", recording, "--host", "--levels", "slurm", "--format", "jsonl").stdout.splitlines()]
    rows = [row for row in rows if row["level"] == "slurm"]
    assert {row["name"] for row in rows} == {job} and max(row["figures"]["cpu"] or 0 for row in rows) > 0.3
    assert not subprocess.run(["pgrep", "-f", str(recording)], stdout=subprocess.DEVNULL, check=False).returncode == 0
    # A recording that cannot be made keeps no job waiting, and says so.
    shutil.rmtree(folder)
    folder.mkdir()
    (cluster.folder / "fails").write_text("")
    job = submit(cluster, "sleep 1\n")
    (cluster.folder / "fails").unlink()
    assert "is there already" in until(lambda: (folder / f"{job}.log").exists() and (folder / f"{job}.log").read_text(), 10, cluster.logs)
