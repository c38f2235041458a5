"""A GPU whose program makes no progress: the same word wherever one looks, in a capture, live, and afterwards."""
import json
import pathlib
import re
import subprocess

import pytest

from conftest import ROOT
from serving import Server

COLUMNS = "timestamp,gpu_id,model,gpu_util_pct,dram_active_pct,tensor_active_pct,sm_active_pct,power_w,mem_used_mib,pcie_rx_bytes_s"
TRAINS = "98,40,50,80,{power},40000,5e8"
SPINS = "100,0,0,12,130,40000,20000"
IDLE = "0,0,0,0,110,40000,0"


@pytest.fixture
def capture(tmp_path):
    """So many seconds of each."""

    def make(*parts):
        rows, at = [COLUMNS], 1767225600
        for seconds, what in parts:
            for _ in range(seconds):
                rows.append(f"{at},0,H200," + what.format(power=450 + 60 * (at % 2)))
                at += 1
        path = tmp_path / "gpu.csv"
        path.write_text("\n".join(rows) + "\n")
        return path

    return make


def last(assay, path):
    done = assay("export", "--format", "jsonl", "--source", path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def stalled(sample):
    text = json.dumps(sample)
    return float(re.search(r'"stalled": ?([\d.]+|null)', text).group(1).replace("null", "-1"))


@pytest.mark.parametrize("parts, least, most, why", [
    ([(60, TRAINS), (41, SPINS)], 38, 41, "a collective that waits"),
    ([(60, TRAINS), (10, SPINS)], 0, 0, "too short to say"),
    ([(60, TRAINS), (300, IDLE)], 0, 0, "idle"),
    ([(300, SPINS)], 0, 0, "it never worked"),
    ([(60, TRAINS), (41, SPINS), (2, TRAINS)], 0, 0, "it goes on"),
])
def test_the_metric(assay, capture, parts, least, most, why):
    assert least <= stalled(last(assay, capture(*parts))) <= most, why


def test_in_words(assay, capture):
    path = capture((60, TRAINS), (41, SPINS))
    text = re.sub(r"\s+", " ", assay("once", "--source", path, "--at", "100").stdout)
    assert re.search(r"stalled for (39|40) s: kernels run and move nothing; 'assay why' says who is waited for", text), text
    text = assay("once", "--source", path, "--at", "50").stdout
    assert "stalled" not in text
    assert "hung" not in text


def test_served(program, capture, tmp_path):
    """As a family of its own, in JSON, and in the words of the page."""
    path = capture((60, TRAINS), (41, SPINS))
    with Server(program, tmp_path, "--source", path, "--speed", "20") as server:
        def told():
            text = server.ask()[2]
            text = text.decode() if isinstance(text, bytes) else text
            return re.search(r"^assay_gpu_stalled_seconds\{[^}]*\} (1[5-9]|[23]\d|40)$", text, flags=re.M) and text

        text = server.wait(told)
        gpu, = server.json("/api/v1/now")["gpus"]
    assert "# TYPE assay_gpu_stalled_seconds gauge" in text
    assert gpu["metrics"]["stalled"] >= 15 and gpu["health_text"].startswith("stalled for ")


def report(assay, path, how="text"):
    done = assay("report", path, "--format", how)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if how == "json" else re.sub(r"\s+", " ", done.stdout)


def test_afterwards(assay, capture):
    """When, how long, and whether it went on, in every format."""
    path = capture((60, TRAINS), (41, SPINS), (30, TRAINS), (20, SPINS))
    stalls = report(assay, path, "json")["stalls"]
    assert [(s["gpus"], round(s["begin_s"]), round(s["end_s"]), s["goes_on"], s["cause"], s["who"]) for s in stalls] == [
        (["0"], 60, 100, False, None, None), (["0"], 131, 150, True, None, None)]
    first = "GPU 0 stalled for 40.0 s (from 60.0 to 100.0 s): kernels ran and moved nothing, although it had worked"
    assert first in report(assay, path) and "from 131.0 to 150.0 s, the end of the recording" in report(assay, path)
    assert first in report(assay, path, "html") and first in report(assay, path, "markdown")
    assert "record with stacks" in stalls[0]["try"]


@pytest.mark.parametrize("parts", [[(60, TRAINS), (14, SPINS), (60, TRAINS)], [(60, TRAINS), (300, IDLE)], [(300, SPINS)]])
def test_pauses_afterwards(assay, capture, parts):
    path = capture(*parts)
    assert report(assay, path, "json")["stalls"] == [] and "stalled for" not in report(assay, path)


WORKS = "gpu_util=1 gr_active=1 sm_active=0.8 dram_active=0.4 tensor_active=0.5 power={} pid=10"
WAITS = ("gpu_util=1 gr_active=1 sm_active=0.12 dram_active=0 tensor_active=0 fp64_active=0 fp32_active=0 fp16_active=0 int_active=0 mem_copy_util=0 "
         "pcie_rx=0 pcie_tx=0 nvlink_rx=0 nvlink_tx=0 nvlink_total=0 power=130 fb_used=4e10 pid=10")


def test_who_was_waited_for(assay, program, tmp_path):
    """From the stacks of that time: what 'assay why' says of the same second."""
    weave, base, path = pathlib.Path(program).parent / "tests" / "weave", ROOT / "tests/truth/attention.assay", tmp_path / "out.assay"
    if not weave.exists():
        pytest.skip("no weave in this build")
    lines = ["start 1700000000000000000"]
    for at in range(100):
        stuck = 40 <= at < 80
        lines += [f"tick {at}", "row 0 5 " + (WAITS if stuck else WORKS.format(400 + 60 * (at % 2))),
                  f"stack {at}.5 10 10 " + ("waiting futex train.py:9:main;train.py:7:save" if stuck else f"running - train.py:{10 + at % 3}:main;/torch/nn.py:4:forward")]
    subprocess.run([weave, base, path], input="\n".join(lines) + "\n", text=True, check=True)
    stall, = report(assay, path, "json")["stalls"]
    assert (stall["begin_s"], stall["end_s"], stall["cause"]) == (pytest.approx(40, abs=2), pytest.approx(79, abs=2), "lock"), stall
    assert "train.py:7 save" in stall["who"] and "train.py:7 save" in report(assay, path)
    assert "other lock" in stall["try"] or "lock" in stall["try"]
