"""DataLoaders: the samples that their samplers draw, and samples of every form."""

import numpy as np
import pytest
import thalweg
import torch
from thalweg import data, nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)


class Recorded(torch.utils.data.Dataset):
    """Points that keep a list of the samples that were asked for."""

    def __init__(self, count=64):
        torch.manual_seed(0)
        self.x = torch.randn(count, 3)
        self.y = (self.x[:, 0] > self.x[:, 2]).long()
        self.asked = []

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        self.asked.append(index)
        return self.x[index], self.y[index]


class Forget(thalweg.Callback):
    """Of what was asked for before training, to learn the types of samples."""

    def __init__(self, points):
        super().__init__()
        self.points = points

    def on_start(self, state):
        self.points.asked.clear()


def estimator(**options):
    net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
    return thalweg.Estimator(net, **{"epochs": 1, "progress": "none", **options})


def epochs_of(points, loader, epochs=3, **options):
    """The samples of each epoch, in order. More are read ahead than are used."""
    options = {"readers": 1, **options}
    estimator(epochs=epochs, callbacks=[Forget(points)], options=options).fit(loader)
    count = len(loader.sampler)
    return [points.asked[first : first + count] for first in range(0, epochs * count, count)]


def test_a_split_by_samplers_keeps_its_halves_apart():
    points = Recorded()
    train = DataLoader(points, batch_size=8, sampler=SubsetRandomSampler(range(1, 49)))
    test = DataLoader(points, batch_size=8, sampler=SubsetRandomSampler(range(49, 64)))
    assert [sorted(epoch) for epoch in epochs_of(points, train)] == [list(range(1, 49))] * 3
    assert set(points.asked) == set(range(1, 49))
    fitted = estimator().fit(train)
    points.asked.clear()
    fitted.evaluate(test)
    assert set(points.asked) - {0} == set(range(49, 64))
    # In the order of the sampler's list.
    np.testing.assert_array_equal(fitted.predict(test), fitted.predict(points.x[49:]))


def test_random_samplers_draw_anew_in_each_epoch_and_alike_in_each_run():
    points = Recorded()

    def drawn(sampler):
        return epochs_of(points, DataLoader(points, batch_size=16, sampler=sampler), shuffle=False)

    weights = [0.0] * 32 + [1.0] * 32
    first, second, third = drawn(WeightedRandomSampler(weights, 64))
    assert min(first + second + third) >= 32 and first != second != third
    assert drawn(WeightedRandomSampler(weights, 64)) == [first, second, third]
    torch.manual_seed(5)
    assert drawn(WeightedRandomSampler(weights, 64)) != [first, second, third]
    assert [len(set(epoch)) for epoch in drawn(RandomSampler(points, num_samples=16))] == [16] * 3
    seeds = [drawn(RandomSampler(points, True, generator=torch.Generator().manual_seed(seed))) for seed in (3, 3, 4)]
    assert seeds[0] == seeds[1] != seeds[2]


def test_a_run_that_is_resumed_draws_what_it_would_have(tmp_path):
    points = Recorded()
    loader = DataLoader(points, batch_size=16, sampler=WeightedRandomSampler([1.0] * 64, 64))
    straight = estimator(epochs=3).fit(loader)
    estimator(epochs=2, checkpoints=str(tmp_path)).fit(loader)
    resumed = estimator(epochs=3).fit(loader, resume=str(tmp_path))
    np.testing.assert_array_equal(resumed.predict(points.x), straight.predict(points.x))


def test_a_sampler_of_ones_own_decides_the_order():
    class Backwards(Sampler):
        def __iter__(self):
            return iter(range(63, -1, -1))

        def __len__(self):
            return 64

    points = Recorded()
    loader = DataLoader(points, batch_size=16, sampler=Backwards())
    assert epochs_of(points, loader) == [list(range(63, -1, -1))] * 3


def test_batches_are_as_large_as_those_of_the_loader():
    steps = []

    class Watch(thalweg.Callback):
        def on_step(self, state):
            steps.append(state.batches_per_epoch)

    points = Recorded(60)
    batches = BatchSampler(SubsetRandomSampler(range(50)), batch_size=8, drop_last=True)
    estimator(callbacks=[Watch()]).fit(DataLoader(points, batch_sampler=batches))
    estimator(callbacks=[Watch()], batch_size=30).fit(DataLoader(points, batch_size=8))
    assert steps == [6] * 6 + [2] * 2


def test_what_cannot_be_heeded_is_refused():
    points = Recorded()

    class Buckets(BatchSampler):
        pass

    for loader, message in [
        (DataLoader(points, batch_sampler=Buckets(range(64), 8, False)), "has a Buckets, but batches are made by the trainer"),
        (DataLoader(points, batch_size=None), "batch_size=None"),
        (DataLoader(points, sampler=DistributedSampler(points, 2, 0)), "DistributedSampler gives this process a share"),
    ]:
        with pytest.raises(thalweg.InputError, match=message):
            estimator().fit(loader)
        with pytest.raises(thalweg.InputError, match=message):
            data.from_loader(loader)


class Dicts(torch.utils.data.Dataset):
    def __init__(self, **columns):
        self.columns = columns

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, index):
        return {name: column[index] for name, column in self.columns.items()}


class Difference(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(1, 2)

    def forward(self, left, right):
        return self.head(left - right)


def test_samples_that_are_dicts():
    points = Recorded()
    left, right, y = points.x[:, :1], points.x[:, 2:], points.y
    loader = DataLoader(Dicts(left=left, right=right, label=y), batch_size=16)
    fitted = thalweg.Estimator(Difference(), epochs=30, learning_rate=0.05, metrics="accuracy", progress="none").fit(loader)
    assert [value.name for value in fitted.model_.graph.inputs] == ["left", "right"]
    assert fitted.score(loader) > 0.9
    expected = fitted.predict((left, right))
    # By name, whatever their order, with or without a target and with things that the model does not take.
    for columns in ({"right": right, "left": left}, {"id": y, "right": right, "labels": y, "left": left}):
        np.testing.assert_array_equal(fitted.predict(DataLoader(Dicts(**columns))), expected)
    with pytest.raises(thalweg.InputError, match="hold no target"):
        fitted.fit(DataLoader(Dicts(left=left, right=right)))
    named = data.from_loader(DataLoader(Dicts(x=points.x, mine=y)), target="mine")
    assert named.target_types == [("int64", (None,))]
    with pytest.raises(thalweg.InputError, match="have no 'my'; they have x, mine"):
        data.from_loader(DataLoader(Dicts(x=points.x, mine=y)), target="my")


def test_samples_without_a_target():
    points = Recorded()
    fitted = estimator().fit(points.x, points.y)
    expected = fitted.predict(points.x)
    for dataset in (TensorDataset(points.x), list(points.x), points, [((row,), 0) for row in points.x]):
        np.testing.assert_array_equal(fitted.predict(DataLoader(dataset, batch_size=10)), expected)
    two = thalweg.Estimator(Difference(), epochs=1, progress="none").fit((points.x[:, :1], points.x[:, 2:]), points.y)
    pairs = DataLoader(TensorDataset(points.x[:, :1], points.x[:, 2:]), batch_size=10)
    np.testing.assert_array_equal(two.predict(pairs), two.predict((points.x[:, :1], points.x[:, 2:])))
    with pytest.raises(thalweg.InputError, match="hold no target"):
        fitted.evaluate(DataLoader(TensorDataset(points.x)))
    with pytest.raises(thalweg.InputError, match="hold no target"):
        two.evaluate(pairs)


def test_workers_draw_alike():
    points = Recorded()
    loader = DataLoader(points, batch_size=16, sampler=WeightedRandomSampler([1.0] * 64, 64))
    alone = estimator(epochs=2).fit(loader)
    together = estimator(epochs=2, workers=2).fit(loader)
    np.testing.assert_allclose(together.predict(points.x), alone.predict(points.x), rtol=1e-3, atol=1e-4)
