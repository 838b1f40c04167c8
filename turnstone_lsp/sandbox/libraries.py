"""Which files a call may read: Python's library, the libraries that were imported, and the system's shared ones."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import sysconfig
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/usr/share/zoneinfo")


def folders_of(names: Iterable[str]) -> dict[str, str]:
    """Where this process would import these libraries from: name -> folder. Imports nothing."""
    found = {}
    for name in names:
        with contextlib.suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.origin:
                package = os.path.dirname(spec.origin)
                found[name] = os.path.dirname(package) if spec.submodule_search_locations else package
    return found


def make_importable(folders: dict[str, str]) -> None:
    """Add the folders of those libraries that are not found without (a server started with PYTHONPATH)."""
    for name, folder in folders.items():
        if os.path.isabs(folder) and importlib.util.find_spec(name) is None:
            sys.path.append(folder)


def readable(names: Iterable[str]) -> list[str]:
    """Files and folders, absolute, of the library, of the imported packages `names`, and of mapped shared objects."""
    paths = {sysconfig.get_path(key) for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths |= set(_SYSTEM)
    for name in names:
        if (file := getattr(sys.modules.get(name), "__file__", None)) is not None:
            package = os.path.dirname(file)
            paths |= {package, f"{package}.libs"}
    paths |= _mapped()
    home = os.path.expanduser("~")
    return sorted(path for path in paths if os.path.isabs(path) and not f"{home}/".startswith(f"{path.rstrip('/')}/"))


def _mapped() -> set[str]:
    """Folders of the shared objects in this process: some Pythons bring their own C library."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        names = {line.rstrip("\n").split(None, 5)[5] for line in maps if line.count("/")}
    return {os.path.dirname(name) for name in names if ".so" in os.path.basename(name)}
