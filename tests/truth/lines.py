"""Does a report name the right line? For programs that the host limits, lines.csv says which it is, written before any report was looked at.

`python3 lines.py record ASSAY FOLDER [SECONDS [LIMIT]]` records them (record.py); what FOLDER already has is not recorded again.
`python3 lines.py judge ASSAY FOLDER` says what the first finding names in each, and the score.

A line is given by a piece of its text, in the function with the name of the recording or in `function :: piece`; several are separated by ` | `.
`<string>:1` is a line without a file.
"""
import ast
import csv
import json
import pathlib
import subprocess
import sys

from record import beside, record_set

HERE = pathlib.Path(__file__).resolve().parent
LABELS = HERE / "lines.csv"
RIGHT, LATER, WRONG, NONE = "right", "second or third", "wrong", "none"


def labels(path=LABELS):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def lines_of_scope(text, scope):
    """The numbers of the lines of a function or class: `outer.inner` for one within another."""
    node = ast.parse(text)
    for name in scope.split("."):
        node = next(n for n in ast.walk(node) if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name == name)
    return range(node.lineno, node.end_lineno + 1)


def lines_of_piece(row, piece, sources=HERE):
    """The places (base name of the file, number) that a piece stands for: exactly one in a right label."""
    if piece.startswith("<"):
        file, number = piece.rsplit(":", 1)
        return [(file, int(number))]
    scope, _, inside = piece.rpartition(" :: ")
    text = (sources / row["file"]).read_text(encoding="utf-8")
    source = text.splitlines()
    return [(pathlib.PurePath(row["file"]).name, n) for n in lines_of_scope(text, scope or row["recording"]) if inside in source[n - 1]]


def accepted_lines(row, sources=HERE):
    return {line for piece in row["accepted"].split(" | ") for line in lines_of_piece(row, piece, sources)}


def places_of(finding):
    """All places of a finding, as they are told: (share, base name, line, words). Where no line is the program's own, there is no name."""
    told = []
    for part in finding["where"]:
        for place in part["places"]:
            own, inner = place["own"], place["inner"]
            line = (pathlib.PurePath(own["file"]).name, own["line"]) if own else (None, None)
            told.append((place["share"], *line, f"{part['words']} {(own or inner or {}).get('text', 'an unknown line')}"))
    return told


def judge(row, report, sources=HERE):
    """(the first finding's limiter, its places, how good they are)."""
    if not report["findings"]:
        return None, [], NONE
    finding = report["findings"][0]
    places, accepted = places_of(finding), accepted_lines(row, sources)
    is_right = [(file, line) in accepted for _, file, line, _ in places]
    how = NONE if not places else RIGHT if is_right[0] else LATER if any(is_right) else WRONG
    return finding["limiter"], places, how


def source_line(file, number, sources=HERE):
    """The text of a line in the file of that name here, or nothing."""
    path = next(sources.rglob(file or "?"), None)
    lines = path.read_text(encoding="utf-8").splitlines() if path else []
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def judge_all(assay, folder, rows, sources=HERE):
    score, left_out = {}, []
    for row in rows:
        path = folder / f"{row['recording']}.assay"
        if not path.exists() or path.with_suffix(".log").exists():
            left_out.append(row["recording"])
            continue
        done = subprocess.run([assay, "report", str(path), "--format", "json"], env=beside(assay), check=True,
                              stdout=subprocess.PIPE, universal_newlines=True)
        limiter, places, how = judge(row, json.loads(done.stdout), sources)
        score[how] = score.get(how, 0) + 1
        print(f"{how:15} {row['recording']}: {limiter}; accepted: {row['accepted']}")
        for share, file, number, words in places:
            print(f"    {share:4.0%} {words}    {source_line(file, number, sources)}".rstrip())
    judged = sum(score.values())
    print(f"lines: {score.get(RIGHT, 0)} of {judged} right at first" + "".join(f", {n} {how}" for how, n in sorted(score.items()) if how != RIGHT))
    if left_out:
        print(f"not judged, for they are missing or failed: {' '.join(left_out)}")
    return judged and score.get(RIGHT, 0) >= 0.9 * judged


def script_of(row):
    """What runs a row's program: the runner beside its file, if there is one."""
    file = HERE / row["file"]
    runner = file.parent / "run.py"
    return runner if runner.exists() else file


def main():
    what, assay, folder, *rest = sys.argv[1:]
    folder = pathlib.Path(folder)
    rows = labels()
    if what == "record":
        wanted = [(row["recording"], script_of(row)) for row in rows if not (folder / f"{row['recording']}.assay").exists()]
        record_set(assay, wanted, folder, *rest)
        return 0
    return 0 if judge_all(str(pathlib.Path(assay).resolve()), folder, rows) else 1


if __name__ == "__main__":
    sys.exit(main())
