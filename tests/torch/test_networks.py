"""Networks of timm, transformers and segmentation-models-pytorch: PyTorch's answers, and PyTorch's training.

Each row of networks.py is converted once, in training form; the model then answers for another batch size, and a few steps of
SGD leave it with the losses and the weights that PyTorch comes to. Run by `make test-torch`.
"""

import copy
import warnings

import numpy as np
import pytest
import thalweg
import torch
from networks import NETWORKS
from thalweg import data, ops
from torch import nn

DROPOUT = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)
# The networks are too small for more threads.
torch.set_num_threads(1)


def without_chance(module):
    """Draws differ between any two programs."""
    for part in module.modules():
        for holder in (part, getattr(part, "config", None)):
            for name, value in getattr(holder, "__dict__", {}).items():
                if isinstance(value, float) and ("drop" in name or isinstance(part, DROPOUT) and name == "p"):
                    setattr(holder, name, 0.0)
    return module


def first_tensor(result):
    """What counts of what a network returns: the scores, which come first."""
    if isinstance(result, torch.Tensor):
        return result
    return first_tensor(next(iter(result.values() if hasattr(result, "values") else result)))


def trained_by_torch(module, batches, targets, rate):
    module = copy.deepcopy(module).train()
    optimizer = torch.optim.SGD(module.parameters(), lr=rate)
    losses = []
    for batch, target in zip(batches, targets):
        optimizer.zero_grad()
        loss = (first_tensor(module(**batch)) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, module.state_dict()


def trained_by_thalweg(model, module, batches, targets, rate):
    def first(values):
        return values[0] if isinstance(values, (list, tuple)) else values

    def loss(outputs, targets):
        return ops.reduce_mean(ops.square(first(outputs) - first(targets)))

    options = {"learning_rate": rate, "batch_size": len(targets[0]), "shuffle": False, "epochs": 1, "progress": "none"}
    options |= {"threads": 1}
    losses = []
    for batch, target in zip(batches, targets):
        samples = data.TensorDataset([given.numpy() for given in batch.values()], [target.numpy()])
        losses.append(thalweg.Trainer(model, loss, "sgd", **options).fit(samples)[-1].loss)
    return losses, thalweg.load_into_torch(model, copy.deepcopy(module)).state_dict()


def distance(actual, expected):
    """Of all floating weights together."""
    names = [name for name, value in expected.items() if value.is_floating_point()]
    return sum((actual[name].double() - expected[name].double()).square().sum() for name in names).sqrt().item()


def converted(network, prepare=without_chance):
    torch.manual_seed(0)
    module = prepare(network.make())
    with warnings.catch_warnings():
        # A batch that cannot stay free is a failure of these tests.
        warnings.filterwarnings("error", message="the sizes of the model's inputs are fixed")
        return module, thalweg.from_torch(module, network.inputs(2), threads=1)


def assert_small(difference, tolerance, what):
    assert difference < tolerance, f"{what} differ by {difference:.1e}, more than {tolerance:.0e}"


def assert_same_answers(network, module, model):
    """For another batch size than that of the example."""
    inputs = network.inputs(3)
    with torch.no_grad():
        expected = first_tensor(module.eval()(**inputs)).numpy()
    actual = model({name: given.numpy() for name, given in inputs.items()})
    actual = actual[model.graph.outputs[0].name]
    assert actual.shape == expected.shape
    assert_small(np.abs(actual - expected).max() / np.abs(expected).max(), network.tolerance, "the answers")


@pytest.mark.parametrize("name", ["bert", "gpt2", "deit3", "wav2vec2"])
def test_dropout_and_stochastic_depth_leave_nothing_at_inference(name):
    module, model = converted(NETWORKS[name], prepare=lambda module: module)
    assert any(node.op == "dropout" for node in model.graph.nodes)
    assert_same_answers(NETWORKS[name], module, model)


@pytest.mark.parametrize("name", NETWORKS)
def test_answers_and_training(name):
    network = NETWORKS[name]
    module, model = converted(network)
    assert_same_answers(network, module, model)
    batches = [network.inputs(network.batch) for _ in range(network.steps)]
    with torch.no_grad():
        targets = [torch.randn_like(first_tensor(module(**batch))) for batch in batches]
    before = module.state_dict()
    losses, weights = trained_by_torch(module, batches, targets, network.rate)
    our_losses, our_weights = trained_by_thalweg(model, module, batches, targets, network.rate)
    np.testing.assert_allclose(our_losses, losses, rtol=network.training_tolerance)
    moved = distance(before, weights)
    assert moved > 0
    assert_small(distance(our_weights, weights) / moved, network.training_tolerance, "the trained weights")
