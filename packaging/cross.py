"""A release for aarch64, made on x86-64: Debian's cross compiler, and its libraries in a folder of their own."""
import os
import pathlib

import dist

LIBRARIES = """
libc6-dev libinih-dev libjansson-dev libncurses-dev libsqlite3-dev libcurl4-openssl-dev libarchive-dev libcairo2-dev
libjpeg62-turbo-dev libmicrohttpd-dev zlib1g-dev libyaml-dev libcrypt-dev libnghttp2-dev
""".split()

CROSS = """\
[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-gcc-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64-static', '-L', '{root}']

[properties]
sys_root = '{root}'
library_dirs = ['{root}/usr/lib/aarch64-linux-gnu']
pkg_config_libdir = ['{root}/usr/lib/aarch64-linux-gnu/pkgconfig', '{root}/usr/share/pkgconfig']

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""


def fetch(folder):
    """Debian's libraries for arm64, unpacked below folder/root; apt's own state is not touched."""
    root = folder / "root"
    if (root / "complete").exists():
        return root
    for name in ("lists/partial", "cache/archives/partial", "root"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    options = [f"-oDir::State::Lists={folder}/lists", f"-oDir::Cache={folder}/cache", "-oAPT::Architecture=arm64",
               "-oAPT::Architectures=arm64", "-oDir::State::status=/dev/null", "-oAPT::Sandbox::User=" + os.environ.get("USER", "root"),
               "-oDebug::NoLocking=1"]
    dist.call("apt-get", *options, "update", "-qq")
    dist.call("apt-get", *options, "install", "-y", "-qq", "--download-only", "--no-install-recommends", *LIBRARIES)
    for deb in sorted((folder / "cache/archives").glob("*.deb")):
        dist.call("dpkg-deb", "-x", deb, root)
    (root / "complete").touch()
    return root


def setup(folder):
    """Arguments for Meson, flags for the compiler."""
    root = fetch(pathlib.Path(folder).resolve())
    file = root.parent / "aarch64.ini"
    file.write_text(CROSS.format(root=root))
    flags = f"-idirafter {root}/usr/include -idirafter {root}/usr/include/aarch64-linux-gnu"
    return ["--cross-file", str(file)], flags
