"""What stands in the way of a conversion, collected so that one error can tell all of it."""

import os
import re

import torch

# Check what the sizes of an export were found to be; they compute nothing.
ASSERTIONS = {
    "aten._assert_scalar.default",
    "aten._assert_tensor_metadata.default",
    "aten._assert_async.default",
    "aten._assert_async.msg",
    "aten._is_all_true.default",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
}
_OPERATORS = (torch._ops.OpOverload, torch._ops.HigherOrderOperator)
_NAMED_PLACES = 3
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in [^\n]*(?:\n([^\n]*))?')
NOT_THE_USERS = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.path.dirname(__file__)) + os.sep)


def is_operator(target):
    """Of PyTorch, in contrast to Python's own functions, which an export applies to sizes."""
    return isinstance(target, _OPERATORS)


class Missing:
    """Stands for the result of what cannot be converted, and for what depends on it.

    ``told`` is off for a number that Python's functions compute of the batch size: whoever uses it is at fault.
    """

    def __init__(self, told=True):
        self.told = told


def _place_of(node):
    """The module that called an operator, and the line of code, for people."""
    stack = node.meta.get("nn_module_stack")
    path, kind = list(stack.values())[-1] if stack else ("", None)
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", "")
    module = f"{path} ({name.rpartition('.')[2]})" if path and name else path or "the module itself"
    line = _line_of(node)
    return f"{module}, {line}" if line else module


def _line_of(node):
    """The innermost line that is neither PyTorch's nor ours, as "file:line: code"."""
    found = ""
    for file, number, code in _FRAME.findall(node.meta.get("stack_trace") or ""):
        if not file.startswith(NOT_THE_USERS):
            found = f"{file}:{number}: {code.strip()}" if code.strip() else f"{file}:{number}"
    return found


def _describe(target, nodes):
    places = list(dict.fromkeys(_place_of(node) for node in nodes))
    more = f" and {len(places) - _NAMED_PLACES} more" if len(places) > _NAMED_PLACES else ""
    times = f" ({len(nodes)} times)" if len(nodes) > 1 else ""
    return f"  {target} in {'; '.join(places[:_NAMED_PLACES])}{more}{times}"


class Problems:
    """Operators that nobody converts, and those of which a conversion refuses this use."""

    def __init__(self):
        self._unsupported = {}
        self._refused = {}

    def __bool__(self):
        return bool(self._unsupported or self._refused)

    @property
    def unsupported(self):
        return list(self._unsupported)

    def add_unsupported(self, node):
        self._unsupported.setdefault(node.target, []).append(node)

    def add_refused(self, node, reason):
        self._refused.setdefault((node.target, reason), []).append(node)

    def report(self):
        lines = [_describe(target, nodes) for target, nodes in self._unsupported.items()]
        lines += [f"{_describe(target, nodes)}: {reason}" for (target, reason), nodes in self._refused.items()]
        return "these operators of the module cannot be converted:\n" + "\n".join(lines)
