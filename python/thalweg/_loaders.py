"""PyTorch's DataLoader as a dataset: which samples it draws, and what of a sample is input and what target."""

import threading
from collections.abc import Mapping

import numpy

from thalweg._core import InputError
from thalweg._core.data import FunctionDataset, Resampled, as_array, fit_target

# Names under which samples that are dicts hold their target.
_TARGETS = ("label", "labels", "target", "targets", "y")
# The trainer reads ahead into the next epoch while the last batches of this one are still being made.
_EPOCHS_KEPT = 2


class LoaderSource:
    """A loader and what its samples are made of.

    ``inputs`` are the names of the model's inputs, if it is known; only then can samples without a target be told from
    those whose last item is one. ``target`` is the name under which samples that are dicts hold it.
    """

    def __init__(self, loader, target=None, inputs=None):
        _require_samples(loader)
        self._loader = loader
        self._target = target
        self._inputs = inputs
        first = self._collated([0])
        self.input_names = list(self._input_names(first)) if isinstance(first, Mapping) else None
        self.is_labelled = bool(self._split(first)[1])

    def dataset(self, labelled=True, fitting=None):
        """Samples as the loader's sampler draws them; without ``labelled``, their inputs only. ``fitting`` is a Fitting."""
        if labelled and not self.is_labelled:
            raise InputError(
                "the samples of the DataLoader hold no target: it is the last item of a sample, or in a dict "
                f"what goes by the name {', '.join(_TARGETS)}, or by that which thalweg.data.from_loader is told"
            )

        def fetch(indices):
            inputs, targets = self._split(self._collated(indices))
            targets = targets if labelled else []
            return (inputs, targets) if fitting is None else fitting(inputs, targets)

        return _drawn(self._loader, fetch)

    def _collated(self, indices):
        return self._loader.collate_fn([self._loader.dataset[index] for index in indices])

    def _split(self, batch):
        """Inputs and targets of a batch."""
        if isinstance(batch, Mapping):
            target = self._target_name(batch)
            return [batch[name] for name in self._input_names(batch)], [] if target is None else [batch[target]]
        leaves = _leaves(batch)
        is_pair = isinstance(batch, (tuple, list)) and len(batch) > 1
        if not is_pair or (self._inputs is not None and len(leaves) == len(self._inputs)):
            return leaves, []
        return _leaves(batch[:-1]), [batch[-1]]

    def _target_name(self, batch):
        if self._target is not None and self._target not in batch:
            raise InputError(f"the samples of the DataLoader have no '{self._target}'; they have {', '.join(batch)}")
        found = [name for name in _TARGETS if name in batch] if self._target is None else [self._target]
        return found[0] if found else None

    def _input_names(self, batch):
        """All but the target, or those of the model if the samples have them."""
        if self._inputs is not None and all(name in batch for name in self._inputs):
            return self._inputs
        return [name for name in batch if name != self._target_name(batch)]


class Fitting:
    """Makes batches of a loader fit for a model and a loss, as an estimator does with arrays.

    What the loss takes for a target is found out with the first batch, so that all are treated alike.
    """

    def __init__(self, graph, loss=None):
        self._graph = graph
        self._loss = loss
        self._target = None
        self._lock = threading.Lock()

    def __call__(self, inputs, targets):
        declared = self._graph.inputs
        if len(inputs) == len(declared):
            inputs = [_as_type(as_array(array, "X"), value.dtype) for array, value in zip(inputs, declared)]
        if len(targets) == 1:
            targets = [self._fit_target(as_array(targets[0], "the target"))]
        return inputs, targets

    def _fit_target(self, array):
        with self._lock:
            if self._target is None:
                fitted = fit_target(array, self._graph, self._loss)
                self._target = fitted.dtype, fitted.shape[1:]
        dtype, row = self._target
        if array.dtype.kind == "f" and dtype.kind == "i" and (array != numpy.trunc(array)).any():
            raise InputError("the target holds numbers with fractions, where the first sample holds the number of a class")
        shape = (len(array), *row)
        return array.astype(dtype, copy=False).reshape(shape) if array.size == numpy.prod(shape) else array


def _as_type(array, dtype):
    """Unless that would cut off fractions, which the trainer refuses."""
    cuts = array.dtype.kind == "f" and not dtype.startswith("float")
    return array if array.dtype.name == dtype or cuts else array.astype(dtype)


def loader_options(loader):
    """What of a loader's settings the trainer heeds, as options of its own."""
    sampler, batches = _samplers(loader)
    options = {}
    if batches is not None:
        options["batch_size"] = batches.batch_size
        options["last_batch"] = "drop" if batches.drop_last else "keep"
    if sampler is not None and not _is_unordered(sampler):
        options["shuffle"] = False
    return options


def _leaves(item):
    """The arrays of nested tuples, lists and dicts."""
    if isinstance(item, Mapping):
        item = list(item.values())
    if isinstance(item, (tuple, list)):
        return [leaf for part in item for leaf in _leaves(part)]
    return [item]


def _require_samples(loader):
    if not hasattr(loader.dataset, "__getitem__") or not hasattr(loader.dataset, "__len__"):
        raise TypeError("the DataLoader's dataset can only be iterated over; it needs __getitem__ and __len__")
    if len(loader.dataset) == 0:
        raise InputError("the DataLoader's dataset holds no sample")


def _samplers(loader):
    """What chooses the samples, and what makes batches of them; either may be None, the first if there is no choice."""
    sampler, batches = getattr(loader, "sampler", None), getattr(loader, "batch_sampler", None)
    if sampler is None:
        return None, None
    from torch.utils.data import BatchSampler

    if batches is None:
        raise InputError("the DataLoader has batch_size=None, so that its dataset makes batches: give it a batch_size")
    if type(batches) is not BatchSampler:
        raise InputError(
            f"the DataLoader has a {type(batches).__name__}, but batches are made by the trainer: give the DataLoader a "
            "sampler and a batch_size instead of a batch_sampler"
        )
    if getattr(batches.sampler, "num_replicas", 1) > 1:
        raise InputError(
            f"the DataLoader's {type(batches.sampler).__name__} gives this process a share of the samples, but workers of "
            "a group share every batch by themselves: give all of them a DataLoader of all samples"
        )
    return batches.sampler, batches


def _is_unordered(sampler):
    """Whether it says which samples there are, and nothing about their order."""
    from torch.utils.data import RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

    return type(sampler) in (RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler)


def _drawn(loader, fetch):
    """The samples that ``fetch`` gets by number, as many and as often as the loader's sampler draws them."""
    sampler, _ = _samplers(loader)
    count = len(loader.dataset)
    if sampler is None or _draws_each_once(sampler, count):
        return FunctionDataset(fetch, count)
    from torch.utils.data import SubsetRandomSampler

    if type(sampler) is SubsetRandomSampler:
        chosen = [int(index) for index in sampler.indices]
        return FunctionDataset(lambda places: fetch([chosen[place] for place in places]), len(chosen))
    draws = _Draws(sampler)
    return Resampled(FunctionDataset(fetch, count), draws, len(draws))


def _draws_each_once(sampler, count):
    from torch.utils.data import RandomSampler, SequentialSampler

    whole = type(sampler) is SequentialSampler or (type(sampler) is RandomSampler and not sampler.replacement)
    return whole and len(sampler) == count


class _Draws:
    """What a sampler gives in each epoch.

    Random ones are seeded for each epoch, so that workers of a group draw alike and a run that is resumed goes on as it
    would have.
    """

    def __init__(self, sampler):
        import torch

        self._sampler = sampler
        own = getattr(sampler, "generator", None)
        generators = [torch.default_generator, *([own] if isinstance(own, torch.Generator) else [])]
        self._generators = [(generator, generator.initial_seed()) for generator in generators]
        self._orders = {}
        self._lock = threading.Lock()

    def __len__(self):
        return len(self._order(0))

    def __call__(self, epoch, places):
        order = self._order(epoch)
        if max(places) >= len(order):
            raise InputError(f"the DataLoader's sampler gave {len(order)} samples in epoch {epoch + 1}, more in the first")
        return order[places].tolist()

    def _order(self, epoch):
        with self._lock:
            if epoch not in self._orders:
                if len(self._orders) == _EPOCHS_KEPT:
                    del self._orders[min(self._orders)]
                self._orders[epoch] = self._draw(epoch)
            return self._orders[epoch]

    def _draw(self, epoch):
        if hasattr(self._sampler, "set_epoch"):
            self._sampler.set_epoch(epoch)
        states = [generator.get_state() for generator, _ in self._generators]
        try:
            for generator, seed in self._generators:
                generator.manual_seed((seed + epoch) % 2**63)
            return numpy.fromiter((int(index) for index in self._sampler), "int64")
        finally:
            for (generator, _), state in zip(self._generators, states):
                generator.set_state(state)
