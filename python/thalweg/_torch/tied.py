"""Models with weights of several names, as modules of PyTorch have them that share a parameter."""

import copyreg

from thalweg import _pickling
from thalweg._core import Error, Model


class TiedModel(Model):
    """A model that knows its weights by further names too: ``other_names`` gives for each the one in the graph."""

    def __init__(self, graph, other_names, **options):
        super().__init__(graph, **options)
        self._other_names = dict(other_names)

    def weight(self, name):
        return super().weight(self._other_names.get(name, name))

    def set_weight(self, name, value):
        super().set_weight(self._other_names.get(name, name), value)

    def state_dict(self):
        weights = super().state_dict()
        return weights | {other: weights[name] for other, name in self._other_names.items()}

    def load_state_dict(self, state_dict, strict=True):
        weights = dict(state_dict)
        for other, name in self._other_names.items():
            if other in weights:
                given = weights.pop(other)
                if weights.setdefault(name, given) is not given and not _equal(weights[name], given):
                    raise Error(f"{name} and {other} are one weight of the model, but differ in what is given")
        super().load_state_dict(weights, strict)

    def __reduce__(self):
        _, (files, options) = copyreg.dispatch_table[Model](self)
        return _tied_model, (files, self._other_names, options)


def _equal(a, b):
    return a.shape == b.shape and bool((a == b).all())


def _tied_model(files, other_names, options):
    return TiedModel(_pickling._graph(files), other_names, **options)
