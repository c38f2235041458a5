"""Loads its plugins anew for each experiment."""
import importlib
import os
import sys
import tempfile

from common import steps

FOLDER = tempfile.mkdtemp()
for number in range(12):
    with open(os.path.join(FOLDER, f"plugin_{number}.py"), "w") as file:
        file.write("\n".join(f"def f{i}(x):\n    return [x + {i} for _ in range(3)]\n" for i in range(400)))
sys.path.insert(0, FOLDER)
sys.dont_write_bytecode = True


def load(name):
    sys.modules.pop(name, None)
    return importlib.import_module(name)  # PLACE


def train():
    for step in steps():
        for i in range(12):
            load(f"plugin_{i}").f3(step)


train()
