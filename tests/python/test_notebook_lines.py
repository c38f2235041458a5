"""Which line of a notebook's cell the time goes to."""
import json
import subprocess

import pytest

from .conftest import BUILD, ROOT
from .test_notebook import Notebook

pytestmark = pytest.mark.slow
IDLE = ROOT / "tests/fixtures/nvml/h200-idle.scn"
# The kernel holds the GPU, which has next to nothing to do.
HOLD = f"""
import os, pathlib
held = '''
nvmlDeviceGetComputeRunningProcesses_v3 = 0 PID:1073741824
nvmlDeviceGetUtilizationRates = 0 3 1
gpm/1 = 0 3
gpm/2 = 0 3
'''.replace("PID", str(os.getpid()))
path = pathlib.Path(os.environ["FAKE_NVML"])
path.write_text(pathlib.Path({str(IDLE)!r}).read_text() + held)
"""
START = f"""
%load_ext assay
from assay import magics
magics._loaded[id(get_ipython())].book.start(0.1, backend="nvml", nvml_lib={str(BUILD / "tests/libnvidia-ml-fake.so")!r})
"""
PARSE = """\
import json, time
TEXT = json.dumps({"a": list(range(3000))})
def parse():
    return json.loads(TEXT)
"""
WORK = """\
end = time.time() + 6
while time.time() < end:
    parse()
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lines")
    scenario = folder / "scenario"
    scenario.write_text(IDLE.read_text())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_NVML", str(scenario))
        return Notebook(folder, [
            HOLD,                                            # In [1]
            START,                                           # In [2]
            PARSE,                                           # In [3]
            WORK,                                            # In [4]
            "%assay report --cell 4 --text",                 # In [5]
            "%assay report --cell 4",                        # In [6]
            "import assay\nassert assay.columns('findings')['where'][0]\nassay.data('findings')['where'][0]",  # In [7]
            "seen = assay.data('stacks')\nprint(seen[seen.main == 1].groupby(['file', 'line']).seconds.sum().idxmax())",  # In [8]
            "print(assay.data('stretches').limiter.iloc[-1])",  # In [9]
            "%assay export lines.assay",                     # In [10]
            "%assay stop",                                   # In [11]
        ])


def test_a_report_of_a_cell_names_the_line(book):
    assert book.complaints() == [] or all("frozen modules" in c for c in book.complaints())
    text = book.text(4)
    assert "where: " in text and "cell 3, line 4 parse (in json/" in text
    assert "try: parse it once" in text or "try: other programs use its CPUs" in text  # where the machine is busy
    assert "cell 3, line 4 parse" in book.data(5, "text/html")[0]


def test_data_frames(book):
    assert "cell 3, line 4 parse" in book.data(6, "text/plain")[0]
    assert book.text(7).startswith("('cell 3', 4")
    assert "." in book.text(8)


def test_the_recording_keeps_the_names(book, program):
    session = book.folder / "lines.assay"
    for words in (["report", session], ["stacks", session, "--at", "3"], ["export", "stacks", session]):
        out = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=True).stdout
        assert "cell 3" in out and "ipykernel_" not in out.replace("ipykernel_launcher", ""), words
    # The cell that exports is still running then.
    phases = json.loads(subprocess.run([program, "report", session, "--format", "json"], capture_output=True, text=True, check=True).stdout)["phases"]
    assert phases and all(p["seconds"] < 60 for p in phases)


def test_without_a_gpu_the_main_thread_tells(tmp_path):
    made = Notebook(tmp_path, ["%load_ext assay\n%assay start 0.1", PARSE, WORK, "%assay report --cell 3 --text"])
    text = made.text(3)
    assert "No GPU was seen" in text and "of the main thread's time at cell 2, line 4 parse" in text
