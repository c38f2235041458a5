"""Unpacks its samples in the loop."""
import lzma
import random

from common import steps

random.seed(1)
BLOCKS = [lzma.compress(bytes(random.choices(range(40), k=30000))) for _ in range(8)]


def load(index):
    return lzma.decompress(BLOCKS[index % len(BLOCKS)])  # PLACE


def normalize(raw):
    return [b / 255 for b in raw[:3000]]


def train():
    for step in steps():
        for i in range(8):
            normalize(load(step + i))


train()
