"""Where the batch is, and modules of `thalweg.accelerate` as objects. Run by `make test-torch`."""

import copy
import pickle

import pytest
import thalweg
import torch
from test_from_torch import TOLERANCE, error
from torch import nn


def encoder():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32), 2, enable_nested_tensor=False)


class Classes(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 16)
        self.places = nn.Parameter(torch.randn(5, 1, 16))
        self.body = encoder()
        self.head = nn.Linear(16, 3)

    def forward(self, ids, padding=None):
        return self.head(self.body(self.words(ids) + self.places, src_key_padding_mask=padding).mean(0))


def assert_same_for_other_batches(module, example, inputs):
    torch.manual_seed(0)
    model = thalweg.from_torch(module, example, batch_dim=1)
    assert error(model(*[given.numpy() for given in inputs]), module.eval()(*inputs)) < TOLERANCE


@pytest.mark.parametrize("batch", [1, 2])
def test_sequences_first(batch):
    assert_same_for_other_batches(encoder(), torch.randn(5, batch, 16), [torch.randn(5, 7, 16)])
    assert_same_for_other_batches(Classes(), torch.randint(0, 20, (5, batch)), [torch.randint(0, 20, (5, 7))])


def test_sequences_first_beside_a_mask_with_the_batch_first():
    padding = torch.zeros(7, 5, dtype=torch.bool)
    padding[3, 3:] = True
    inputs = [torch.randint(0, 20, (5, 7)), padding]
    assert_same_for_other_batches(Classes(), (torch.randint(0, 20, (5, 2)), padding[:2]), inputs)


def test_recurrent_layers_with_sequences_first():
    module = nn.LSTM(4, 8)
    model = thalweg.from_torch(module, torch.randn(5, 2, 4), batch_dim=1)
    x = torch.randn(5, 7, 4)
    assert error(model(x.numpy())[0], module(x)[0]) < TOLERANCE


def test_a_batch_that_no_input_has():
    with pytest.raises(thalweg.InputError, match="batch_dim is 2, but no example input has more than 2 dimensions"):
        thalweg.from_torch(nn.Linear(4, 3), torch.zeros(2, 4), batch_dim=2)


def test_accelerated_modules_travel():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 3), nn.Tanh()).eval()
    fast = thalweg.accelerate(module, max_conversions=3, tuning="fixed")
    x = torch.randn(5, 4)
    expected = fast(x)
    for other in (pickle.loads(pickle.dumps(fast)), copy.deepcopy(fast)):
        torch.testing.assert_close(other(x), expected, rtol=0, atol=0)
        # It has a module of its own.
        nn.init.zeros_(module[0].weight)
        torch.testing.assert_close(other(x[:2]), expected[:2])
        module.load_state_dict(other._original[0].state_dict())
