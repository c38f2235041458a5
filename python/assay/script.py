"""Cells of a notebook as a program that measures itself."""
from __future__ import annotations

import time
from typing import List, Optional, Sequence

from .session import Cell

_HEAD = '''\
#!/usr/bin/env python3
"""Cells {first} to {last} of a notebook, written {when}."""
import assay

monitor = assay.Monitor(interval={interval!r}).start()
log = assay.RunLog()
'''

_TAIL = '''
monitor.stop()
print(monitor.report())
monitor.save({session!r})
monitor.close()
'''


def _is_command(line: str) -> bool:
    return line.lstrip().startswith(("%", "!"))


def _code(source: str) -> str:
    """The cell as plain Python: lines that only a notebook understands become comments."""
    if source.lstrip().startswith("%%"):  # A cell magic may hold any language.
        return "\n".join(f"# {line}".rstrip() for line in source.splitlines())
    lines = source.splitlines()
    plain: List[str] = []
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        # A block must not become empty.
        plain.append(f"{indent}pass  # {line.lstrip()}" if _is_command(line) else line)
    return "\n".join(plain)


def _compiles(code: str) -> bool:
    try:
        compile(code, "<cell>", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _cell(cell: Cell) -> str:
    code = _code(cell.source)
    if not _compiles(code):  # Commands inside expressions, await outside a function: kept, not run.
        code = "\n".join(f"# {line}".rstrip() for line in cell.source.splitlines())
    name = f"cell {cell.index}"
    return f"\n# In [{cell.index}]\nlog.begin({name!r})\n{code}\nlog.end({name!r})\n"


def default_name(now: Optional[float] = None) -> str:
    return time.strftime("notebook_script_%Y%m%d_%H%M%S.py", time.localtime(now))


def text_of(cells: Sequence[Cell], interval: float, session: str) -> str:
    """The program: each cell is a phase; the run's report is printed and the session saved at its end."""
    head = _HEAD.format(first=cells[0].index, last=cells[-1].index, interval=interval,
                        when=time.strftime("%Y-%m-%d %H:%M:%S"))
    return head + "".join(_cell(c) for c in cells) + _TAIL.format(session=session)
