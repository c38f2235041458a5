"""assay.log_to: figures of a run in trackers, which are stood in for by what each documents."""
import json
import sys
import time
import types

import pytest

import assay

FIGURES = {"assay/gpu_hours", "assay/energy_kwh", "assay/power", "assay/real_util", "assay/wasted_gpu_hours"}


@pytest.fixture
def monitor(gpu):
    with assay.Monitor(interval=0.05, **gpu) as m:
        for _ in assay.steps(range(10)):
            time.sleep(0.1)
        yield m


class Wandb:
    def __init__(self):
        self.lines, self.summary = [], {}

    def log(self, data, step=None, commit=None):
        self.lines.append(data)


class Writer:
    def __init__(self):
        self.scalars, self.texts = [], []

    def add_scalar(self, tag, scalar_value, global_step=None):
        self.scalars.append((tag, scalar_value, global_step))

    def add_text(self, tag, text_string, global_step=None):
        self.texts.append((tag, text_string))


def test_wandb(monitor):
    run = Wandb()
    with assay.log_to(run, every=None) as tracker:
        tracker.update()
    first, last = run.lines
    assert set(first) >= FIGURES and all(isinstance(v, float) for v in first.values()) and first["assay/steps"] == 10
    assert tracker.failure is None and run.summary["assay/findings"], "and a last time when it ends"


def test_mlflow(monitor):
    module, calls = types.SimpleNamespace(), []
    module.log_metrics = lambda metrics, step=None: calls.append((set(metrics), step))
    module.set_tag = lambda key, value: calls.append((key, value))
    with assay.log_to(module, every=None) as tracker:
        tracker.update()
    metrics = [c for c in calls if isinstance(c[0], set)]
    assert [step for _, step in metrics] == [0, 1] and metrics[0][0] >= FIGURES
    assert any(c[0] == "assay.findings" and c[1] for c in calls)


def test_a_summary_writer(monitor):
    writer = Writer()
    with assay.log_to(writer, every=None):
        pass
    assert {tag for tag, _, _ in writer.scalars} >= FIGURES and writer.texts[0][0] == "assay/findings"


def test_a_file_and_a_beat(monitor, tmp_path):
    path = tmp_path / "run.jsonl"
    with assay.log_to(path, every=0.2):
        time.sleep(1)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) >= 3 and [x["step"] for x in lines] == list(range(len(lines))) and set(lines[-1]) >= FIGURES


def test_a_tracker_that_fails_ends_nothing(monitor):
    class Broken:
        def log(self, _):
            raise OSError("no network")
    with assay.log_to(Broken(), every=0.1) as tracker:
        time.sleep(0.3)
    assert isinstance(tracker.failure, OSError)
    with pytest.raises(OSError):
        assay.log_to(Broken(), every=None).update()


def test_under_assay_run(program, tmp_path):
    import subprocess
    code = f"import assay, time\nassay.log_to({str(tmp_path / 'x.jsonl')!r})\nfor _ in assay.steps(range(5)): time.sleep(0.2)\n"
    subprocess.run([program, "run", "-q", "--interval", "0.1", "-o", tmp_path / "run.assay", "--", sys.executable, "-c", code], check=True, timeout=60)
    line, = [json.loads(x) for x in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert line["assay/steps"] == 5, "logged when the program ended"


def test_what_is_refused(monitor, monkeypatch):
    with pytest.raises(assay.AssayError, match="cannot log to 'int'"):
        assay.log_to(3)
    monitor.stop()
    with pytest.raises(assay.AssayError, match="nothing is being recorded"):
        assay.log_to("x.jsonl")
