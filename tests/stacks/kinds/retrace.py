"""Makes and compiles its graph again whenever the shape of a batch changes, which it does each step."""
from common import steps


def trace(shape):
    lines = [f"    x{i + 1} = x{i} * {i} + {shape}" for i in range(600)]
    return "def graph(x0):\n" + "\n".join(lines) + "\n    return x600\n"


def build(source):
    names = {}
    exec(compile(source, "<graph>", "exec"), names)  # PLACE
    return names["graph"]


def train():
    for step in steps():
        graph = build(trace(step % 17))
        graph(1)


train()
