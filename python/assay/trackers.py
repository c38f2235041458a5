"""What assay knows of a run, given to a tracker of experiments while it runs: wandb, MLflow, TensorBoard, files."""
from __future__ import annotations

import atexit
import contextlib
import json
import os
import threading
import time
from typing import Any, Callable, Dict, List, Optional

from .errors import E_STOPPED, E_USAGE, AssayError
from .monitor import running_session
from .session import PathLike, open_session

Figures = Dict[str, float]


def _to_wandb(run: Any) -> Callable[[Figures, List[str], int], None]:
    """An object with log(dict): a run of wandb, Aim-like trackers, swanlab and others."""
    def put(figures: Figures, findings: List[str], step: int) -> None:
        run.log(dict(figures))
        if findings and hasattr(run, "summary"):
            with contextlib.suppress(Exception):
                run.summary["assay/findings"] = findings
    return put


def _to_mlflow(module: Any) -> Callable[[Figures, List[str], int], None]:
    def put(figures: Figures, findings: List[str], step: int) -> None:
        module.log_metrics(figures, step=step)
        if findings:
            module.set_tag("assay.findings", "\n".join(findings)[:5000])
    return put


def _to_writer(writer: Any) -> Callable[[Figures, List[str], int], None]:
    """TensorBoard's SummaryWriter, of torch or tensorboardX."""
    def put(figures: Figures, findings: List[str], step: int) -> None:
        for name, value in figures.items():
            writer.add_scalar(name, value, step)
        if findings:
            writer.add_text("assay/findings", "  \n".join(findings), step)
    return put


def _to_file(path: PathLike) -> Callable[[Figures, List[str], int], None]:
    def put(figures: Figures, findings: List[str], step: int) -> None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"time": time.time(), "step": step, **figures, "assay/findings": findings}) + "\n")
    return put


def _put_to(target: Any) -> Callable[[Figures, List[str], int], None]:
    if isinstance(target, (str, os.PathLike)):
        return _to_file(os.path.abspath(target))
    for name, make in (("log_metrics", _to_mlflow), ("add_scalar", _to_writer), ("log", _to_wandb)):
        if callable(getattr(target, name, None)):
            return make(target)
    raise AssayError(E_USAGE, f"cannot log to {type(target).__name__!r}",
                     "give a run of wandb, the module mlflow, a SummaryWriter, an object with log(dict), or a file's name")


class Tracker:
    """Figures of the recording, given to a tracker every so often and at the end. `with` ends it."""

    def __init__(self, target: Any, every: Optional[float], session: Optional[PathLike]) -> None:
        self._put = _put_to(target)
        path = session or os.environ.get("ASSAY_SESSION") or running_session()
        if not path:
            raise AssayError(E_STOPPED, "nothing is being recorded", "run under assay run, or start an assay.Monitor() first")
        self._path = os.path.abspath(os.fspath(path))
        self._step = 0
        self._done = threading.Event()
        self._lock = threading.Lock()
        self.failure: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._run, args=(every,), name="assay-tracker", daemon=True) if every else None
        if self._thread:
            self._thread.start()
        atexit.register(self.close)

    def figures(self) -> Dict[str, Any]:
        """What would be logged now."""
        found: Dict[str, Any] = json.loads(str(open_session(self._path).report("scalars")))
        return found

    def update(self) -> None:
        """Logs what is known now. What the tracker raises is raised."""
        with self._lock:
            found = self.figures()
            findings = [str(text) for text in found.pop("assay/findings", [])]
            self._put({name: float(value) for name, value in found.items()}, findings, self._step)
            self._step += 1

    def _try(self) -> None:
        """A tracker that fails must not end a training run."""
        try:
            self.update()
        except Exception as error:
            self.failure = error

    def _run(self, every: float) -> None:
        while not self._done.wait(every):
            self._try()

    def close(self) -> None:
        """Logs a last time."""
        atexit.unregister(self.close)
        if self._done.is_set():
            return
        self._done.set()
        if self._thread and self._thread is not threading.current_thread():
            self._thread.join()
        self._try()

    def __enter__(self) -> "Tracker":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def log_to(target: Any, every: Optional[float] = 60.0, session: Optional[PathLike] = None) -> Tracker:
    """Logs Real Utilization, limiters' shares, energy, wasted time, steps and findings to a tracker: a run of wandb (or any
    object with log(dict)), the module mlflow, a SummaryWriter of TensorBoard, or the name of a file of JSON lines. Every
    `every` seconds on a thread of its own (None: when update() is called), and when it is closed or the program ends.
    session: a recording; when not given, that of `assay run`, else of the monitor that runs in this process.
    """
    return Tracker(target, every, session)
