"""Steps, phases and numbers from Python, and the hooks of training loops against the interfaces that these document."""
import math
import sqlite3
import subprocess
import sys
import time
import types

import pytest

import assay


@pytest.fixture
def run(program, tmp_path):
    """Runs a program under assay run: the rows of a question about its session."""
    def do(code):
        path = tmp_path / "run.assay"
        done = subprocess.run([program, "run", "-q", "--interval", "0.1", "-o", path, "--", sys.executable, "-c", "import assay, time\n" + code],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        db = sqlite3.connect(path)
        db.row_factory = lambda cursor, row: row
        return lambda sql: db.execute(sql).fetchall()
    return do


def test_every_way(run):
    ask = run("""
def loader():
    for i in range(5):
        time.sleep(0.02); yield i
assert [b for b in assay.steps(loader())] == [0, 1, 2, 3, 4] and len(assay.steps([1, 2])) == 2
for _ in range(3):
    with assay.step("block"): time.sleep(0.01)
for _ in range(3):
    assay.step_end("end")
assay.step_end("told", 0.5, 0.25)
try:
    with assay.step("failed"): 1 / 0
except ZeroDivisionError: pass
with assay.phase("eval"): assay.metric("loss", 0.5)
with assay.phase("keys", epoch=3): pass
assay.metric("nan", float("nan"))
assay.step_end("ü" * 200)
""")
    assert ask("select name, count(*), count(seconds), count(waited) from steps group by name order by min(time)") == [
        ("step", 5, 5, 5), ("block", 3, 3, 0), ("end", 3, 2, 0), ("told", 1, 1, 1), ("ü" * 63, 1, 0, 0)]
    assert ask("select min(waited) >= 0.019, max(seconds - waited) < 0.02 from steps where name = 'step'") == [(1, 1)]
    assert ask("select min(seconds) >= 0.009 from steps where name = 'block'") == [(1,)]
    assert ask("select name, open, data from phases order by start_time") == [("eval", 0, None), ("keys", 0, '{"epoch":3}')]
    assert ask("select name, value from user_metrics") == [("loss", 0.5)]


def test_a_recording_that_follows_another_takes_its_place():
    def tapes():
        with open("/proc/self/maps", encoding="ascii") as f:
            return sum("/tape-" in line for line in f)
    for _ in range(4):
        monitor = assay.Monitor(interval=0.1)
        monitor.start()
        assay.step_end()
        assert tapes() == 1
        monitor.stop()
    assert tapes() <= 1


def test_without_a_recording():
    assert not assay.marking.recording()
    assert list(assay.steps(range(3))) == [0, 1, 2]
    with assay.step(), assay.phase("x", a=1):
        assay.metric("loss", 1)
    assay.step_end()


def test_into_the_monitor_of_this_process():
    with assay.Monitor(interval=0.1) as monitor:
        assert assay.marking.recording()
        for _ in assay.steps(range(20)):
            time.sleep(0.001)
        with assay.Monitor(interval=0.1) as inner:
            assay.step_end("inner")
        assert inner.columns("steps")["name"] == ["inner"]
        assay.step_end()
    assert not assay.marking.recording()
    steps = monitor.columns("steps")
    assert len(steps["seconds"]) == 21 and all(0 < w <= s for w, s in zip(steps["waited"][:20], steps["seconds"][:20]))
    assert "step: 21 steps" in str(monitor.report())


def test_numbers_of_other_libraries(run):
    ask = run("""
class Tensor:
    def __float__(self): return 0.75
assay.metric("loss", Tensor())
""")
    assert ask("select value from user_metrics") == [(0.75,)]


# ---- hooks ----

class Base:
    """What the packages' base classes are: a method for each event that does nothing."""

    def __getattr__(self, name):
        if name.startswith("on_"):
            return lambda *_, **__: None
        raise AttributeError(name)


@pytest.fixture
def package(monkeypatch):
    def put(name, base):
        parts = name.split(".")
        for i in range(len(parts)):
            monkeypatch.setitem(sys.modules, ".".join(parts[:i + 1]), types.ModuleType(".".join(parts[:i + 1])))
        setattr(sys.modules[name], base, type(base, (Base,), {}))
        assay.integrations._hook.cache_clear()
    yield put
    assay.integrations._hook.cache_clear()


@pytest.fixture
def marks(monkeypatch):
    """What is marked, instead of marking it, on a clock of its own."""
    found, clock = [], [100.0]
    monkeypatch.setattr(assay.integrations, "_now", lambda: clock[0])
    monkeypatch.setattr(assay.marking, "step_end", lambda name, seconds, waited: found.append(("step", seconds, waited)))
    monkeypatch.setattr(assay.marking, "phase_begin", lambda name: found.append(("begin", name)))
    monkeypatch.setattr(assay.marking, "phase_over", lambda name: found.append(("end", name)))
    monkeypatch.setattr(assay.marking, "phase_end", lambda name, seconds: found.append(("phase", name, seconds)))
    monkeypatch.setattr(assay.marking, "metric", lambda name, value: found.append((name, value)))
    return found, lambda seconds: clock.__setitem__(0, clock[0] + seconds)


def test_transformers(package, marks):
    package("transformers", "TrainerCallback")
    found, wait = marks
    hook = assay.integrations.TransformersCallback()
    state = types.SimpleNamespace(total_flos=0, global_step=0)

    def on(event, **more):
        getattr(hook, f"on_{event}")("args", state, "control", model=None, **more)

    on("init_end"), on("train_begin"), on("epoch_begin")
    on("step_begin"), wait(2), on("substep_end"), on("step_end")
    wait(1), on("step_begin"), wait(2), on("step_end")
    state.total_flos, state.global_step = 4e12, 2
    wait(3), on("log", logs={"loss": 0.5, "epoch": 1.0, "total_flos": 1.0, "bad": "x", "nan": math.nan})
    on("prediction_step"), wait(5), on("prediction_step"), on("evaluate", metrics={})
    wait(7), on("save")
    wait(1), on("step_begin"), wait(2), on("step_end")
    on("train_end")
    assert found == [("step", 2, None), ("step", 3, 1), ("loss", 0.5), ("flops_per_step", 2e12), ("begin", "eval"), ("end", "eval"),
                     ("phase", "checkpoint", 7), ("step", 3, 1)]


def test_lightning(package, marks):
    package("lightning.pytorch", "Callback")
    found, wait = marks
    hook = assay.integrations.LightningCallback()
    trainer = types.SimpleNamespace(logged_metrics={"train_loss": 0.25})
    hook.on_train_batch_start(trainer, None, [1], 0), wait(2), hook.on_train_batch_end(trainer, None, {}, [1], 0)
    hook.on_validation_start(trainer, None), wait(4), hook.on_validation_end(trainer, None)
    hook.on_save_checkpoint(trainer, None, {}), wait(3)
    hook.on_train_batch_start(trainer, None, [1], 1), wait(2), hook.on_train_batch_end(trainer, None, {}, [1], 1)
    hook.on_train_end(trainer, None)
    assert found == [("step", 2, None), ("train_loss", 0.25), ("begin", "eval"), ("end", "eval"), ("begin", "checkpoint"), ("end", "checkpoint"),
                     ("step", 2, 0), ("train_loss", 0.25)]


def test_keras(package, marks):
    package("keras.callbacks", "Callback")
    found, wait = marks
    hook = assay.integrations.KerasCallback()
    for i in range(2):
        wait(1), hook.on_train_batch_begin(i), wait(2), hook.on_train_batch_end(i, {"loss": 1.0})
    hook.on_test_begin(), wait(1), hook.on_test_end()
    hook.on_epoch_end(0, {"loss": 0.5, "val_loss": 0.6}), hook.on_train_end()
    assert found == [("step", 2, None), ("step", 2, None), ("begin", "eval"), ("end", "eval"), ("loss", 0.5), ("val_loss", 0.6)]


def test_lightning_by_its_old_name(package):
    package("pytorch_lightning", "Callback")
    assert issubclass(assay.integrations.LightningCallback, sys.modules["pytorch_lightning"].Callback)


def test_nothing_is_imported_before_it_is_used(python):
    done = python("import sys, assay; assay.integrations; print([m for m in ('torch', 'transformers', 'lightning', 'keras') if m in sys.modules])")
    assert done.stdout == "[]\n", done.stderr
    for name, what in (("TransformersCallback", "needs transformers"), ("LightningCallback", "lightning.pytorch or pytorch_lightning")):
        done = python(f"import assay; assay.integrations.{name}")
        assert "ImportError" in done.stderr and what in done.stderr

