#!/usr/bin/env python3
"""Checks that every #include in src/ and include/ keeps to the direction in which the parts depend on each other.

The rule is the table below; docs and CONTRIBUTING.md only describe it.
"""

import re
import sys

from tracked import ROOT, report, tracked_files

# Each part and the parts it may use besides itself.
_CORE = ["base", "tensor", "graph", "ops"]
_COMPILED = _CORE + ["autodiff", "passes", "runtime"]
_TRAINING = _COMPILED + ["vision", "nn", "optim", "data", "formats", "model", "train"]
_EVERYTHING = _TRAINING + ["optimize", "predict", "comm", "sync"]
MAY_USE = {
    "threads": [],
    "base": ["threads"],
    "tensor": ["base"],
    "graph": ["base", "tensor"],
    "ops": ["base", "tensor", "graph"],
    "autodiff": _CORE,
    "passes": _CORE + ["autodiff"],
    "runtime": _CORE + ["autodiff", "passes"],
    "vision": ["base", "tensor"],
    "nn": _COMPILED + ["vision"],
    "optim": _COMPILED,
    "data": ["base", "tensor", "vision"],
    "formats": _CORE + ["autodiff", "passes", "nn"],
    "model": _COMPILED + ["nn", "optim", "formats"],
    "optimize": _COMPILED + ["nn", "optim", "formats", "model"],
    "train": _COMPILED + ["nn", "optim", "data", "formats", "model"],
    "predict": _TRAINING,
    "comm": ["base", "tensor"],
    "sync": _TRAINING + ["comm"],
    "job": _TRAINING + ["comm", "sync"],
    "serve": _EVERYTHING,
    "capi": _EVERYTHING + ["job", "serve"],
    "cli": _EVERYTHING + ["job", "serve"],
}

# The part a public header belongs to, where that is not the header's own name.
PUBLIC_HEADER = {
    "error": "base",
    "input_error": "base",
    "stored_types": "tensor",
    "warning": "base",
    "losses": "nn",
    "masks": "nn",
    "zoo": "nn",
    "profile": "runtime",
    "program": "runtime",
    "schedules": "optim",
    "triggers": "optim",
    "metrics": "nn",
    "caffe": "formats",
    "npy": "formats",
    "onnx": "formats",
    "safetensors": "formats",
    "tensorboard": "formats",
    "fit_data": "train",
    "predictor": "predict",
    "rate_finder": "train",
    "gradient_function": "train",
    "c_api": "capi",
    "c_preparation": "capi",
    "c_training": "capi",
    "c_scores": "capi",
    "thalweg": "capi",  # includes all the others
}

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def part_of(path):
    """The part that a path such as src/graph/graph.h, graph/graph.h or thalweg/graph.h belongs to, or None."""
    pieces = str(path).split("/")
    if pieces[0] in ("src", "include"):
        pieces = pieces[1:]
    if len(pieces) < 2:
        return None
    if pieces[0] != "thalweg":
        return pieces[0] if pieces[0] in MAY_USE else None
    name = pieces[1].split(".")[0]
    name = PUBLIC_HEADER.get(name, name)
    return name if name in MAY_USE else None


def check(path, text):
    """The problems of one file."""
    part = part_of(path)
    if part is None:
        return [f"{path}: belongs to no known part; add it to tests/tools/check_includes.py"]
    problems = []
    for match in _INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(1)) + 1
        included = match.group(1)
        used = part_of(included)
        if used is None:
            problems.append(f'{path}:{line}: "{included}" belongs to no known part; write the path from src/ or '
                            "include/, or add the part to tests/tools/check_includes.py")
        elif used != part and used not in MAY_USE[part]:
            problems.append(f'{path}:{line}: {part} must not use {used} ("{included}")')
        elif path.parts[0] == "include" and not included.startswith("thalweg/"):
            problems.append(f'{path}:{line}: a public header includes "{included}", which is private')
    return problems


def main():
    problems = []
    for path in tracked_files():
        if path.parts[0] in ("src", "include") and path.suffix in (".h", ".cc"):
            problems += check(path, (ROOT / path).read_text())
    return report("include directions", problems)


if __name__ == "__main__":
    sys.exit(main())
