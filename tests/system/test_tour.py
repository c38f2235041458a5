"""Two minutes of a real H200: what assay says of each phase, against what the workload says it did."""
import collections
import csv
import io
import json
import statistics

from conftest import FIXTURES

TOUR = FIXTURES / "tour"


def phases():
    """(name, start, end) of each phase, from the workload's own log."""
    marks = [json.loads(line) for line in (TOUR / "h200-tour.phases.jsonl").read_text().splitlines()]
    out = []
    for mark, following in zip(marks, marks[1:]):
        # The small kernels ran for five seconds; the model was built before the next mark.
        end = mark["ts"] + 5 if mark["phase"] == "tiny_kernels" else following["ts"]
        if mark["phase"] != "done":
            out.append((mark["phase"], mark["ts"], end))
    return out


def rows(assay, *args):
    done = assay("export", "full", "--source", TOUR / "h200-tour.dmon.txt", "--poll", "0.1", *args)
    assert done.returncode == 0 and done.stderr == ""
    out = list(csv.DictReader(io.StringIO(done.stdout)))
    times = [float(r["wall"]) for r in csv.DictReader(open(TOUR / "h200-tour.trace.csv"))]
    assert len(out) == len(times)
    for row, t in zip(out, times):
        row["wall"] = t
    return out


# What a person would call each phase. A tick at an edge sees two phases, so the ends are left out.
EXPECTED = {
    "bf16_matmul": {"tensor-heavy compute"},
    "tf32_matmul": {"tensor-heavy compute"},
    "fp32_matmul": {"compute-heavy"},
    "fp64_matmul": {"tensor-heavy compute"},
    "fp64_elementwise": {"FP64 / HPC compute"},
    "hbm_copy": {"compute-heavy"},  # the copy is a kernel: SMs wait for memory, and count as active
    "h2d_copy": {"I/O or data-loading"},
    "tiny_kernels": {"busy, low SM use", "mixed / moderate"},
    "train_healthy": {"tensor-heavy compute", "tensor compute"},
    "decode_batch1": {"mixed / moderate"},
    "idle_allocated": {"idle"},
}


def test_each_phase_is_named(assay):
    data = rows(assay)
    for name, start, end in phases():
        if name not in EXPECTED:
            continue
        settled = start + (2.0 if name.startswith("train") else 0.5)  # a first step compiles kernels
        inside = [r["status"] for r in data if settled < r["wall"] < end - 0.3]
        common = collections.Counter(inside).most_common()
        good = sum(n for status, n in common if status in EXPECTED[name])
        assert good >= 0.9 * len(inside), (name, common)


def test_copying_is_not_computing(assay):
    """nvidia-smi says 100 % while not one SM works."""
    start, end = next((s, e) for n, s, e in phases() if n == "h2d_copy")
    inside = [r for r in rows(assay) if start + 0.5 < r["wall"] < end - 0.3]
    assert statistics.mean(float(r["gpu_util_pct"]) for r in inside) > 99
    assert statistics.mean(float(r["sm_active_pct"]) for r in inside) < 0.5
    assert statistics.mean(float(r["real_util_pct"]) for r in inside) < 2


def test_phase_boundaries(assay):
    """Where the class changes is where the workload changed, within a few ticks."""
    data = rows(assay)
    for name, first in [("bf16_matmul", "tensor-heavy compute"), ("h2d_copy", "I/O or data-loading")]:
        start = next(s for n, s, e in phases() if n == name)
        seen = next(r["wall"] for r in data if r["status"] == first and r["wall"] > start - 1)
        assert -0.1 <= seen - start <= 0.45, (name, seen - start)


def test_time_per_class(assay):
    """Seconds in each class, over the phases that are one class by nature, are the phases' lengths."""
    data = rows(assay)
    want, got = collections.Counter(), collections.Counter()
    pure = {n: next(iter(c)) for n, c in EXPECTED.items() if len(c) == 1}
    for name, start, end in phases():
        if name not in pure:
            continue
        want[pure[name]] += end - start
        for a, b in zip(data, data[1:]):
            if start <= a["wall"] < end and a["status"] == pure[name]:
                got[pure[name]] += b["wall"] - a["wall"]
    for status, seconds in want.items():
        assert 0.9 * seconds <= got[status] <= seconds + 0.2, (status, seconds, got[status])


def test_first_round_is_unknown(assay):
    """The first round has no profiling counters: no score, no class, and it says what is missing."""
    first = rows(assay)[0]
    assert first["status"] == "unknown" and first["real_util_pct"] == ""
    frame = json.loads(assay("once", "--json", "--at", "0", "--source", TOUR / "h200-tour.dmon.txt").stdout)
    verdict = frame["gpus"][0]["verdict"]
    assert {"sm_active", "tensor_active"} <= set(verdict["missing"])
    assert frame["gpus"][0]["metrics"]["real_util"] is None
    assert frame["gpus"][0]["missing"]["sm_active"] == "blank"


def test_old_arithmetic_calls_it_idle(assay):
    assert rows(assay, "--missing", "zero")[0]["status"] == "idle"
