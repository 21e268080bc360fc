"""Sizes that are known only when a model runs, and tensors of such sizes."""

import torch


class FreeSize:
    """A size that depends on the batch. Two of the same expression are equal in every run."""

    def __init__(self, expression):
        self.expression = str(expression)
        self._symbolic = expression

    def __eq__(self, other):
        return isinstance(other, FreeSize) and self.expression == other.expression

    def __hash__(self):
        return hash(self.expression)

    def __repr__(self):
        return self.expression

    @property
    def is_symbol(self):
        """Rather than something computed of one."""
        return self._symbolic.is_symbol

    def divided_by(self, number):
        """The size that this is a multiple of by `number`, whatever the batch; None if it need not be one."""
        quotient = self._symbolic / number
        return FreeSize(quotient) if quotient.is_integer else None

    def value(self, sizes):
        """In a run in which each symbol has the size that `sizes` gives for its name."""
        return int(self._symbolic.subs({symbol: sizes[str(symbol)] for symbol in self._symbolic.free_symbols}))


def size_from(value):
    """An int, or a FreeSize for a torch.SymInt that is no fixed number."""
    if isinstance(value, torch.SymInt):
        expression = value.node.expr
        return int(expression) if expression.is_number else FreeSize(expression)
    return value


class Filled:
    """A tensor of one number whose shape holds free sizes."""

    def __init__(self, shape, number, dtype):
        self.shape = list(shape)
        self.number = number
        self.dtype = dtype


class Counted:
    """The numbers 0, step, 2 * step, ...: as many as a free size says."""

    def __init__(self, size, dtype, step=1):
        self.size = size
        self.dtype = dtype
        self.step = step


def reshape_target(shape, target):
    """What ops.reshape takes to make the shape `target` of `shape`, both with FreeSize for free dimensions.

    None if it cannot say that: it can find out one size.
    """
    result = []
    for position, size in enumerate(target):
        if isinstance(size, FreeSize):
            same_place = position < len(shape) and shape[position] == size
            result.append(0 if same_place else -1)
        else:
            result.append(size)
    if result.count(-1) > 1:
        return None
    return result
