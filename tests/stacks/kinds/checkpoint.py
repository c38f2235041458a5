"""Saves its state every step."""
import os
import pickle
import tempfile

from common import steps

PATH = os.path.join(tempfile.mkdtemp(), "state")
STATE = {f"layer.{i}": {"weights": [float(k) for k in range(2000)], "step": i} for i in range(120)}


def update(state):
    for layer in list(state.values())[:10]:
        layer["weights"][0] += 1.0


def save(state):
    with open(PATH, "wb") as file:
        pickle.dump(state, file)  # PLACE


def train():
    for _ in steps():
        update(STATE)
        save(STATE)


train()
