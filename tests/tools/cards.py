"""The table of docs/CARDS.md from src/compute/peaks.def: `python3 tests/tools/cards.py` writes it, tests/lint looks that it is up to date."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "CARDS.md"
BEGIN, END = "<!-- the table of src/compute/peaks.def -->\n", "<!-- end -->\n"
HEAD = ["model", "SMs", "clock, MHz", "FP16 tensor, TFLOP/s", "memory, GB/s", "GPU links, GB/s", "PCIe", "limit, W", "at rest, W", "source"]


def row(line):
    """A row of the page; what is unknown is a dash."""
    model, rest = re.fullmatch(r'PEAK\("([^"]+)", +(.+)\)', line).groups()
    numbers, source = rest.rsplit(', "', 1)
    _, sms, clock, _, memory, links, gen, lanes, limit, rest_lo, rest_hi, tensor = (part.strip() for part in numbers.split(","))
    at_rest = rest_lo if rest_lo == rest_hi else f"{rest_lo} to {rest_hi}"
    cells = [sms, clock, tensor, memory, links, "0" if gen == "0" else f"{gen} x{lanes}", limit, at_rest]
    return " | ".join([model, *("--" if cell == "0" else cell for cell in cells), source.rstrip('"')])


def table():
    lines = [line for line in (ROOT / "src" / "compute" / "peaks.def").read_text().splitlines() if line.startswith('PEAK("')]
    rows = [" | ".join(HEAD), " | ".join(["---"] * len(HEAD)), *map(row, lines)]
    return "".join(f"| {text} |\n" for text in rows)


def page(text):
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
