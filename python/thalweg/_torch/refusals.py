"""What torch.export cannot follow, in words that say where it is and what to write instead."""

import inspect
import linecache
import traceback

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from thalweg._torch.problems import NOT_THE_USERS

_PACKED = (
    "the module packs sequences (pack_padded_sequence), which torch.export cannot follow: let the layer run over the padded "
    "sequences, and take the last output of each by its length, y[torch.arange(y.size(0)), lengths - 1]"
)
_COUNTED = (
    "the module has one_hot take the number of classes from the data, and with it the shape of its result, which "
    "torch.export cannot follow: give num_classes, one_hot(x, num_classes)"
)
_DECIDED = (
    "the module makes a number of Python's, or a decision such as if, of what a tensor holds{}: torch.export cannot follow "
    "that, since other data would ask for another program. Compute with the tensor itself: torch.where in place of if, a "
    "mask such as torch.arange(size) < length in place of a slice up to it; or let forward take the number as an argument"
)


def explanation(error):
    """Of an error that ended an export; None for one that is not known."""
    if _packs_sequences(error):
        return _PACKED
    if _counts_classes(error):
        return _COUNTED
    if isinstance(error, GuardOnDataDependentSymNode):
        return _DECIDED.format(_place(error))
    return None


def what_fixes_sizes(program):
    """Where a module asks for one certain size of the batch, as " by file:line: code"; nothing if that is not known."""
    values = [node.meta.get("val") for node in program.graph.nodes]
    environments = [value.fake_mode.shape_env for value in values if isinstance(value, torch._subclasses.FakeTensor)]
    # Not part of PyTorch's interface: a version without it leaves the place out.
    for place in getattr(environments[0], "replacements_slocs", {}).values() if environments else ():
        frame = getattr(place, "maybe_user_loc", None) or getattr(place, "framework_loc", None)
        if frame is not None and not getattr(frame, "filename", NOT_THE_USERS[0]).startswith(NOT_THE_USERS):
            code = linecache.getline(frame.filename, frame.lineno).strip()
            return f" by {frame.filename}:{frame.lineno}" + (f": {code}" if code else "")
    return ""


def _counts_classes(error):
    """Whether an export ended in a one_hot that asks for the largest class."""
    return any(frame.f_code.co_name == "one_hot" for frame, _ in traceback.walk_tb(error.__traceback__))


def _packs_sequences(error):
    """Whether an export ended in what packs sequences, or in a recurrent layer that was given packed ones."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_name == "pack_padded_sequence":
            return True
        in_layer = frame.f_code.co_filename == inspect.getsourcefile(torch.nn.LSTM)
        if in_layer and isinstance(frame.f_locals.get("batch_sizes"), torch.Tensor):
            return True
    return False


def _place(error):
    """The innermost line that is neither PyTorch's nor ours, as " in file:line: code"; nothing if there is none."""
    lines = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    for file, line in reversed(lines):
        if not file.startswith(NOT_THE_USERS):
            code = linecache.getline(file, line).strip()
            return f" in {file}:{line}" + (f": {code}" if code else "")
    return ""
