"""Hooks of one line for training loops of other packages, which are imported when a hook is used and not before.

    Trainer(..., callbacks=[assay.integrations.TransformersCallback()])      # Hugging Face
    L.Trainer(..., callbacks=[assay.integrations.LightningCallback()])       # Lightning
    model.fit(..., callbacks=[assay.integrations.KerasCallback()])           # Keras
    for batch in assay.steps(loader): state = train_step(state, batch)       # JAX, and any loop

Each marks steps, evaluation and saving as phases, and the numbers that the package logs.
"""
from __future__ import annotations

import functools
import importlib
import math
import time
from typing import Any, Dict, Iterable, Mapping, Optional

from . import marking

__all__ = ["KerasCallback", "LightningCallback", "TransformersCallback"]

_now = time.monotonic


class _Loop:
    """Where a training loop is: what passes between two steps, beyond what is known to be something else, is waiting
    for data."""

    def __init__(self) -> None:
        self.free: Optional[float] = None  # since when the loop fetches data
        self.began: Optional[float] = None
        self.inside: Optional[str] = None  # a phase

    def begin(self) -> None:
        self.leave()
        self.began = _now()

    def end(self, knows_waiting: bool = True) -> None:
        ended, began = _now(), self.began
        if began is None:
            return
        waited = began - self.free if knows_waiting and self.free is not None else None
        marking.step_end(None, ended - began + (waited or 0.0), waited)
        self.began, self.free = None, ended

    def enter(self, phase: str) -> None:
        if self.inside != phase:
            self.leave()
            self.inside = phase
            marking.phase_begin(phase)

    def leave(self) -> None:
        if self.inside is not None:
            marking.phase_over(self.inside)
            self.inside = None
            self.free = _now()

    def took(self, phase: str) -> None:
        """What passed since the loop was last seen was such a phase."""
        now = _now()
        if self.free is not None:
            marking.phase_end(phase, now - self.free)
        self.free = now

    def seen(self) -> None:
        if self.free is not None:
            self.free = _now()

    def over(self) -> None:
        self.leave()
        self.free = self.began = None


def _numbers(logs: Optional[Mapping[str, Any]]) -> None:
    for name, value in (logs or {}).items():
        try:
            number = float(value)
        except (TypeError, ValueError):
            continue
        if math.isfinite(number):
            marking.metric(name, number)


def _first(names: Iterable[str], what: str) -> Any:
    """The first of these modules that there is."""
    names = list(names)
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ImportError(f"{what} needs {' or '.join(names)}")


class _Transformers:
    """For transformers.Trainer."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = _Loop()
        self._flops = 0.0

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._loop.begin()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._loop.end()

    def on_prediction_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._loop.enter("eval")

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._loop.leave()

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._loop.took("checkpoint")

    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[Dict[str, Any]] = None, **_: Any) -> None:
        _numbers({k: v for k, v in (logs or {}).items() if k not in ("epoch", "total_flos")})
        flops, steps = float(getattr(state, "total_flos", 0) or 0), int(getattr(state, "global_step", 0) or 0)
        if flops > 0 and steps > 0 and flops != self._flops:
            marking.metric("flops_per_step", flops / steps)
            self._flops = flops
        self._loop.seen()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._loop.over()


class _Lightning:
    """For Lightning's Trainer, old package name or new."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = _Loop()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, *_: Any, **__: Any) -> None:
        self._loop.begin()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any, **__: Any) -> None:
        self._loop.end()
        _numbers(getattr(trainer, "logged_metrics", None))

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        self._loop.enter("eval")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._loop.leave()

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> None:
        self._loop.enter("checkpoint")  # until the loop is seen again

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self._loop.leave()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._loop.over()


class _Keras:
    """For model.fit of Keras. It fetches data inside its step, so that waiting for it is not known."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = _Loop()

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._loop.begin()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._loop.end(knows_waiting=False)

    def on_test_begin(self, logs: Any = None) -> None:
        self._loop.enter("eval")

    def on_test_end(self, logs: Any = None) -> None:
        self._loop.leave()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        _numbers(logs)

    def on_train_end(self, logs: Any = None) -> None:
        self._loop.over()


_HOOKS = {
    "TransformersCallback": (_Transformers, ["transformers"], "TrainerCallback"),
    "LightningCallback": (_Lightning, ["lightning.pytorch", "pytorch_lightning"], "Callback"),
    "KerasCallback": (_Keras, ["keras.callbacks", "tensorflow.keras.callbacks"], "Callback"),
}


@functools.lru_cache(maxsize=None)
def _hook(name: str) -> Any:
    own, modules, base = _HOOKS[name]
    return type(name, (own, getattr(_first(modules, f"assay.integrations.{name}"), base)), {"__doc__": own.__doc__})


def __getattr__(name: str) -> Any:
    if name in _HOOKS:
        return _hook(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
