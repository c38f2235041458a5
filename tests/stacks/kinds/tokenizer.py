"""Splits text into words and numbers them, for each batch anew."""
import re

from common import steps

TEXT = "The quick brown fox, which isn't lazy, jumps over 13 dogs; " * 300
WORD = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[a-zA-Z]+| ?[0-9]+| ?[^\sa-zA-Z0-9]+|\s+(?!\S)|\s+")
numbers = {}


def encode(text):
    words = WORD.findall(text)  # PLACE
    return len(words)


def train():
    for _ in steps():
        for _ in range(10):
            encode(TEXT)
        [numbers.setdefault(w, len(numbers)) for w in TEXT[:2000].split()]


train()
