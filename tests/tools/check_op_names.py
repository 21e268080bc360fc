#!/usr/bin/env python3
"""Checks that the name of an op stands as a text in src/ops alone: other code asks for traits, or says op::kConv.

Many of the words mean other things elsewhere, such as a mode of resizing or part of a weight's name. _OTHER_MEANINGS
lists them; _NOT_YET lists what still matches ops by text. Both should only shrink.
"""

import re
import sys

from check_includes import MAY_USE
from tracked import ROOT, report, tracked_files

# Beginnings of paths, and the words that mean something else there.
_OTHER_MEANINGS = {
    "src/nn/metrics/": {"threshold"},  # an option of metrics
    "src/nn/": {"add", "conv", "dropout", "embedding", "linear", "lstm", "relu"},  # parts of weights' names, modes
    "src/formats/onnx/": {"ceil", "clip", "floor", "linear", "silu", "split", "tanh", "threshold"},  # ONNX's attributes, modes
    "src/formats/caffe/": {"clip", "concat", "conv", "dropout", "lrn", "pad", "relu", "sigmoid", "softmax", "split", "tanh",
                           "threshold", "top_k", "transpose"},  # fields and types of Caffe's
    "src/runtime/kernels/": {"add", "mul"},  # how updates meet what is there
    "src/optimize/": {"split"},  # an attribute of ONNX's
    "src/optim/ftrl.cc": {"linear"},  # a slot
    "src/capi/rendezvous.cc": {"log"},  # an option
    "src/sync/compress/": {"clip"},  # an option
}
# Beginnings of paths.
_NOT_YET = ()

_ID = re.compile(r'\bk\w+\{"(\w+)"\}')
_ROW = re.compile(r'^\s*\{(?:OpId)?\{"(\w+)"\}, ', re.MULTILINE)
_TEXT = re.compile(r'"(\w+)"')


def op_names():
    """All that src/ops names, in ids.h, ids_rare.h or in a row of a table."""
    names = set().union(*(_ID.findall((ROOT / "src/ops" / ids).read_text()) for ids in ("ids.h", "ids_rare.h")))
    for path in (ROOT / "src/ops").glob("*.cc"):
        names.update(_ROW.findall(path.read_text()))
    return names


def check(path, text, names):
    """The problems of one file."""
    others = set().union(*(words for start, words in _OTHER_MEANINGS.items() if str(path).startswith(start)))
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        for word in _TEXT.findall(line.split("//")[0]):
            if word in names - others:
                problems.append(f'{path}:{number}: op "{word}" by text; use its constant of src/ops/ids.h, or a trait')
    return problems


def main():
    names = op_names()
    parts = {part for part, used in MAY_USE.items() if "ops" in used}
    problems = []
    for path in tracked_files():
        sources = path.parts[0] == "src" and path.suffix in (".cc", ".h") and path.parts[1] in parts
        if sources and not str(path).startswith(_NOT_YET):
            problems += check(path, (ROOT / path).read_text(), names)
    return report("op names", problems)


if __name__ == "__main__":
    sys.exit(main())
