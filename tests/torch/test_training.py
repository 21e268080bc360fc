"""Modules of PyTorch trained by Thalweg: after some steps the weights and statistics are those that PyTorch has."""

import copy

import numpy as np
import pytest
import thalweg
import torch
from thalweg import data
from torch import nn

STEPS, BATCH, RATE = 3, 4, 0.05


def without_chance(module):
    """Dropout draws differ between any two programs."""
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
        if isinstance(part, nn.MultiheadAttention):
            part.dropout = 0.0
    return module


def trained_by_torch(module, inputs, labels, batch=BATCH):
    module = copy.deepcopy(module).train()
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    for first in range(0, len(inputs), batch):
        part = slice(first, first + batch)
        optimizer.zero_grad()
        output = module(inputs[part])
        nn.functional.cross_entropy(output, labels[part]).backward()
        optimizer.step()
    return module.state_dict()


def trained_by_thalweg(module, inputs, labels, batch=BATCH, example=None):
    model = thalweg.from_torch(module, inputs[:batch] if example is None else example)
    samples = data.TensorDataset([inputs.numpy()], [labels.numpy()])
    options = {"learning_rate": RATE, "batch_size": batch, "shuffle": False, "epochs": 1, "progress": "none"}
    thalweg.Trainer(model, "cross_entropy", "sgd", **options).fit(samples)
    return thalweg.load_into_torch(model, copy.deepcopy(module)).state_dict()


def assert_same_training(module, inputs, batch=BATCH, tolerance=1e-5):
    torch.manual_seed(0)
    module = without_chance(module)
    labels = torch.randint(0, 3, (len(inputs),))
    expected = trained_by_torch(module, inputs, labels, batch)
    actual = trained_by_thalweg(module, inputs, labels, batch)
    before = module.state_dict()
    for name, value in expected.items():
        if name.endswith("num_batches_tracked"):
            assert actual[name] == value, name
            continue
        change = (value - before[name]).abs().max()
        # What did not move in PyTorch must not move; else the difference counts relative to the weights.
        scale = max(value.abs().max().item(), change.item(), 1e-3)
        assert (actual[name] - value).abs().max() < tolerance * scale, name
        assert change == 0 or not torch.equal(actual[name], before[name]), f"{name} was not trained"


class Text(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.words = nn.Embedding(30, 8)
        self.body = kind(8, 12, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(24, 3)

    def forward(self, ids):
        return self.head(self.body(self.words(ids))[0][:, -1])


def test_convolutions_with_batch_norm():
    module = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8, momentum=0.3), nn.ReLU(inplace=True),
        nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, stride=2), nn.BatchNorm2d(16), nn.SiLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.5), nn.Linear(16, 3),
    )  # fmt: skip
    assert_same_training(module, torch.randn(STEPS * BATCH, 3, 12, 12))


class NormTwice(nn.Module):
    """One batch norm, applied three times."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(5, 5)
        self.norm = nn.BatchNorm1d(5)
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        y = torch.relu(self.norm(self.body(torch.relu(self.norm(self.body(x))))))
        return self.head(self.norm(y))


def test_a_batch_norm_that_is_applied_again():
    torch.manual_seed(0)
    module, x = NormTwice(), torch.randn(STEPS * BATCH, 5)
    assert_same_training(module, x, tolerance=1e-4)
    model = thalweg.from_torch(module, x[:BATCH])
    np.testing.assert_allclose(model(x.numpy()), module.eval()(x).detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("affine", [True, False])
def test_instance_norm(affine):
    module = nn.Sequential(
        nn.Conv2d(3, 6, 3, bias=False), nn.InstanceNorm2d(6, affine=affine), nn.ReLU(), nn.Flatten(2),
        nn.Conv1d(6, 4, 3, bias=False), nn.InstanceNorm1d(4, affine=affine), nn.SiLU(), nn.Flatten(), nn.Linear(4 * 14, 3),
    )  # fmt: skip
    assert_same_training(module, torch.randn(STEPS * BATCH, 3, 6, 6))


class Ordered(nn.Module):
    """What is sorted, and the places of the largest as classes."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 6)
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        y = self.body(x)
        best = nn.functional.one_hot(y.topk(2, 1)[1], 6).sum(1)
        return self.head(torch.cat([y.sort(1, descending=True)[0], y * best], 1))


def test_sorted_values():
    assert_same_training(Ordered(), torch.randn(STEPS * BATCH, 4))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_recurrent_layers(kind):
    assert_same_training(Text(kind), torch.randint(0, 30, (STEPS * BATCH, 6)))


def test_transformer_encoder():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    assert_same_training(nn.Sequential(encoder, nn.Flatten(), nn.Linear(80, 3)), torch.randn(STEPS * BATCH, 5, 16))


def test_resnet18():
    from torchvision.models import resnet18

    torch.manual_seed(0)
    # One step: normalised by small batches, the network then magnifies the last bits.
    assert_same_training(resnet18(num_classes=3), torch.randn(8, 3, 96, 96), batch=8, tolerance=1e-4)


def test_frozen_weights_and_statistics_stay():
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
    module[0].weight.requires_grad_(False)
    module[1].eval()
    x = torch.randn(STEPS * BATCH, 4)
    weights = trained_by_thalweg(module, x, torch.randint(0, 3, (STEPS * BATCH,)))
    assert torch.equal(weights["0.weight"], module[0].weight)
    assert torch.equal(weights["1.running_mean"], module[1].running_mean)
    assert not torch.equal(weights["2.weight"], module[2].weight)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(3, 4)
        self.head = nn.Linear(4, 3, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids):
        return self.head(self.words(ids).mean(1))


def test_tied_weights():
    assert_same_training(Tied(), torch.randint(0, 3, (STEPS * BATCH, 5)))


class PartlyWithoutGradients(nn.Module):
    """`way` is one of those in which a part of a module is kept from being trained."""

    def __init__(self, way):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh())
        self.neck = nn.Linear(8, 8)
        self.head = nn.Linear(8, 3)
        self.way = way

    def forward(self, x):
        return self.head(getattr(self, self.way)(x))

    def detached(self, x):
        return self.neck(self.body(x)).detach()

    def detached_weight(self, x):
        return nn.functional.linear(self.body(x), self.neck.weight.detach(), self.neck.bias)

    def without_gradients(self, x):
        with torch.no_grad():
            y = self.body(x)
            z = y * 2
        return self.neck(y) + z

    @torch.no_grad()
    def decorated(self, x):
        return self.neck(self.body(x))

    def switched(self, x):
        with torch.set_grad_enabled(False):
            y = self.body(x)
            with torch.enable_grad():
                z = self.neck(y)
        return z


@pytest.mark.parametrize("way", ["detached", "detached_weight", "without_gradients", "decorated", "switched"])
def test_nothing_is_trained_without_gradients(way):
    torch.manual_seed(0)
    assert_same_training(PartlyWithoutGradients(way), torch.randn(STEPS * BATCH, 4))


def test_where_gradients_are_off_modules_convert_in_training_form():
    module = nn.Linear(4, 3)
    x = torch.randn(STEPS * BATCH, 4)
    with torch.no_grad():
        weights = trained_by_thalweg(module, x, torch.randint(0, 3, (STEPS * BATCH,)))
    assert not torch.equal(weights["weight"], module.weight)


def test_stopped_gradients_leave_nothing_at_inference(tmp_path):
    module = PartlyWithoutGradients("without_gradients").eval()
    x = torch.randn(5, 4)
    model = thalweg.from_torch(module, x)
    assert "stop_gradient" in [node.op for node in model.graph.nodes]
    model.save(str(tmp_path / "model.onnx"))
    loaded = thalweg.Model.load(str(tmp_path / "model.onnx"))
    np.testing.assert_allclose(loaded(x.numpy()), module(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_dropout_is_for_training_only():
    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.9), nn.Linear(4, 3))
    model = thalweg.from_torch(module, torch.zeros(1, 4))
    x = np.ones((5, 4), "float32")
    np.testing.assert_array_equal(model(x), model(x))


@pytest.mark.parametrize("free_batch", [True, False])
def test_dropout_of_channels_takes_them_whole(free_batch):
    model = thalweg.from_torch(nn.Dropout2d(0.5), torch.zeros(2, 3, 4, 4), free_batch=free_batch)
    (dropout,) = [node for node in model.graph.nodes if node.op == "dropout"]
    assert dropout.outputs[0].shape == (None if free_batch else 2, 3, 1, 1)
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 4)).astype("float32")
    np.testing.assert_array_equal(model(x), x)
