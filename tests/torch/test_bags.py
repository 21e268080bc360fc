"""nn.EmbeddingBag as part of a Thalweg model. Run by `make test-torch`."""

import pytest
import thalweg
import torch
from test_from_torch import TOLERANCE, Function, assert_same, error
from test_training import BATCH, STEPS, assert_same_training
from torch import nn

KINDS = [{"mode": "mean"}, {"mode": "sum"}, {"mode": "mean", "padding_idx": 0}, {"mode": "sum", "padding_idx": 2}]


def bags():
    """Of the padding there is none, some, and nothing else."""
    indices = torch.arange(1, 16).view(3, 5)
    indices[1, 2:] = 0
    indices[2, :] = 0
    return indices


@pytest.mark.parametrize("kind", [*KINDS, {"mode": "max"}], ids=str)
def test_bags_of_one_size(kind):
    torch.manual_seed(0)
    module = nn.EmbeddingBag(20, 6, **kind)
    assert_same(module, bags())
    fixed = thalweg.from_torch(module, bags(), free_batch=False)
    assert error(fixed(bags().numpy()), module(bags())) < TOLERANCE


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("last", [False, True])
def test_bags_that_offsets_tell(kind, last):
    torch.manual_seed(0)
    module = nn.EmbeddingBag(20, 6, include_last_offset=last, **kind)
    model = thalweg.from_torch(module, (torch.arange(7), torch.tensor([0, 2, 2, 7] if last else [0, 2, 2])))
    indices, offsets = torch.randint(0, 20, (9,)), torch.tensor([0, 4, 5, 5, 9])
    assert error(model(indices.numpy(), offsets.numpy()), module(indices, offsets)) < TOLERANCE


def test_weights_of_samples():
    table = torch.arange(60.0).view(20, 3)
    module = Function(lambda x, w: nn.functional.embedding_bag(x, table, per_sample_weights=w, mode="sum"))
    assert_same(module, bags(), torch.rand(3, 5))


@pytest.mark.parametrize("kind", [*KINDS, {"mode": "max"}], ids=str)
def test_training(kind):
    torch.manual_seed(0)
    module = nn.Sequential(nn.EmbeddingBag(20, 6, **kind), nn.Linear(6, 3))
    assert_same_training(module, torch.randint(0, 20, (STEPS * BATCH, 5)))


def test_what_is_refused():
    with pytest.raises(thalweg.Error, match="scale_grad_by_freq"):
        thalweg.from_torch(nn.EmbeddingBag(20, 6, scale_grad_by_freq=True), bags())
    with pytest.raises(thalweg.Error, match="padding_idx"):
        thalweg.from_torch(nn.EmbeddingBag(20, 6, mode="max", padding_idx=0), bags())
    with pytest.raises(thalweg.Error, match="without offsets"):
        thalweg.from_torch(nn.EmbeddingBag(20, 6, mode="max"), (torch.arange(7), torch.tensor([0, 2, 3])))
