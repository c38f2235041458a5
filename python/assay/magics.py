"""The notebook commands: %assay …, and the spellings that notebooks have used before."""
from __future__ import annotations

import argparse
import re
import shlex
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, NoReturn, Optional

from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.display import HTML, SVG, display

from . import cells as _cells
from . import kernels
from .errors import E_DATA, E_USAGE, AssayError
from .live import Live
from .notebook import Notebook
from .session import LEVELS, Cell, Recording, frame_of
from .show import boxed, table

CELL_INTERVAL = 0.1  # of %%assay, where nothing is measured yet
LIVE_INTERVAL, LIVE_WINDOW, LIVE_MAX = 2.0, 120.0, 1e7
LIVE_METRICS = "cpu_summary,memory"
METRICS = ("cpu_summary memory io_read io_write io_read_count io_write_count gpu_util_summary gpu_band_summary "
           "gpu_mem_summary gpu_util gpu_band gpu_mem, groups: cpu_all mem io gpu gpu_all")

HELP = f"""\
%assay start [INTERVAL] [--levels LIST]   measure every INTERVAL seconds (1)
%%assay [INTERVAL] [--level L] [--text]   as first line of a cell: measure it (every 0.1 s where nothing is measured) and report
%assay stop                               end measuring; what was measured can still be asked for
%assay report [--cell RANGE] [--level L] [--text]
%assay plot [--metrics LIST] [--cell RANGE] [--level L] [--save FILE] [--live [INTERVAL WINDOW]]
%assay cells                              the cells that ran
%assay auto [on|off] [--level L] [--text] a report after each cell
%assay resources                          CPUs, memory, GPUs
%assay data [FILE] [--level L]            the GPUs' samples, or a level's, as CSV or JSON, or as the data frame assay_df
%assay history [FILE]                     the cells as CSV or JSON, or as the data frame cell_history_df
%assay export [FILE]                      the session: a .zip or folder for notebook monitors, .assay, .csv, .jsonl, .parquet
%assay import FILE                        look at a session instead
%assay load-data FILE, load-history FILE  what was written, as loaded_perfdata_df and loaded_cell_history_df
%assay script [FILE], %assay script end   write the cells in between, which do not run, as a program that measures itself
%assay kernels, %assay wrap NAME          kernels of other languages, and one that is recorded: pick it in the menu
RANGE   numbers of cells as in In [5]: 5, 2:8 (both included), :5, 3:, -1, -3:-1; without one the last cell that did something
L       {', '.join(LEVELS)}
LIST    {METRICS}, or what 'assay metrics' lists
Notebooks that say %perfmonitor_start, %cell_history, %export_session and the like go on working."""

# Spellings that notebooks have used before, and what they are here.
OLDER = {
    "perfmonitor_fast_setup": "auto on --signature",
    "perfmonitor_help": "help",
    "perfmonitor_resources": "resources",
    "perfmonitor_start": "start",
    "perfmonitor_stop": "stop",
    "perfmonitor_perfreport": "report --signature",
    "perfmonitor_plot": "plot",
    "perfmonitor_enable_perfreports": "auto on --signature",
    "perfmonitor_disable_perfreports": "auto off",
    "perfmonitor_export_perfdata": "perfdata",
    "perfmonitor_export_cell_history": "history",
    "perfmonitor_load_perfdata": "load-data",
    "perfmonitor_load_cell_history": "load-history",
    "cell_history": "cells",
    "show_cell_history": "cells",
    "export_session": "export",
    "import_session": "import",
    "start_write_script": "script",
    "end_write_script": "script end",
    "list_kernels": "kernels",
    "wrap_kernel": "wrap",
}


class Arguments(argparse.ArgumentParser):
    """Tells what is wrong instead of ending the interpreter."""

    def error(self, message: str) -> NoReturn:
        raise AssayError(E_USAGE, f"{self.prog}: {message}", "see %assay help")


def _parser(name: str, *groups: Callable[[Arguments], Any]) -> Arguments:
    parser = Arguments(prog=name, add_help=False, allow_abbrev=False)
    for group in groups:
        group(parser)
    return parser


def _add_level(p: Arguments) -> None:
    p.add_argument("--level", choices=LEVELS, default="process")


def _add_any_level(p: Arguments) -> None:
    p.add_argument("--level", choices=LEVELS)


def _add_plot(p: Arguments) -> None:
    p.add_argument("--level", choices=LEVELS)
    p.add_argument("--metrics")
    p.add_argument("--save")
    p.add_argument("--save-jpeg")
    p.add_argument("--live", nargs="*", type=float)


def _add_cell(p: Arguments) -> None:
    p.add_argument("--cell")


def _add_text(p: Arguments) -> None:
    p.add_argument("--text", action="store_true")


def _add_signature(p: Arguments) -> None:
    """The tags of older monitors, under their spellings."""
    p.add_argument("--signature", action="store_true", help=argparse.SUPPRESS)


def _add_file(p: Arguments) -> None:
    p.add_argument("path", nargs="?")
    p.add_argument("--file")
    p.add_argument("--name")


def _words(line: str) -> List[str]:
    # A range may begin with a minus, which argparse takes for an option.
    try:
        return shlex.split(re.sub(r"(^|\s)--cell\s+", r"\1--cell=", line), comments=True)
    except ValueError as error:
        raise AssayError(E_USAGE, f"cannot read '{line}': {error}", "close the quotation") from None


def _complain(error: AssayError) -> None:
    print(f"assay: {error.message}" + (f"\n       {error.hint}" if error.hint else ""), file=sys.stderr)


@magics_class
class AssayMagics(Magics):
    """%assay and its older spellings."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.book = Notebook()
        self._live: Optional[Live] = None
        self._asked: Optional[argparse.Namespace] = None  # of %%assay, for the end of the cell

    # Events.

    def keep_cell(self, lines: List[str]) -> List[str]:
        """What IPython runs for a cell: while a script is written, only a word about it."""
        name = self.book.kept_for("".join(lines)) if "".join(lines).strip() else None
        if name:
            return [f"print({f'assay: kept for {name}, not run'!r})\n"]
        # %%assay is a line of the cell, so that the lines below it keep their numbers.
        first = re.match(r"%%assay(\s.*)?$", lines[0]) if lines else None
        return [f"%assay cell{(first[1] or '').rstrip()}\n", *lines[1:]] if first else lines

    def pre_run_cell(self, info: Any) -> None:
        try:
            self.book.begin_cell(info.raw_cell or "", getattr(self.shell, "execution_count", 0), self._file_of(info.raw_cell or ""))
        except AssayError as error:
            _complain(error)

    def _file_of(self, source: str) -> str:
        """The file name that a kernel gives a cell's code; empty in a terminal, where the name has the cell's number."""
        if not self._in_kernel():
            return ""
        try:
            return str(self.shell.compile.get_code_name(source, source, 0))
        except Exception:  # another kernel's compiler, or an old one
            return ""

    def post_run_cell(self, result: Any) -> None:
        # An empty cell ends without having begun.
        if not (result.info.raw_cell or "").strip():
            return
        if isinstance(getattr(result, "error_in_exec", None), KeyboardInterrupt):
            self._end_live()
        try:
            cell = self.book.end_cell()
            if cell and self._asked:
                self._report_cell(cell)
                return
            made = self.book.auto_report(cell) if cell else None
        except AssayError as error:
            _complain(error)
            return
        if made and self.book.auto:
            self._show(made._replace(signature=self.book.auto["signature"]), self.book.auto["text"])

    def _report_cell(self, cell: Cell) -> None:
        """What %%assay was asked for."""
        asked, self._asked = self._asked, None
        if asked and self._measuring():
            self._show(self.book.report_ended(cell, asked.level), asked.text)

    def _show(self, made: Any, text: bool) -> None:
        if text or not self._in_kernel():
            print(made)
        else:
            display(made)

    def _in_kernel(self) -> bool:
        """A terminal cannot show pictures and tables."""
        return getattr(self.shell, "kernel", None) is not None

    def _end_live(self) -> None:
        if self._live:
            self._live.stop()
        self._live = None

    def close(self) -> None:
        self._end_live()
        self.book.stop()
        self.book.drop()

    # Ours.

    @line_cell_magic
    def assay(self, line: str, cell: Optional[str] = None) -> None:
        """%assay COMMAND …; %assay help lists the commands. %%assay measures a cell and reports on it."""
        if cell is not None:
            self.assay(f"cell {line}")
            self.shell.run_cell(cell)
            return
        command, rest = [*line.split(None, 1), "", ""][:2]
        commands: Dict[str, Callable[[str], None]] = {
            "": self._help, "auto": self._auto, "cell": self._cell, "cells": self._cells, "data": self._data, "export": self._export,
            "help": self._help, "history": self._history, "import": self._import, "kernels": self._kernels,
            "load-data": self._load_data, "load-history": self._load_history, "perfdata": self._perfdata,
            "plot": self._plot, "report": self._report, "resources": self._resources, "script": self._script,
            "start": self._start, "stop": self._stop, "wrap": self._wrap}
        try:
            if command not in commands:
                raise AssayError(E_USAGE, f"there is no command '{command}'", "see %assay help")
            commands[command](rest)
        except AssayError as error:
            # One line, and no traceback: the notebook goes on.
            _complain(error)
        except OSError as error:
            _complain(AssayError(-(error.errno or 0), f"'{error.filename}': {error.strerror}"))

    def older(self, name: str) -> Callable[[str], None]:
        """The command for an older spelling."""
        def command(line: str = "") -> None:
            self.assay(f"{OLDER[name]} {line}")
        command.__doc__ = f"The same as %assay {OLDER[name]}"
        return command

    def _help(self, _line: str = "") -> None:
        print(HELP)

    def _start(self, line: str) -> None:
        parser = _parser("%assay start")
        parser.add_argument("interval", nargs="?", type=float, default=1.0)
        parser.add_argument("--levels")
        args = parser.parse_args(_words(line))
        if self.book.monitor is not None and self.book.monitor.running:
            print(f"assay: measuring already, every {self.book.monitor.interval:g} s; %assay stop ends that")
            return
        self._end_live()
        self.book.start(args.interval, levels=args.levels)
        kept = self.book.monitor.interval if self.book.monitor else args.interval
        print(f"assay: measuring every {kept:g} s")
        if self.book.monitor and kept > args.interval:
            print(f"assay: {self.book.monitor.describe().get('notice')}")

    def _cell(self, line: str) -> None:
        """The cell that runs is to be measured, and reported on when it ends."""
        parser = _parser("%%assay", _add_level, _add_text)
        parser.add_argument("interval", nargs="?", type=float)
        args = parser.parse_args(_words(line))
        if not self._measuring():
            self._end_live()
            self.book.start(args.interval or CELL_INTERVAL)
        self._asked = args

    def _measuring(self) -> bool:
        return self.book.monitor is not None and self.book.monitor.running

    def _stop(self, _line: str = "") -> None:
        self._end_live()
        monitor = self.book.monitor
        if monitor is None or not self.book.stop():
            print("assay: nothing runs")
            return
        counts = monitor.counts
        print(f"assay: stopped after {counts.taken} samples, {counts.missed} missed")

    def _report(self, line: str) -> None:
        args = _parser("%assay report", _add_cell, _add_any_level, _add_text, _add_signature).parse_args(_words(line))
        made = self.book.report(args.cell, args.level)
        self._show(made._replace(signature=args.signature) if isinstance(made, _cells.Report) else made, args.text)

    def _plot(self, line: str) -> None:
        args = _parser("%assay plot", _add_cell, _add_plot).parse_args(_words(line))
        options = {"where": args.cell, "level": args.level, "metrics": args.metrics}
        if args.save_jpeg:
            self._save_jpeg(args.save_jpeg, options)
        elif args.save:
            print(f"assay: wrote {self.book.plot(args.save, **options)}")
        elif not self._in_kernel():
            raise AssayError(E_USAGE, "a terminal cannot show pictures", "write %assay plot --save FILE.svg")
        elif args.live is not None:
            self._plot_live(args.live, options)
        else:
            self._plot_here(options)

    def _save_jpeg(self, path: str, options: Dict[str, Any]) -> None:
        """JPEG, whatever the file is called."""
        with tempfile.TemporaryDirectory(prefix="assay-plot-") as folder:
            shutil.move(self.book.plot(Path(folder) / "plot.jpg", **options), path)
        print(f"assay: wrote {path}")

    def _plot_here(self, options: Dict[str, Any]) -> None:
        charts = self.book.charts(**options)
        if charts is not None:
            display(charts)
            return
        with tempfile.TemporaryDirectory(prefix="assay-plot-") as folder:
            path = self.book.plot(Path(folder) / "plot.svg", **options)
            display(SVG(data=path.read_text(encoding="utf-8")))

    def _plot_live(self, numbers: List[float], options: Dict[str, Any]) -> None:
        if len(numbers) > 2 or any(not 0 < n <= LIVE_MAX for n in numbers):
            raise AssayError(E_USAGE, "--live takes an interval and a window in seconds",
                             f"write --live {LIVE_INTERVAL:g} {LIVE_WINDOW:g}")
        monitor = self.book.monitor
        if monitor is None or not monitor.running:
            raise AssayError(E_USAGE, "nothing is being measured", "start with %assay start")
        interval, window = [*numbers, *(LIVE_INTERVAL, LIVE_WINDOW)[len(numbers):]]
        self._end_live()
        self._live = Live(self.book, monitor, interval, window, {**options, "metrics": options["metrics"] or LIVE_METRICS})

    def _cells(self, _line: str = "") -> None:
        head = ("cell", "source", "began", "seconds")
        rows = [(c.index, c.source.strip().replace("\n", " ⏎ ")[:100], _clock(c.start), f"{c.duration:.2f}")
                for c in self.book.cells()]
        if self._in_kernel():
            display(HTML(boxed(table(head, rows))))
            return
        for index, source, began, seconds in [head, *rows]:
            print(f"{index!s:>5}  {began:<8} {seconds:>8}  {source}")

    def _auto(self, line: str) -> None:
        parser = _parser("%assay auto", _add_level, _add_text, _add_signature)
        parser.add_argument("state", nargs="?", choices=("on", "off"), default="on")
        parser.add_argument("--interval", type=float, default=1.0)
        args = parser.parse_args(_words(line))
        if args.state == "off":
            self.book.auto = None
            print("assay: no reports after cells")
            return
        if not self._measuring():
            self._end_live()
            self.book.start(args.interval)
        self.book.auto = {"level": args.level, "text": args.text, "signature": args.signature}
        print(f"assay: a report after each cell, level {args.level}")

    def _resources(self, _line: str = "") -> None:
        print(self.book.resources())

    def _data(self, line: str) -> None:
        parser = _parser("%assay data", _add_file)
        parser.add_argument("--level", choices=LEVELS)
        args = parser.parse_args(_words(line))
        self._give_data(args, self.book.table(args.level), "assay_df")

    def _perfdata(self, line: str) -> None:
        """As notebook monitors have it: a level's columns, GiB and percent."""
        args = _parser("%perfmonitor_export_perfdata", _add_file, _add_level).parse_args(_words(line))
        self._give_data(args, self.book.table(args.level, notebook=True), "perfdata_df")

    def _give_data(self, args: argparse.Namespace, what: str, name: str) -> None:
        path = args.file or args.path
        if path:
            print(f"assay: wrote {self.book.export_data(path, what)}")
        else:
            self._push(args.name or name, self.book._measured().data(what))

    def _script(self, line: str) -> None:
        words = _words(line)
        if words[:1] == ["end"]:
            print(f"assay: wrote {self.book.end_script()}")
        else:
            print(f"assay: the next cells go to {self.book.start_script(words[0] if words else None)} and do not run; %end_write_script writes it")

    def _kernels(self, _line: str = "") -> None:
        for name, title, language in kernels.listed():
            print(f"  {name}: {title} ({language})")

    def _wrap(self, line: str) -> None:
        parser = _parser("%assay wrap")
        parser.add_argument("name")
        parser.add_argument("--save", default="")
        args = parser.parse_args(_words(line))
        print(f"assay: choose the kernel '{kernels.wrap(args.name, args.save)}': each start records a session in the notebook's folder")

    def _history(self, line: str) -> None:
        args = _parser("%assay history", _add_file).parse_args(_words(line))
        path = args.file or args.path
        if path:
            print(f"assay: wrote {self.book.export_cells(path)}")
        else:
            self._push(args.name or "cell_history_df", frame_of(self.book.history()))

    def _push(self, name: str, frame: Any) -> None:
        self.shell.push({name: frame})
        print(f"assay: the data frame is {name}")

    def _export(self, line: str) -> None:
        args = _parser("%assay export", _add_file).parse_args(_words(line))
        print(f"assay: wrote {self.book.export_session(args.file or args.path)}")

    def _import(self, line: str) -> None:
        args = _parser("%assay import", _add_file).parse_args(_words(line))
        path = args.file or args.path
        if not path:
            raise AssayError(E_USAGE, "which session?", "write %assay import FILE")
        self._end_live()
        session = self.book.attach(path)
        cells = len(session.cells()) if session._has_cells() else 0
        print(f"assay: looking at {session.path}, " + (f"{cells} cells" if cells else "a run without cells"))

    def _load_data(self, line: str, name: str = "loaded_perfdata_df") -> None:
        args = _parser("%assay load-data", _add_file).parse_args(_words(line))
        path = args.file or args.path
        if not path:
            raise AssayError(E_USAGE, "which file?", "give the file that was exported")
        self._push(args.name or name, _read_frame(path))

    def _load_history(self, line: str) -> None:
        self._load_data(line, "loaded_cell_history_df")


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def _read_frame(path: str) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise AssayError(E_USAGE, f"a data frame needs pandas: {error}", "install pandas") from None
    try:
        return pandas.read_json(path) if path.endswith(".json") else pandas.read_csv(path)
    except ValueError as error:
        raise AssayError(E_DATA, f"cannot read '{path}': {error}", "give a file that was exported") from None


_loaded: Dict[int, AssayMagics] = {}


def newest_recording() -> Optional[Recording]:
    """What a notebook measures, or looks at."""
    found = [magics.book.recording for magics in _loaded.values() if magics.book.recording is not None]
    return found[-1] if found else None


def load(shell: Any) -> None:
    """Registers the commands and follows the cells; a second time does nothing."""
    if id(shell) in _loaded:
        return
    magics = _loaded[id(shell)] = AssayMagics(shell)
    shell.register_magics(magics)
    for name in OLDER:
        shell.register_magic_function(magics.older(name), "line", name)
    shell.events.register("pre_run_cell", magics.pre_run_cell)
    shell.events.register("post_run_cell", magics.post_run_cell)
    shell.input_transformers_cleanup.append(magics.keep_cell)


def unload(shell: Any) -> None:
    """Ends measuring and stops following the cells."""
    magics = _loaded.pop(id(shell), None)
    if magics:
        shell.events.unregister("pre_run_cell", magics.pre_run_cell)
        shell.events.unregister("post_run_cell", magics.post_run_cell)
        shell.input_transformers_cleanup.remove(magics.keep_cell)
        magics.close()
