"""Slips of one line that people make, as edits of C and JavaScript: one table of operators, each finds its places in a text.

Only tokens are looked at, never comments and strings. Whether an edit compiles is the compiler's to say; whether a test notices it, hunt.py's.
"""
import bisect
import re
import subprocess
from typing import List, NamedTuple, Tuple

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<string>"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)
  | (?P<char>'(?:\\.|[^'\\\n])*')
  | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?[uUlLfF]*)
  | (?P<name>[A-Za-z_$][\w$]*)
  | (?P<punct><<=|>>=|===|!==|\.\.\.|=>|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||\?\?|\?\.|[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]])
""", re.S | re.X | re.M)

# What stands for what. A wrong operator and a wrong boundary are different slips.
COMPARISON = {"==": "!=", "!=": "==", "===": "!==", "!==": "===", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
LOGIC = {"&&": "||", "||": "&&"}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "&": "|", "|": "&", "<<": ">>",
              ">>": "<<", "|=": "&=", "&=": "|="}
# Their arguments may stand in any order; those that compare, where only equality counts.
SYMMETRIC = {"MAX", "MIN", "fmax", "fmin", "max", "min", "hypot"}
COMPARING = {"strcmp", "strncmp", "strcasecmp", "strncasecmp", "memcmp"}
SMALL = 16  # integers beyond it are sizes and limits: one more or less is no slip that anybody could see
KEYWORDS = {"return", "if", "for", "while", "else", "case", "goto", "break", "continue", "default", "switch", "do", "sizeof", "typedef", "struct", "enum",
            "union", "static", "const", "extern", "let", "var", "function", "class", "throw", "new", "import", "export"}


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class Slip(NamedTuple):
    """One way to change one line: edits are (start, end, new text), in order."""
    path: str
    line: int
    kind: str
    edits: Tuple[Tuple[int, int, str], ...]

    def apply(self, text):
        for start, end, new in reversed(self.edits):
            text = text[:start] + new + text[end:]
        return text


class Source:
    """A text as tokens, with what the operators ask for."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.is_js = path.endswith(".js")
        self.starts = [0] + [m.end() for m in re.finditer("\n", text)]
        self.tokens, self.directives = [], []
        for m in TOKEN.finditer(text):
            if m.lastgroup == "directive":
                self.directives.append(Token("directive", m.group(), m.start(), m.end()))
            elif m.lastgroup != "comment":
                self.tokens.append(Token(m.lastgroup, m.group(), m.start(), m.end()))
        self.close, self.depth = self.pair()
        self.returns = {} if self.is_js else self.find_functions()

    def pair(self):
        """Where each bracket closes, and how deep in braces each token is."""
        close, stack, depth, braces = {}, [], [], 0
        for i, t in enumerate(self.tokens):
            depth.append(braces)
            if t.kind != "punct":
                continue
            if t.text in "([{":
                stack.append(i)
                braces += t.text == "{"
            elif t.text in ")]}" and stack:
                close[stack.pop()] = i
                braces -= t.text == "}"
        return close, depth

    def find_functions(self):
        """{token of a body's brace: its return type}."""
        found = {}
        for m in re.finditer(r"^(?!typedef|struct \w+$)((?:\w+[ \n*]+)+?)(\w+)\(([^;{}]*)\)\s*\n\{", self.text, re.M):
            at = m.end() - 1
            i = bisect.bisect_left([t.start for t in self.tokens], at)
            found[i] = " ".join(m.group(1).split())
        return found

    def line_of(self, offset):
        return bisect.bisect_right(self.starts, offset)

    def is_binary(self, i):
        """clang-format and prettier put a blank on both sides of a binary operator, and nowhere else."""
        t = self.tokens[i]
        before, after = self.text[t.start - 1:t.start], self.text[t.end:t.end + 1]
        return before in " \n" and after in " \n" and i > 0 and (self.tokens[i - 1].kind in ("name", "number", "char", "string") or self.tokens[i - 1].text in ")]}")

    def slip(self, kind, *edits):
        return Slip(self.path, self.line_of(edits[0][0]), kind, tuple(sorted(edits)))


def replace_operators(kind, table):
    def find(s):
        for i, t in enumerate(s.tokens):
            if t.kind == "punct" and t.text in table and s.is_binary(i):
                yield s.slip(kind, (t.start, t.end, table[t.text]))
    return find


def step_order(s):
    """++i where its value counts is not i++."""
    for i, t in enumerate(s.tokens):
        if t.text not in ("++", "--") or i + 1 >= len(s.tokens):
            continue
        before, after = s.tokens[i - 1], s.tokens[i + 1]
        if after.kind == "name" and before.text not in (";", "{", "}", ")", ",") and s.tokens[i + 2].text not in (".", "->", "["):
            yield s.slip("arithmetic", (t.start, t.end, ""), (after.end, after.end, t.text))
        elif before.kind == "name" and after.text not in (";", ")", ","):
            yield s.slip("arithmetic", (before.start, before.start, t.text), (t.start, t.end, "")) if s.tokens[i - 2].text not in (".", "->") else \
                s.slip("arithmetic", (t.start, t.end, {"++": "--", "--": "++"}[t.text]))


def is_size(s, i):
    """The number of an array's declaration: more room changes nothing."""
    return s.tokens[i - 1].text == "[" and s.tokens[i + 1].text == "]" and s.tokens[min(i + 2, len(s.tokens) - 1)].text in (";", ",", "=", ")", "[", "{")


def other_number(text):
    body = text.rstrip("uUlLfF")
    tail = text[len(body):]
    if re.fullmatch(r"\d+", body):
        n = int(body)
        return [f"{m}{tail}" for m in (n + 1, n - 1) if m >= 0] if n <= SMALL else []
    if re.fullmatch(r"\d*\.\d+|\d+\.\d*", body) and float(body):
        return [f"{float(body) * 1.25:.6g}{tail}" if float(body) * 1.25 % 1 else f"{float(body) * 1.25:.1f}{tail}"]
    return ["1.0" + tail] if re.fullmatch(r"0?\.0*", body) else []


def constants(s):
    for i, t in enumerate(s.tokens):
        if t.kind == "number" and 0 < i < len(s.tokens) - 1 and not is_size(s, i):
            for new in other_number(t.text):
                yield s.slip("constant", (t.start, t.end, new))
    for d in s.directives:
        m = re.fullmatch(r"(\s*#define (\w+)\s+\(?)([\d.]+)(\)?\s*(?:/\*.*)?)", d.text, re.S)
        if m and not re.search(r"(MAX|SIZE|LEN|CAP|BUFFER|TRIES|CHUNK|BATCH)$", m.group(2)):
            for new in other_number(m.group(3)):
                yield s.slip("constant", (d.start + m.start(3), d.start + m.end(3), new))


def negated(s):
    for i, t in enumerate(s.tokens[:-1]):
        if t.text in ("if", "while") and s.tokens[i + 1].text == "(" and i + 1 in s.close:
            a, b = s.tokens[i + 1], s.tokens[s.close[i + 1]]
            yield s.slip("negated condition", (a.end, a.end, "!("), (b.start, b.start, ")"))
        elif t.text == "!" and s.tokens[i + 1].kind in ("name", "punct"):
            yield s.slip("negated condition", (t.start, t.end, "!!" if s.is_js else ""))


def statements(s):
    """(first token, the token of its semicolon) of each statement in a function."""
    start = None
    i = 0
    while i < len(s.tokens):
        t = s.tokens[i]
        if t.text in ("{", "}", ";") and t.kind == "punct":
            start = i + 1
        elif start == i or (i > 0 and s.tokens[i - 1].text == "else"):
            j = i
            while j < len(s.tokens) and s.tokens[j].text not in (";", "{", "}"):
                j = s.close.get(j, j) + 1 if s.tokens[j].text in "([" else j + 1
            if j < len(s.tokens) and s.tokens[j].text == ";" and s.depth[i] > 0:
                yield i, j
        elif t.text == ")" and i + 1 < len(s.tokens) and i in s.close.values():
            opened = next(k for k in range(i, -1, -1) if s.close.get(k) == i)
            if opened > 0 and s.tokens[opened - 1].text in ("if", "while", "for") and s.tokens[i + 1].text not in ("{", ";"):
                start = i + 1
        i += 1


def is_declaration(s, i, j):
    words = s.tokens[i:j]
    if words[0].text in KEYWORDS:
        return True
    return len(words) > 1 and words[0].kind == "name" and (words[1].kind == "name" or (words[1].text == "*" and not s.is_binary(i + 1)))


def dropped(s):
    for i, j in statements(s):
        words = s.tokens[i:j]
        if not words or is_declaration(s, i, j) or (not s.is_js and not inside_function(s, i)):
            continue
        is_call = words[-1].text == ")" and words[0].kind == "name"
        is_assignment = any(t.text in ("=", "+=", "-=", "|=", "&=", "*=", "++", "--") for t in words)
        if is_call or is_assignment:
            yield s.slip("dropped call" if is_call and not is_assignment else "dropped assignment", (words[0].start, s.tokens[j].end, ";" if s.is_js else "(void)0;"))


def inside_function(s, i):
    for brace, returns in s.returns.items():
        if brace < i < s.close.get(brace, brace):
            return returns
    return None


def plain_returns(returns):
    words = set(returns.replace("*", " * ").split()) - {"static", "inline", "const"}
    if words == {"void"}:
        return ["return;"]
    if "*" in words:
        return ["return NULL;"]
    if words == {"bool"}:
        return ["return false;", "return true;"]
    if words & {"struct", "union"}:
        return []
    return ["return 0;"]


def early_returns(s):
    for i, j in statements(s):
        if s.is_js:
            if s.depth[i] > 1 and not is_declaration(s, i, j):
                yield s.slip("early return", (s.tokens[i].start, s.tokens[i].start, "return; "))
            continue
        returns = inside_function(s, i)
        if not returns:
            continue
        old = s.text[s.tokens[i].start:s.tokens[j].end]
        for new in plain_returns(returns):
            if s.tokens[i].text == "return" and old != new:
                yield s.slip("early return", (s.tokens[i].start, s.tokens[j].end, new))
            elif s.tokens[i].text not in KEYWORDS and not is_declaration(s, i, j) and s.tokens[i - 1].text in ("{", "}", ";"):
                yield s.slip("early return", (s.tokens[i].start, s.tokens[i].start, new + " "))


def swapped_arms(s):
    for i, t in enumerate(s.tokens):
        if t.text != "?" or t.kind != "punct":
            continue
        j, colon, nested = i + 1, None, 0
        while j < len(s.tokens) and s.tokens[j].text not in (";", ",", ")", "}", "]"):
            nested += s.tokens[j].text == "?"
            if s.tokens[j].text == ":":
                if not nested and colon is None:
                    colon = j
                nested -= nested > 0
            j = s.close.get(j, j) + 1 if s.tokens[j].text in "([{" else j + 1
        if colon and j > colon + 1 and j < len(s.tokens):
            a, b = (s.tokens[i + 1].start, s.tokens[colon - 1].end), (s.tokens[colon + 1].start, s.tokens[j - 1].end)
            if s.text[slice(*a)] != s.text[slice(*b)]:
                yield s.slip("swapped arms", (*a, s.text[slice(*b)]), (*b, s.text[slice(*a)]))


def arguments(s, i):
    """The spans of tokens between the commas of a call."""
    parts, j = [[i + 1, i + 1]], i + 1
    while j < s.close[i]:
        if s.tokens[j].text == ",":
            parts.append([j + 1, j + 1])
            j += 1
        else:
            j = s.close.get(j, j) + 1 if s.tokens[j].text in "([{" else j + 1
            parts[-1][1] = j
    return parts


def is_symmetric(s, i):
    """Whether the first two arguments of the call whose bracket is token i may be swapped."""
    name = s.tokens[i - 1].text
    if name not in COMPARING:
        return name in SYMMETRIC
    after = [t.text for t in s.tokens[s.close[i] + 1:s.close[i] + 3]]
    return s.tokens[i - 2].text == "!" or after in (["==", "0"], ["!=", "0"])


def swapped_arguments(s):
    for i, t in enumerate(s.tokens):
        if t.text != "(" or i not in s.close or i == 0 or s.tokens[i - 1].kind != "name" or s.tokens[i - 1].text in KEYWORDS or s.depth[i] == 0:
            continue
        parts = arguments(s, i)
        for (a, b), (c, d) in list(zip(parts, parts[1:]))[is_symmetric(s, i):]:
            if b <= a or d <= c or "string" in (s.tokens[a].kind, s.tokens[c].kind):
                continue
            x, y = (s.tokens[a].start, s.tokens[b - 1].end), (s.tokens[c].start, s.tokens[d - 1].end)
            if s.text[slice(*x)] != s.text[slice(*y)]:
                yield s.slip("swapped arguments", (*x, s.text[slice(*y)]), (*y, s.text[slice(*x)]))


def enum_neighbours(s, enums):
    for i, t in enumerate(s.tokens):
        if t.kind != "name" or t.text not in enums or s.depth[i] == 0:
            continue
        for new in enums[t.text]:
            yield s.slip("enum neighbour", (t.start, t.end, new))


OPERATORS = [
    replace_operators("comparison", COMPARISON), replace_operators("boundary", BOUNDARY), replace_operators("logic", LOGIC),
    replace_operators("arithmetic", ARITHMETIC), step_order, constants, negated, dropped, early_returns, swapped_arms, swapped_arguments,
]


def read_enums(root, build):
    """{constant: its neighbours}, of every enum of the headers, with what their tables make."""
    heads = "".join(f'#include "{p.relative_to(root / "src")}"\n' for p in sorted((root / "src").rglob("*.h")) if "pragma once" in p.read_text())
    text = subprocess.run(["cc", "-E", "-P", "-D_GNU_SOURCE", "-I", root / "src", "-I", root / "include", "-I", build, "-x", "c", "-"], input=heads, text=True,
                          capture_output=True, check=False).stdout
    found = {}
    for m in re.finditer(r"\benum (?!option\b)\w* ?\{([^}]*)\}", text):
        names = [n.split("=")[0].strip() for n in m.group(1).split(",")]
        names = [n for n in names if re.fullmatch(r"[A-Z][A-Z0-9_]+", n) and not n.endswith("_COUNT")]
        for a, b in zip(names, names[1:]):
            found.setdefault(a, []).append(b)
            found.setdefault(b, []).append(a)
    return found


def slips_of(path, text, enums) -> List[Slip]:
    """All of them, in the order of the text."""
    s = Source(path, text)
    found = {slip for find in OPERATORS for slip in find(s)}
    if not s.is_js:
        found |= set(enum_neighbours(s, enums))
    return sorted(found, key=lambda slip: (slip.line, slip.kind, slip.edits))
