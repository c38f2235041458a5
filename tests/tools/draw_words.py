"""Draws identifiers and comments of src/ at random, to be judged by somebody who did not write them: draw_words.py SEED [N]

An identifier is a function, a type, a macro, or a member of a header's struct, with its declaration; a comment comes with
the line of code that it is beside or above. It is understood when a reader knows without the body what it says. At least 55
of 60 of each should be.
"""
import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMENT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DECLARED = [
    re.compile(r"^(?:static |const |_Noreturn |inline )*\w[\w *]*?\b(\w+)\((?!\*)[^;]*$", re.M),  # a function
    re.compile(r"^(?:struct|enum|union) (\w+) \{", re.M),
    re.compile(r"^#define (\w+)", re.M),
]
MEMBER = re.compile(r"^ {8}(?!return|goto|case)(?:const )?(?:struct |enum |unsigned )?\w+ \**(\w+)(?:\[\w*\])?;", re.M)


def beside(text, begin, end):
    """The code that a comment is beside, else the next line below."""
    before = text[text.rfind("\n", 0, begin) + 1:begin].strip()
    return before or next((line.strip() for line in text[end:].split("\n")[1:3] if line.strip()), "")


def comments_and_code(text):
    """[(comment, the code with it)], and the code without comments and texts."""
    comments = [(m.group(0), beside(text, m.start(), m.end())) for m in COMMENT.finditer(text) if m.group(0).startswith("/*")]
    return comments, COMMENT.sub(lambda m: '""' if m.group(0)[0] != "/" else "", text)


def declared(path, code):
    """{identifier: the line that declares it}"""
    found = {}
    for pattern in DECLARED + ([MEMBER] if path.suffix == ".h" else []):
        for m in pattern.finditer(code):
            found.setdefault(m.group(1), code[m.start():].split("\n", 1)[0].strip())
    return found


def main(seed, n=60):
    names, comments = {}, []
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        said, code = comments_and_code(path.read_text())
        place = str(path.relative_to(ROOT / "src"))
        comments += [f"{' '.join(re.sub(r'^ *[*]', ' ', c[2:-2], flags=re.M).split())}   [{place}: {line}]" for c, line in said if len(c) > 12]
        names.update({k: f"{k}   [{place}: {line}]" for k, line in declared(path, code).items() if len(k) > 1})
    draw = random.Random(seed)
    print(f"seed {seed}: {n} of {len(names)} identifiers, {n} of {len(comments)} comments")
    for heading, lines in (("identifiers", [names[k] for k in draw.sample(sorted(names), n)]), ("comments", draw.sample(comments, n))):
        print(f"\n{heading}")
        print("\n".join(f"{i:3} {line}" for i, line in enumerate(lines, 1)))


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(int, sys.argv[2:3]))
