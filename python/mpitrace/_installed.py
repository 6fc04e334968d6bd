"""What is installed beside the package: the companion and the library that is preloaded."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path


def program() -> Path:
    """The path of the program ``mpitrace`` that came with this package.

    Raises:
        FileNotFoundError: The package was installed without it.
    """
    return _find("bin/mpitrace")


def library() -> Path:
    """The path of ``libmpitrace.so`` that came with this package, for LD_PRELOAD.

    Raises:
        FileNotFoundError: The package was installed without it.
    """
    return _find("lib/mpitrace/libmpitrace.so")


def _find(name: str) -> Path:
    for file in importlib.metadata.files("mpitrace") or []:
        # The list has paths from site-packages on, which may be below the same lib.
        path = Path(str(file.locate())).resolve()
        if path.as_posix().endswith(f"/{name}") and path.is_file():
            return path
    raise FileNotFoundError(f"{name} was not installed with the Python package mpitrace: `pip install ./python` does")
