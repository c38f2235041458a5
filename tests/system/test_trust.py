"""Whom root, and a set-id program, believe."""
import os
import shutil
import subprocess

import pytest
from conftest import clean_env

NOBODY = 65534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes root")


@pytest.fixture
def capture(tmp_path):
    path = tmp_path / "capture.txt"
    path.write_text("# Entity  GPUTL  MCUTL\n     ID\n  GPU 0  50  10\n")
    return path


@pytest.mark.parametrize("owner, mode, why", [
    (NOBODY, 0o644, "it belongs to another user"),
    (0, 0o666, "others may write it"),
    (0, 0o664, "others may write it"),
])
def test_root_reads_no_config_of_others(assay, tmp_path, capture, owner, mode, why):
    config = tmp_path / ".config" / "assay" / "config"
    config.parent.mkdir(parents=True)
    config.write_text("nvml-lib = /tmp/evil.so\nsource = /etc/no-such-file\n")
    config.chmod(mode)
    os.chown(config, owner, -1)
    done = assay("once", "--source", capture)
    assert done.returncode == 0, done.stderr
    assert f"root does not read the config file '{config}': {why}, ignoring" in done.stderr
    done = assay("once", "--source", capture, "--config", config)
    assert done.returncode != 0 and why in done.stderr and "chown root" in done.stderr


def test_root_reads_its_own(assay, tmp_path, capture):
    config = tmp_path / ".config" / "assay" / "config"
    config.parent.mkdir(parents=True)
    config.write_text(f"[once]\nsource = {capture}\n")
    config.chmod(0o644)
    done = assay("once")
    assert done.returncode == 0 and "ignoring" not in done.stderr, done.stderr


def test_a_set_id_program_ignores_variables_and_libraries(program, tmp_path):
    """With the caller's variables it would run the caller's code with its owner's rights."""
    for parent in [tmp_path, *tmp_path.parents][:-2]:
        if parent.stat().st_uid == 0:
            parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o777)
    copy = tmp_path / "assay"
    shutil.copy(program, copy)
    copy.chmod(0o4755)
    marker = tmp_path / "ran"
    dcgmi = tmp_path / "dcgmi"
    dcgmi.write_text(f"#!/bin/sh\ntouch {marker}\n")
    dcgmi.chmod(0o755)
    env = {**clean_env(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin"}

    def run(*words, **more):
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", copy]
        return subprocess.run([*user, *words], env={**env, **more}, capture_output=True, timeout=60, check=False)

    if run("--version").returncode != 0:
        pytest.skip("set-id programs do not run here")
    for more, words in (({}, []), ({"ASSAY_DCGMI": str(dcgmi)}, []), ({}, ["--dcgmi", str(dcgmi)])):
        run("once", "--backend", "dcgm", *words, **more)
        assert not marker.exists(), (more, words)
    # The same without the bit does what it is told.
    copy.chmod(0o755)
    run("once", "--backend", "dcgm", "--dcgmi", str(dcgmi))
    assert marker.exists()
