"""A GPU whose program makes no progress: the same word wherever one looks, in a capture and live."""
import json
import re

import pytest

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
