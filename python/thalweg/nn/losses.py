"""PyTorch's names of losses, for thalweg.Trainer and Estimator.

>>> from thalweg import nn
>>> nn.CrossEntropyLoss(label_smoothing=0.1)
CrossEntropyLoss(label_smoothing=0.1)
"""

from thalweg._core import losses


class _Loss:
    """Keeps options, and hands them to a function of thalweg.losses together with prediction and target."""

    def __init__(self, **options):
        self.options = options

    def __call__(self, input, target):
        return self.function(input, target, **self.options)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"


class CrossEntropyLoss(_Loss):
    function = staticmethod(losses.cross_entropy)


class NLLLoss(_Loss):
    function = staticmethod(losses.nll)


class BCELoss(_Loss):
    function = staticmethod(losses.bce)


class BCEWithLogitsLoss(_Loss):
    function = staticmethod(losses.bce_with_logits)


class MSELoss(_Loss):
    function = staticmethod(losses.mse)


class L1Loss(_Loss):
    function = staticmethod(losses.l1)


class SmoothL1Loss(_Loss):
    function = staticmethod(losses.smooth_l1)


class HuberLoss(_Loss):
    function = staticmethod(losses.huber)


class KLDivLoss(_Loss):
    function = staticmethod(losses.kl_div)


class SoftMarginLoss(_Loss):
    function = staticmethod(losses.soft_margin)


class HingeEmbeddingLoss(_Loss):
    function = staticmethod(losses.hinge_embedding)


class MultiLabelSoftMarginLoss(_Loss):
    function = staticmethod(losses.multilabel_soft_margin)
