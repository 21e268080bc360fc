"""The command ``thalweg``: the program that lies in the package."""

import os
import pathlib
import sys

import pyarrow

_PACKAGE = pathlib.Path(__file__).parent


def main() -> None:
    program = _PACKAGE / "bin" / "thalweg"
    arrow = pathlib.Path(pyarrow.__file__).parent
    if arrow.parent != _PACKAGE.parent:
        # Its run path leads to a pyarrow beside the package only.
        before = os.environ.get("LD_LIBRARY_PATH")
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join([str(arrow), *([before] if before else [])])
    os.execv(program, ["thalweg", *sys.argv[1:]])
