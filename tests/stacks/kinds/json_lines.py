"""Reads records as JSON in the training loop."""
import json

from common import steps

LINES = [json.dumps({"id": i, "tokens": list(range(50)), "text": "word " * 20}) for i in range(200)]


def read_batch(lines):
    return [json.loads(line) for line in lines]  # PLACE


def train():
    for _ in steps():
        batch = read_batch(LINES)
        sum(len(record["tokens"]) for record in batch)


train()
