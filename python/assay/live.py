"""A plot in a notebook that is redrawn while the monitor runs."""
from __future__ import annotations

import atexit
import html
import tempfile
import threading
from pathlib import Path
from typing import Any, Dict

from IPython.display import HTML, SVG, display

from .errors import AssayError
from .monitor import Monitor
from .notebook import Notebook


class Live:
    """A plot that is redrawn in place, by a thread, while the monitor runs."""

    def __init__(self, book: Notebook, monitor: Monitor, interval: float, window: float, options: Dict[str, Any]) -> None:
        self._book, self._monitor, self._interval = book, monitor, interval
        self._options: Dict[str, Any] = {**options, "last": window}
        self._folder = tempfile.TemporaryDirectory(prefix="assay-live-")
        self._done = threading.Event()
        self._handle = display(HTML("<i>assay: waiting for samples</i>"), display_id=True)
        self._thread = threading.Thread(target=self._run, name="assay-live", daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def _draw(self) -> None:
        path = self._book.plot(Path(self._folder.name) / "live.svg", **self._options)
        self._handle.update(SVG(data=path.read_text(encoding="utf-8")))

    def _run(self) -> None:
        while not self._done.wait(self._interval):
            running = self._monitor.running
            try:
                self._draw()
            except OSError:  # The folder went: it is over.
                return
            except AssayError as error:
                # Before the first samples there is nothing to draw.
                if not running or self._monitor.counts.taken > 2:
                    self._handle.update(HTML(f"<i>assay: {html.escape(str(error))}</i>"))
                    return
            if not running:
                return

    def stop(self) -> None:
        """Ends the thread; the last picture stays."""
        atexit.unregister(self.stop)
        self._done.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(5)
        self._folder.cleanup()
