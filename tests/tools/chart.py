"""Renders deploy/helm/assay as helm does, as far as the chart goes: values, if, else and end, eq, quote, toYaml with indent.

What the chart uses beyond that is an error. Without helm this shows what is installed:

    python3 tests/tools/chart.py [-f values.yaml]
"""
import json
import pathlib
import re
import subprocess
import sys

import yaml

CHART = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "helm" / "assay"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}


def merged(base, more):
    """As helm merges values: maps are joined, all else is replaced. What has another vendor's labels is replaced whole."""
    out = dict(base)
    for key, value in more.items():
        out[key] = merged(out[key], value) if isinstance(value, dict) and isinstance(out.get(key), dict) else value
    return {k: v for k, v in out.items() if v is not None}


def complaints(schema, value, at="values"):
    """What a JSON schema (draft 7, as far as ours goes) says against a value."""
    known = {"$schema", "type", "additionalProperties", "required", "properties", "enum", "pattern", "items"}
    assert set(schema) <= known, set(schema) - known
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: not one of {schema['enum']}"]
    kind = TYPES.get(schema.get("type"))
    if kind and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
        return [f"{at}: no {schema['type']}"]
    found = [f"{at}: does not match" for pattern in [schema.get("pattern")] if pattern and not re.search(pattern, value)]
    if isinstance(value, dict):
        found += [f"{at}: {name} is missing" for name in schema.get("required", ()) if name not in value]
        for name, one in value.items():
            more = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            found += [f"{at}.{name}: unknown"] if more is False else complaints({} if more is True else more, one, f"{at}.{name}")
    for i, one in enumerate(value if isinstance(value, list) else ()):
        found += complaints(schema.get("items", {}), one, f"{at}[{i}]")
    return found


def lookup(path, scope):
    for name in path.strip(".").split("."):
        scope = scope.get(name) if isinstance(scope, dict) else None
    return scope


def evaluate(text, scope):
    if match := re.fullmatch(r'eq (\.[\w.]+) "(\w+)"', text):
        return lookup(match.group(1), scope) == match.group(2)
    if match := re.fullmatch(r"toYaml (\.[\w.]+) \| indent (\d+)", text):
        lines = yaml.safe_dump(lookup(match.group(1), scope), default_flow_style=False).rstrip("\n").splitlines()
        return "\n".join(" " * int(match.group(2)) + line for line in lines)
    if match := re.fullmatch(r"(\.[\w.]+) \| quote", text):
        return f'"{lookup(match.group(1), scope)}"'
    assert re.fullmatch(r"\.[\w.]+", text), f"the chart uses more than this knows: {text}"
    return lookup(text, scope)


def render(template, scope):
    out, shown = [], [True]
    for i, part in enumerate(re.split(r"(?:\s*\{\{-|\{\{) *(.*?) *\}\}", template)):
        if i % 2 == 0:
            out.append(part if all(shown) else "")
        elif part.startswith("if "):
            shown.append(bool(evaluate(part[3:], scope)) if all(shown) else False)
        elif part == "else":
            shown[-1] = not shown[-1] and all(shown[:-1])
        elif part == "end":
            shown.pop()
        elif all(shown):
            value = evaluate(part, scope)
            assert value is not None, f"no value: {part}"
            out.append(str(value))
    assert shown == [True]
    return "".join(out)


def scope_of(values, release, namespace):
    """What templates are given; AssertionError when the schema forbids it."""
    chosen = yaml.safe_load((CHART / "values.yaml").read_text())
    for more in values:
        # A selector of nodes is one vendor's: helm joins maps, so the other vendor's label is taken away with null.
        chosen = merged(chosen, more)
    wrong = complaints(json.loads((CHART / "values.schema.json").read_text()), chosen)
    assert not wrong, wrong
    return {"Values": chosen, "Release": {"Name": release, "Namespace": namespace}}


def manifests(values=(), release="assay", namespace="assay"):
    """The objects of the chart with these values, one after the other."""
    scope = scope_of(values, release, namespace)
    for path in sorted((CHART / "templates").glob("*.yaml")):
        yield from (one for one in yaml.safe_load_all(render(path.read_text(), scope)) if one)


def manifests_of_go(program, values=(), release="assay", namespace="assay"):
    """The same by Go's templates, as chart.go was built."""
    scope = scope_of(values, release, namespace)
    text = subprocess.run([program, *sorted((CHART / "templates").glob("*.yaml"))], input=json.dumps(scope), capture_output=True, text=True, check=True).stdout
    return [one for one in yaml.safe_load_all(text) if one]


if __name__ == "__main__":
    files = [yaml.safe_load(pathlib.Path(name).read_text()) for flag, name in zip(sys.argv[1:], sys.argv[2:]) if flag == "-f"]
    print(yaml.safe_dump_all(manifests(files), sort_keys=False), end="")
