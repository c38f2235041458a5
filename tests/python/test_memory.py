"""A process that opens sessions for days does not grow."""
import gc
import os
import pathlib

import pytest

from conftest import ROOT

import assay

SESSION = ROOT / "tests" / "truth" / "train_block.assay"

def resident():
    gc.collect()
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def record():
    monitor = assay.Monitor(interval=0.1)
    monitor.start()
    monitor.stop()


@pytest.mark.parametrize("use", [
    lambda s: s.report(), lambda s: s.report("html"), lambda s: s.findings(), lambda s: s.columns(), lambda s: s.describe(), lambda s: s.latest(),
    lambda s: s.columns("process"),
    # Threads that a busy machine leaves waiting take memory of their own until they end.
    pytest.param(lambda s: record(), marks=pytest.mark.quiet),
], ids=["report", "page", "findings", "columns", "describe", "latest", "processes", "record"])
def test_a_hundred_sessions_take_what_ten_took(use):
    for _ in range(10):
        use(assay.open_session(SESSION))
    before = resident()
    for _ in range(90):
        use(assay.open_session(SESSION))
    assert resident() - before < 3
