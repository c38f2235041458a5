"""Phrases that docs/STYLE.md retired stay away from what people read."""
import re

import pytest

from test_lint import tracked

RETIRED = ["its kin", "that is not there", "the room there is", "a choice it has", "is at hand", "one word too many", "as far as the source",
           "had nothing to do yet", "stands before", "is there already", "see that it is", "see that the"]
PEOPLE_READ = ["src/cmd/*.c", "src/config/*", "src/doctor/*", "man/*", "README.md", "docs/INSTALL.md", "docs/READING.md", "docs/SLURM.md",
               "docs/FAQ.md"]


def strings(path):
    """String literals of C, the whole of other files; comments are for those who work on it."""
    text = path.read_text()
    if path.suffix not in (".c", ".h", ".def"):
        return text
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r'"\s*\n\s*"', "", "\n".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'"\s+"', "", text))))


@pytest.mark.parametrize("phrase", RETIRED)
def test_retired(phrase):
    assert [str(p) for p in tracked(*PEOPLE_READ) if re.search(rf"\b{phrase}\b", strings(p))] == []


def test_the_glossary_has_one_row_a_word():
    rows = [line.split("|")[1].strip() for line in tracked("docs/STYLE.md")[0].read_text().splitlines() if line.startswith("| ")]
    assert len(rows) == len(set(rows) | {"not", "---", "word"}) - 3 + sum(rows.count(w) for w in ("not", "---", "word"))
