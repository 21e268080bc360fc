"""Layers of thalweg.nn whose arguments are PyTorch's, against PyTorch."""

import numpy as np
import pytest
import thalweg
import torch
from thalweg import nn


def assert_same(made, reference, *inputs):
    """Of a module of thalweg.nn and PyTorch's, with the same weights."""
    reference.eval()
    declared = [thalweg.Input((None, *x.shape[1:]), str(x.dtype).removeprefix("torch.")) for x in inputs]
    model = thalweg.Model(made, declared)
    model.load_state_dict({name: value.numpy() for name, value in reference.state_dict().items()})
    with torch.no_grad():
        expected = reference(*inputs)
    np.testing.assert_allclose(model(*inputs), expected.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate"])
@pytest.mark.parametrize("kernel, dilation", [(3, 1), (4, 1), ((2, 5), 1), (3, (2, 1)), (4, 3)])
def test_same_padding(kernel, dilation, mode):
    options = {"padding": "same", "dilation": dilation, "padding_mode": mode}
    assert_same(nn.Conv2d(2, 3, kernel, **options), torch.nn.Conv2d(2, 3, kernel, **options), torch.randn(2, 2, 12, 13))


def test_other_paddings():
    x = torch.randn(2, 2, 12)
    for padding in ("same", "valid", 2):
        assert_same(nn.Conv1d(2, 3, 4, padding=padding), torch.nn.Conv1d(2, 3, 4, padding=padding), x)
    with pytest.raises(thalweg.Error, match="needs stride 1, got 2"):
        thalweg.Model(nn.Conv1d(2, 3, 4, stride=2, padding="same"), [thalweg.Input((None, 2, 12))])
    with pytest.raises(ValueError, match="padding is 'full'"):
        nn.Conv1d(2, 3, 4, padding="full")


@pytest.mark.parametrize("dims", [(), (1,), (1, 2), (2, 3), (2, -1), (-3, -2), (1, 1), (0, 1)])
def test_flatten(dims):
    assert_same(nn.Flatten(*dims), torch.nn.Flatten(*dims), torch.randn(2, 3, 4, 5))


class Attend(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, **options)

    def forward(self, x, padding):
        return self.attention(x, x, x, key_padding_mask=padding)[0]


class TorchAttend(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(16, 4, **options)

    def forward(self, x, padding):
        return self.attention(x, x, x, key_padding_mask=padding)[0]


PADDING = torch.tensor([[False] * 6, [False] * 4 + [True] * 2, [False] + [True] * 5])


@pytest.mark.parametrize("padding", [PADDING, torch.zeros(3, 6).masked_fill(PADDING, -5.0)])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_key_padding_masks(padding, dropout):
    options = {"batch_first": True, "dropout": dropout}
    assert_same(Attend(**options), TorchAttend(**options), torch.randn(3, 6, 16), padding)


class Encode(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2)

    def forward(self, x, padding):
        return self.encoder(x, src_key_padding_mask=padding)


class TorchEncode(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x, padding):
        return self.encoder(x, src_key_padding_mask=padding)


def test_key_padding_masks_of_an_encoder():
    assert_same(Encode(), TorchEncode(), torch.randn(3, 6, 16), PADDING)
