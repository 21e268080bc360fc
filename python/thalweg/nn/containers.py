"""Modules that hold other modules."""

import copy
import functools
import operator
from collections.abc import Mapping

from thalweg._core import ops
from thalweg._core.nn import Module, _time_distributed


class _Numbered(Module):
    """Children under the names 0, 1, ..., or under those of a mapping."""

    def __init__(self, modules):
        super().__init__()
        items = modules.items() if isinstance(modules, Mapping) else enumerate(modules)
        for name, module in items:
            if not isinstance(module, Module):
                raise TypeError(f"{type(self).__name__} holds modules; '{name}' is a {type(module).__name__}")
            setattr(self, str(name), module)

    def append(self, module):
        setattr(self, str(len(self)), module)
        return self

    def _modules(self):
        return [module for _, module in self.named_children()]

    def __len__(self):
        return len(self._modules())

    def __iter__(self):
        return iter(self._modules())

    def __getitem__(self, index):
        return self._modules()[index]


class Sequential(_Numbered):
    """Modules one after another; several, or one mapping of names to modules.

    >>> from thalweg import nn
    >>> len(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)))
    3
    """

    def __init__(self, *modules):
        super().__init__(modules[0] if len(modules) == 1 and isinstance(modules[0], Mapping) else modules)

    def forward(self, x):
        for module in self:
            x = module(x)
        return x


class Concat(_Numbered):
    """Gives the same input to every branch and joins their results along ``dim``.

    >>> import thalweg
    >>> from thalweg import nn
    >>> net = nn.Concat(nn.Linear(4, 8), nn.Linear(4, 3))
    >>> thalweg.Model(net, [thalweg.Input((None, 4))]).graph.outputs[0].shape
    (None, 11)
    """

    def __init__(self, *branches, dim=1):
        super().__init__(branches)
        self.dim = dim

    def forward(self, x):
        return ops.concat([branch(x) for branch in self], self.dim)


class Sum(_Numbered):
    """Gives the same input to every branch and adds up their results.

    >>> import thalweg
    >>> from thalweg import nn
    >>> net = nn.Sum(nn.Linear(4, 3), nn.Sequential(nn.Linear(4, 3), nn.ReLU()))
    >>> thalweg.Model(net, [thalweg.Input((None, 4))]).weight_names()
    ['0.weight', '0.bias', '1.0.weight', '1.0.bias']
    """

    def __init__(self, *branches):
        super().__init__(branches)

    def forward(self, x):
        return functools.reduce(operator.add, [branch(x) for branch in self])


class _Around(Module):
    """Does something around one module, its ``body``."""

    def __init__(self, body):
        super().__init__()
        if not isinstance(body, Module):
            raise TypeError(f"{type(self).__name__} is made around a module, not a {type(body).__name__}")
        self.body = body


class Residual(_Around):
    """x + body(x).

    >>> from thalweg import nn
    >>> block = nn.Residual(nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()))
    """

    def forward(self, x):
        return self.body(x) + x


class TimeDistributed(_Around):
    """Applies a module to every time step of [N, T, ...] at once, as Keras does.

    >>> import thalweg
    >>> from thalweg import nn
    >>> net = nn.TimeDistributed(nn.Conv2d(1, 4, 3))
    >>> thalweg.Model(net, [thalweg.Input((None, 10, 1, 8, 8))]).graph.outputs[0].shape
    (None, 10, 4, 6, 6)
    """

    def forward(self, x):
        return _time_distributed(self, self.body, x)


class ModuleList(_Numbered):
    """A list of modules, which forward() of another module calls as it likes."""

    def __init__(self, modules=()):
        super().__init__(modules)


class ModuleDict(_Numbered):
    """Modules by name, which forward() of another module calls as it likes.

    >>> from thalweg import nn
    >>> heads = nn.ModuleDict({"age": nn.Linear(8, 1), "city": nn.Linear(8, 20)})
    >>> list(heads), "age" in heads
    (['age', 'city'], True)
    """

    def __init__(self, modules=()):
        super().__init__(dict(modules))

    def keys(self):
        return dict(self.named_children()).keys()

    def values(self):
        return dict(self.named_children()).values()

    def items(self):
        return dict(self.named_children()).items()

    def __iter__(self):
        return iter(self.keys())

    def __getitem__(self, name):
        return dict(self.named_children())[name]

    def __contains__(self, name):
        return name in self.keys()


class Lambda(Module):
    """A function of values as a module, for a Sequential.

    >>> import thalweg
    >>> from thalweg import nn
    >>> net = nn.Sequential(nn.Lambda(lambda x: x * 2.0), nn.Linear(4, 3))
    >>> thalweg.Model(net, [thalweg.Input((None, 4))]).weight_names()
    ['1.weight', '1.bias']
    """

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *values):
        return self.function(*values)


class TransformerEncoder(Module):
    """``num_layers`` copies of a layer, and a normalisation if there is one.

    >>> import thalweg
    >>> from thalweg import nn
    >>> net = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2)
    >>> thalweg.Model(net, [thalweg.Input((None, 10, 16))]).graph.outputs[0].shape
    (None, 10, 16)
    """

    def __init__(self, encoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        if norm is not None:
            self.norm = norm

    def forward(self, src, mask=None, src_key_padding_mask=None):
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask)
        return self.norm(src) if "norm" in vars(self) else src
