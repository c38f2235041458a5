"""A process that opens sessions for days does not grow."""
import ctypes
import gc
import os
import pathlib

import pytest

from conftest import ROOT

import assay

SESSION = ROOT / "tests" / "truth" / "train_block.assay"


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Mallinfo


def allocated():
    """Bytes that nobody has freed: unlike resident memory, it does not depend on when threads ran."""
    gc.collect()
    info = mallinfo()
    return info.uordblks + info.hblkhd


def resident():
    gc.collect()
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def record(_):
    monitor = assay.Monitor(interval=0.1)
    monitor.start()
    monitor.stop()


@pytest.mark.parametrize("use, measure", [
    (lambda s: s.report(), resident), (lambda s: s.report("html"), resident), (lambda s: s.findings(), resident), (lambda s: s.columns(), resident),
    (lambda s: s.describe(), resident), (lambda s: s.latest(), resident), (lambda s: s.columns("process"), resident), (record, allocated),
], ids=["report", "page", "findings", "columns", "describe", "latest", "processes", "record"])
def test_a_hundred_sessions_take_what_ten_took(use, measure):
    for _ in range(10):
        use(assay.open_session(SESSION))
    before = measure(), allocated()
    for _ in range(90):
        use(assay.open_session(SESSION))
    assert measure() - before[0] < 3e6 and allocated() - before[1] < 200e3, (measure() - before[0], allocated() - before[1])
