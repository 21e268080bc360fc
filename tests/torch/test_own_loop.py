"""Training loops of PyTorch around what `thalweg.accelerate(module, gradients=True)` computes. Run by `make test-torch`."""

import copy
import pickle

import pytest
import thalweg
import torch
from test_from_torch import Function
from torch import nn

OPTIONS = {"gradients": True, "tuning": "fixed", "threads": 1}


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=2), nn.GELU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 5),
    )  # fmt: skip


def assert_same_state(module, expected, tolerance=1e-5):
    for name, value in expected.state_dict().items():
        torch.testing.assert_close(module.state_dict()[name], value, rtol=tolerance, atol=tolerance, msg=name)


def steps(module, called, optimizer_kind=torch.optim.Adam):
    """Of a loop with an optimiser of PyTorch, clipping, two passes a step and a last batch that is smaller."""
    optimizer = optimizer_kind(module.parameters(), lr=1e-3)
    losses = []
    for number, size in enumerate((4, 4, 3)):
        torch.manual_seed(number)
        optimizer.zero_grad()
        for _ in range(2):
            loss = nn.functional.cross_entropy(called(torch.randn(size, 3, 8, 8)), torch.randint(0, 5, (size,)))
            loss.backward()
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_an_own_loop_trains_as_with_pytorch():
    expected, module = network(), network()
    fast = thalweg.accelerate(module, **OPTIONS)
    assert dict(fast.named_parameters()).keys() == {f"module.{name}" for name, _ in module.named_parameters()}
    torch.testing.assert_close(steps(module, fast), steps(expected, expected), rtol=1e-5, atol=1e-6)
    assert_same_state(module, expected)
    assert len(fast._conversions) == 1
    # And at inference, with the weights and statistics of the moment.
    fast.eval()
    expected.eval()
    x = torch.randn(6, 3, 8, 8)
    with torch.no_grad():
        torch.testing.assert_close(fast(x), expected(x), rtol=1e-4, atol=1e-5)
        expected[1].running_mean += 1
        module[1].running_mean += 1
        expected[7].bias.zero_()
        module[7].bias.zero_()
        torch.testing.assert_close(fast(x), expected(x), rtol=1e-4, atol=1e-5)
    assert len(fast._conversions) == 2


def test_gradients_of_inputs_and_of_several_outputs():
    class Several(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(9, 4)
            self.layer = nn.Linear(4, 3)
            self.frozen = nn.Linear(3, 3).requires_grad_(False)

        def forward(self, x, ids, unread=None):
            y = self.layer(x + self.words(ids))
            return {"y": y, "places": y.argmax(1), "z": (self.frozen(y), x)}

    module = Several()
    fast = thalweg.accelerate(module, **OPTIONS)
    ids = torch.randint(0, 9, (5,))
    gradients = []
    for called in (module, fast):
        module.zero_grad()
        torch.manual_seed(0)
        x, unread = torch.randn(5, 4, requires_grad=True), torch.randn(2, requires_grad=True)
        result = called(x, ids, unread=unread)
        assert not result["places"].requires_grad
        (result["y"].square().sum() + result["z"][0].sum() + result["z"][1].sum()).backward()
        gradients.append([x.grad, unread.grad, module.words.weight.grad, module.layer.weight.grad])
        assert module.frozen.weight.grad is None
    for actual, expected in zip(gradients[1], gradients[0]):
        assert (actual is None) == (expected is None)
        if expected is not None:
            torch.testing.assert_close(actual, expected)


def test_what_is_drawn_follows_pytorchs_seed():
    module = nn.Sequential(nn.Linear(4, 50), nn.Dropout(0.5))
    fast = thalweg.accelerate(module, **OPTIONS)
    x = torch.randn(3, 4)

    def drawn(seed):
        torch.manual_seed(seed)
        module.zero_grad()
        y = fast(x)
        y.sum().backward()
        # What was dropped has no gradient.
        torch.testing.assert_close((y != 0).float().mul(2).sum(0), module[0].bias.grad)
        return y.detach()

    assert torch.equal(drawn(1), drawn(1)) and not torch.equal(drawn(1), drawn(2))
    fast.eval()
    torch.testing.assert_close(fast(x), module(x))


def test_modes_and_frozen_parts_make_other_conversions():
    module = network()
    fast = thalweg.accelerate(module, **OPTIONS)
    x = torch.randn(2, 3, 8, 8)
    fast(x).sum().backward()
    module[1].eval()
    before = module[1].running_mean.clone()
    fast(x)
    assert torch.equal(module[1].running_mean, before)
    module[0].weight.requires_grad_(False)
    module.zero_grad()
    fast(x).sum().backward()
    assert module[0].weight.grad is None and module[3].weight.grad is not None
    assert len(fast._conversions) == 3


def test_mistakes_are_told():
    module = nn.Linear(3, 2)
    fast = thalweg.accelerate(module, **OPTIONS)
    y = fast(torch.randn(2, 3)).sum()
    y.backward(retain_graph=True)
    with pytest.raises(thalweg.Error, match="a second time"):
        y.backward()
    y = fast(torch.randn(2, 3)).square().sum()
    with torch.no_grad():
        module.weight += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    with pytest.raises(thalweg.Error, match="special_airy_ai"):
        thalweg.accelerate(Function(torch.special.airy_ai), **OPTIONS)(torch.zeros(2, 2))


def test_it_travels():
    module = network()
    fast = thalweg.accelerate(module, **OPTIONS)
    x = torch.randn(2, 3, 8, 8)
    expected = fast(x)
    for other in (pickle.loads(pickle.dumps(fast)), copy.deepcopy(fast)):
        torch.testing.assert_close(other(x), expected)
        other(x).sum().backward()
        assert other.module[0].weight.grad is not None and module[0].weight.grad is None


def test_types_of_pytorch():
    module = nn.Linear(4, 3).to(torch.bfloat16)
    fast = thalweg.accelerate(module, **OPTIONS)
    x = torch.randn(2, 4, dtype=torch.bfloat16, requires_grad=True)
    y = fast(x)
    y.float().square().sum().backward()
    assert y.dtype == x.grad.dtype == module.weight.grad.dtype == torch.bfloat16
