"""assay tour: the bundled session with captions, from the build and after installation."""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from conftest import ROOT, clean_env


def watch(program, home, wanted, *args):
    """Runs it on a terminal until something is shown; what was shown."""
    master, slave = pty.openpty()
    env = {**clean_env(home), "TERM": "xterm-256color", "COLUMNS": "110", "LINES": "32"}
    process = subprocess.Popen([str(program), "tour", *args], stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True)
    os.close(slave)
    shown, end = b"", time.monotonic() + 60
    while time.monotonic() < end and not re.search(wanted, shown):
        if select.select([master], [], [], 0.2)[0]:
            shown += os.read(master, 65536)
    os.write(master, b"q")
    while process.poll() is None and time.monotonic() < end + 10:
        if select.select([master], [], [], 0.1)[0]:
            try:
                os.read(master, 65536)
            except OSError:
                break
    assert process.wait(10) == 0
    os.close(master)
    return shown


def test_captions_follow_the_phases(program, tmp_path):
    """From the first to the last, at twenty times the speed; idle time is left out, so it is quicker than that."""
    shown = watch(program, tmp_path, rb"allocated is not used", "--speed", "20")
    assert b"allocated is not used" in shown and b"tensor" in shown


def test_every_phase_has_a_caption(program):
    source = (ROOT / "src/cmd/tour.c").read_text()
    phases = subprocess.run([program, "report", ROOT / "docs/example/tour.assay", "--format", "json"], capture_output=True, text=True,
                            check=True).stdout
    names = set(re.findall(r'"name": ?"(\w+)"', phases)) | {"train_healthy", "idle"}
    captions = set(re.findall(r'^    \{"(\w+)",', source, re.M))
    assert captions >= {"bf16_matmul", "h2d_copy", "train_starved_by_dataloader", "idle_allocated"} and len(captions) == 14
    assert captions & names


def test_without_a_screen_it_is_a_table(assay):
    done = assay("tour")
    assert done.returncode == 0 and "H200" in done.stdout and "tensor" in done.stdout


def test_it_is_found_beside_an_installed_program(program, tmp_path):
    """Wherever the prefix was moved to."""
    (tmp_path / "p/bin").mkdir(parents=True)
    (tmp_path / "p/share/assay").mkdir(parents=True)
    shutil.copy(program, tmp_path / "p/bin/assay")
    alone = subprocess.run([tmp_path / "p/bin/assay", "tour"], env=clean_env(tmp_path), capture_output=True, text=True, check=False)
    shutil.copy(ROOT / "docs/example/tour.assay", tmp_path / "p/share/assay/tour.assay")
    done = subprocess.run([tmp_path / "p/bin/assay", "tour"], env=clean_env(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "H200" in done.stdout
    if not pathlib.Path("/usr/local/share/assay/tour.assay").exists():
        assert alone.returncode == 3 and "not installed" in alone.stderr
