"""Unpacks the .tree files of tests/fixtures/drm (ORIGIN.md says what they are) and makes processes that use GPUs."""
import os
import pathlib

from conftest import FIXTURES
from drm_gpu_metrics import table


def number(text):
    return int(text, 0)


def metrics(spec):
    """'@1.3 name=value list=1,2 xcp_stats=10,20;30' as a table."""
    version, *pairs = spec[1:].split()
    values = {}
    for name, _, text in (p.partition("=") for p in pairs):
        if name == "xcp_stats":
            values[name] = [[number(v) for v in part.split(",")] for part in text.split(";") if part]
        else:
            values[name] = [number(v) for v in text.split(",")] if "," in text else number(text)
    return table(version, **values)


class Tree:
    """A machine below a folder."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        (self.root / "sys/class/drm").mkdir(parents=True)
        (self.root / "dev/dri").mkdir(parents=True)
        (self.root / "proc/1").mkdir(parents=True)  # no machine is without its first process
        self.devices = {}

    def add(self, name, **values):
        """Unpacks a description, with {…} filled in."""
        text = (FIXTURES / "drm" / f"{name}.tree").read_text()
        for key, value in values.items():
            text = text.replace("{" + key + "}", str(value))
        folder = None
        for line in text.splitlines():
            if line.startswith("["):
                path = line[1:-1]
                folder = self.root / path[1:] if path[0] == "/" else self.root / "sys/devices" / path
                folder.mkdir(parents=True, exist_ok=True)
            elif line and not line.startswith("#"):
                key, _, value = line.partition(" =")
                self.put(folder, key, value[1:].replace("\\n", "\n").replace("\\t", "\t"))
        return self

    def put(self, folder, key, value):
        path = folder / key
        if key == "nodes":
            for node in value.split():
                self.node(folder, node)
        elif key == "driver":
            target = self.root / "sys/bus/drivers" / value
            target.mkdir(parents=True, exist_ok=True)
            path.symlink_to(os.path.relpath(target, folder))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(metrics(value) if value.startswith("@") else (value + "\n").encode())

    def node(self, folder, node):
        inside = folder / "drm" / node
        inside.mkdir(parents=True, exist_ok=True)
        (inside / "device").symlink_to("../..")
        (self.root / "sys/class/drm" / node).symlink_to(os.path.relpath(inside, self.root / "sys/class/drm"))
        (self.root / "dev/dri" / node).touch()
        self.devices[folder.name] = folder

    def compute_node(self, number_, pci=None, partition=0, render=0):
        """A node of AMD's compute driver: a GPU at that address, or a CPU."""
        location = 0
        if pci:
            bus, device, function = pci.replace(".", ":").split(":")[1:]
            location = partition << 28 | int(bus, 16) << 8 | int(device, 16) << 3 | int(function, 16)
        folder = self.root / f"sys/class/kfd/kfd/topology/nodes/{number_}"
        folder.mkdir(parents=True)
        (folder / "properties").write_text(f"cpu_cores_count {0 if pci else 64}\nsimd_count {304 if pci else 0}\n"
                                           f"vendor_id 4098\ndevice_id 29857\nlocation_id {location}\ndomain 0\n"
                                           f"drm_render_minor {render}\n")

    def file(self, pci, name):
        return self.devices[pci] / name

    def process(self, pid, descriptors):
        """{fd: (where it points, fdinfo text or None)}; replaces what the process had."""
        fd, info = self.root / "proc" / str(pid) / "fd", self.root / "proc" / str(pid) / "fdinfo"
        for folder in (fd, info):
            folder.mkdir(parents=True, exist_ok=True)
            for old in folder.iterdir():
                old.unlink()
        for number_, (target, text) in descriptors.items():
            (fd / str(number_)).symlink_to(target)
            if text is not None:
                (info / str(number_)).write_text(text)


def fdinfo(driver, client, pdev=None, **keys):
    """An fdinfo text; engine_gfx="5 ns" becomes drm-engine-gfx."""
    rows = ["pos:\t0", "flags:\t02100002", "mnt_id:\t26", "ino:\t685", f"drm-driver:\t{driver}",
            f"drm-client-id:\t{client}"]
    rows += [f"drm-pdev:\t{pdev}"] if pdev else []
    rows += [f"drm-{key.replace('_', '-')}:\t{value}" for key, value in keys.items()]
    return "\n".join(rows) + "\n"


def mi300x_node(tree, count=8, mode="SPX", partitions=1, xcp="50,50,50,50,50,50,50,50", busy=50):
    """Eight MI300X in one machine, as their boards have."""
    for i in range(count):
        tree.add("mi300x", root=f"{0x10 + 16 * i:02x}", bus=f"{0x15 + 16 * i:02x}", card=i, render=128 + i, busy=busy,
                 used=1073741824 * (i + 1), mode=mode, ppt=100, xgmi="1000,2000,3000,4000,5000,6000,7000",
                 partitions=partitions, xcp=xcp)
        for p in range(1, partitions):
            # Partitions after the first have platform devices with nodes of their own.
            folder = tree.root / f"sys/devices/platform/amdgpu_xcp_{i * 8 + p}"
            folder.mkdir(parents=True)
            tree.put(folder, "driver", "amdgpu_xcp_drv")
            tree.node(folder, f"renderD{136 + i * 8 + p}")
    return tree
