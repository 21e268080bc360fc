"""Sizes that are known only when a model runs, and tensors of such sizes."""

import torch

from thalweg import ops


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

    @property
    def factor(self):
        """The whole number that this is a multiple of, whatever the batch."""
        number = self._symbolic.as_coeff_Mul()[0]
        return int(number) if number.is_integer else 1

    def divided_by(self, number):
        """The size that this is a multiple of by `number`, whatever the batch; None if it need not be one."""
        quotient = self._symbolic / number
        return FreeSize(quotient) if quotient.is_integer else None

    def linear(self):
        """(name, factor, added) of a size that is factor * symbol + added; (None, 0, 0) for any other."""
        symbols = list(self._symbolic.free_symbols)
        if len(symbols) == 1:
            factor, added = self._symbolic.coeff(symbols[0], 1), self._symbolic.coeff(symbols[0], 0)
            if factor.is_number and added.is_number and factor * symbols[0] + added == self._symbolic:
                return str(symbols[0]), factor, added
        return None, 0, 0

    def value_for_one(self):
        """In a run with one sample."""
        return self.value({str(symbol): 1 for symbol in self._symbolic.free_symbols})

    def value(self, sizes):
        """In a run in which each symbol has the size that `sizes` gives for its name."""
        return int(self._symbolic.subs({symbol: sizes[str(symbol)] for symbol in self._symbolic.free_symbols}))


def size_from(value):
    """An int, or a FreeSize for a torch.SymInt that is no fixed number."""
    if isinstance(value, torch.SymInt):
        expression = value.node.expr
        return int(expression) if expression.is_number else FreeSize(expression)
    return value


class Repeated:
    """A constant that is the same for every sample: known but for how often it is repeated along free dimensions.

    ``tensor`` has 1 in their places; ``shape`` has FreeSize.
    """

    def __init__(self, tensor, shape):
        self.tensor = tensor
        self.shape = list(shape)

    @property
    def dtype(self):
        return self.tensor.dtype

    def is_zero(self):
        return not self.tensor.any()


def filled(shape, number, dtype):
    """A tensor of one number: a constant, or a repeated one if sizes are free."""
    tensor = torch.full([1 if isinstance(size, FreeSize) else size for size in shape], number, dtype=dtype)
    return Repeated(tensor, shape) if any(isinstance(size, FreeSize) for size in shape) else tensor


class Deferred:
    """Stands for a value of the graph that is made when somebody needs it as such.

    ``value(converter, dtype)`` makes it, of any element type: it is cast if it is another one.
    """


class Counted(Deferred):
    """The numbers 0, step, 2 * step, ...: as many as a free size says."""

    def __init__(self, size, dtype, step=1):
        self.size = size
        self.dtype = dtype
        self.step = step

    def value(self, converter, dtype=None):
        steps = converter.value(filled([self.size], self.step, torch.int64))
        return converter.value(ops.cumsum(steps, 0, exclusive=True), self.dtype)


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
