#!/usr/bin/env python3
"""Checks that the name of an op stands as a text in src/ops alone: other code asks for traits, or says op::kConv.

So it is with the operators of ONNX, whose names stand in src/formats/onnx and src/ops: graph/meaning.h says which op they
stand for. Nor may the beginning or end of a name decide what a node is.

Many of the words mean other things elsewhere, such as a mode of resizing or part of a weight's name. _OTHER_MEANINGS
lists them. It should only shrink.
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
    "src/optim/ftrl.cc": {"linear"},  # a slot
    "src/capi/rendezvous.cc": {"log"},  # an option
    "src/sync/compress/": {"clip"},  # an option
}
# Parts that work on graphs, whose nodes may be of ONNX's operators.
_WITHOUT_STANDARD = ("autodiff", "graph", "model", "optimize", "passes", "runtime")
# Gives operators their rules for texts, as src/ops and src/formats/onnx do for numbers.
_HAS_RULES = "src/runtime/text_movement.cc"

_ID = re.compile(r'\bk\w+\{"(\w+)"\}')
_ROW = re.compile(r'^\s*\{(?:OpId)?\{"(\w+)"\}, ', re.MULTILINE)
_TEXT = re.compile(r'"(\w+)"')
_STANDARD = re.compile(r'"(?:onnx\.|ai\.onnx\.ml\.)?([A-Z]\w+)"')
_PART_OF_NAME = re.compile(r"op_name\(\)\.(?:find|rfind|starts_with|ends_with|compare|substr|contains)\b")


def op_names():
    """All that src/ops names, in ids.h, ids_rare.h or in a row of a table."""
    names = set().union(*(_ID.findall((ROOT / "src/ops" / ids).read_text()) for ids in ("ids.h", "ids_rare.h")))
    for path in (ROOT / "src/ops").glob("*.cc"):
        names.update(_ROW.findall(path.read_text()))
    return names


def standard_names():
    """ONNX's operators that have rules."""
    rules = [*(ROOT / "src/formats/onnx").glob("*.cc"), *(ROOT / "src/ops").rglob("*.cc")]
    return set().union(*(_STANDARD.findall(path.read_text()) for path in rules))


def check(path, text, names, standard):
    """The problems of one file."""
    others = set().union(*(words for start, words in _OTHER_MEANINGS.items() if str(path).startswith(start)))
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        for word in _TEXT.findall(code):
            if word in names - others:
                problems.append(f'{path}:{number}: op "{word}" by text; use its constant of src/ops/ids.h, or a trait')
        for word in _STANDARD.findall(code):
            if word in standard:
                problems.append(f'{path}:{number}: operator "{word}" by text; ask graph/meaning.h for the op it stands for')
        if _PART_OF_NAME.search(code):
            problems.append(f"{path}:{number}: part of an op's name decides; compare with its constant, or ask for a trait")
    return problems


def main():
    names = op_names()
    standard = standard_names()
    parts = {part for part, used in MAY_USE.items() if "ops" in used}
    problems = []
    for path in tracked_files():
        sources = path.parts[0] == "src" and path.suffix in (".cc", ".h") and path.parts[1] in parts
        if sources:
            of_graphs = path.parts[1] in _WITHOUT_STANDARD and str(path) != _HAS_RULES
            problems += check(path, (ROOT / path).read_text(), names, standard if of_graphs else set())
    return report("op names", problems)


if __name__ == "__main__":
    sys.exit(main())
