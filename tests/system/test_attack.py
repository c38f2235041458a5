"""A short round of what `./dev attack` does for longer."""
import os
import sys

import pytest
from conftest import ROOT, tried

sys.path.insert(0, str(ROOT / "tests"))
from attack import Attack  # noqa: E402  pylint: disable=wrong-import-position


@pytest.fixture
def attack(program, tmp_path):
    return Attack(program, tmp_path, 20)


def test_damaged_files(attack):
    for _ in range(120):
        attack.hostile()
    tried("hostile files", attack.tried["hostile files"])


def test_crafted_recordings(attack):
    for _ in range(24):
        attack.crafted()
    tried("hostile files", attack.tried["hostile files"])


@pytest.mark.slow
def test_kills(attack):
    for _ in range(12):
        attack.kill()
    tried("kills", attack.tried["kills"])


@pytest.mark.skipif(bool(os.environ.get("SANITIZED")), reason="a sanitizer has its own allocator")
def test_faults(attack):
    for _ in range(80):
        attack.fault()
    tried("faults", attack.tried["faults"])
