"""Every family of torchvision's classifiers: the same answers at inference."""

import numpy as np
import pytest
import thalweg
import torch
from torchvision import models

TOLERANCE = 2e-5
NAMES = [
    "alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "googlenet", "inception_v3", "maxvit_t", "mnasnet0_5",
    "mobilenet_v2", "mobilenet_v3_small", "regnet_y_400mf", "resnet18", "resnext50_32x4d", "shufflenet_v2_x0_5",
    "squeezenet1_1", "swin_t", "swin_v2_t", "vgg11_bn", "vit_b_32",
]  # fmt: skip
# With fewer weights to begin with than they draw at random.
OPTIONS = {"googlenet": {"init_weights": False}, "inception_v3": {"init_weights": False}}


def prepared(name):
    """The model with statistics and weights that are not the trivial ones it starts with."""
    torch.manual_seed(0)
    module = getattr(models, name)(weights=None, num_classes=7, **OPTIONS.get(name, {}))
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.5, 1.5)
    for parameter in module.parameters():
        if parameter.abs().max() == 0:
            torch.nn.init.normal_(parameter, 0, 0.1)
    return module.eval()


@pytest.mark.parametrize("name", NAMES)
def test_answers(name):
    module = prepared(name)
    images = torch.randn(2, 3, *([299, 299] if name == "inception_v3" else [224, 224]))
    result = thalweg.from_torch(module, images)(images.numpy())
    # In training form some have further outputs, after the one that counts.
    result = result[0] if isinstance(result, tuple) else result
    with torch.no_grad():
        expected = module(images).numpy()
    assert np.abs(result - expected).max() < TOLERANCE * np.abs(expected).max()
