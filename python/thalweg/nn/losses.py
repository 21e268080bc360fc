"""PyTorch's names of losses, for thalweg.Trainer and Estimator, with PyTorch's arguments in PyTorch's order.

>>> from thalweg import nn
>>> nn.CrossEntropyLoss(label_smoothing=0.1)
CrossEntropyLoss(label_smoothing=0.1)
>>> nn.HuberLoss("sum", delta=2.0)
HuberLoss(reduction='sum', delta=2.0)

Weights are arrays. ``size_average`` and ``reduce``, which PyTorch has given up, only keep their places.
"""

from thalweg._core import InputError, data, losses

_REDUCTIONS = ("mean", "sum", "none")
# PyTorch's: rows with this label count for nothing, not even in the mean.
_IGNORED = -100


class _Loss:
    """Keeps options, and hands them to a function of thalweg.losses together with prediction and target."""

    def __init__(self, given_up=(None, None), reductions=_REDUCTIONS, **options):
        if any(value is not None for value in given_up):
            raise InputError(f"{type(self).__name__}: size_average and reduce are no longer used: say reduction instead")
        reduction = options.get("reduction")
        if reduction is not None and reduction not in reductions:
            raise InputError(f"{type(self).__name__}: reduction is {reduction!r}, not one of {', '.join(reductions)}")
        for name in ("weight", "pos_weight"):
            if options.get(name) is not None:
                options[name] = data.as_array(options[name], f"{type(self).__name__}: {name}").astype("float32")
        # What is None keeps the engine's default.
        self.options = {name: value for name, value in options.items() if value is not None}

    def __call__(self, input, target):
        return self.function(input, target, **self.options)

    def __repr__(self):
        told = [f"{name}={value!r}" for name, value in self.options.items() if (name, value) != ("ignore_index", _IGNORED)]
        return f"{type(self).__name__}({', '.join(told)})"


class _Plain(_Loss):
    """A loss with a reduction and nothing else."""

    def __init__(self, size_average=None, reduce=None, reduction=None):
        super().__init__((size_average, reduce), reduction=reduction)


class _Weighted(_Loss):
    """A loss whose elements can be weighted: ``weight`` broadcasts to them."""

    def __call__(self, input, target):
        options = dict(self.options)
        weight, reduction = options.pop("weight", None), options.pop("reduction", "mean")
        if weight is None:
            return self.function(input, target, reduction=reduction, **options)
        return _reduced(self.function(input, target, reduction="none", **options) * weight, reduction)


def _reduced(values, reduction):
    return {"mean": values.mean, "sum": values.sum, "none": lambda: values}[reduction]()


class CrossEntropyLoss(_Loss):
    """Of scores [N, C, ...] and class numbers [N, ...]; ``weight`` has a number for each class."""

    function = staticmethod(losses.cross_entropy)

    def __init__(
        self, weight=None, size_average=None, ignore_index=_IGNORED, reduce=None, reduction=None, label_smoothing=None
    ):
        options = {"ignore_index": ignore_index, "reduction": reduction, "label_smoothing": label_smoothing}
        super().__init__((size_average, reduce), weight=weight, **options)


class NLLLoss(_Loss):
    """Of log-probabilities [N, C, ...] and class numbers [N, ...]; ``weight`` has a number for each class."""

    function = staticmethod(losses.nll)

    def __init__(self, weight=None, size_average=None, ignore_index=_IGNORED, reduce=None, reduction=None):
        super().__init__((size_average, reduce), weight=weight, ignore_index=ignore_index, reduction=reduction)


class BCELoss(_Weighted):
    """Of probabilities and targets between 0 and 1."""

    function = staticmethod(losses.bce)

    def __init__(self, weight=None, size_average=None, reduce=None, reduction=None):
        super().__init__((size_average, reduce), weight=weight, reduction=reduction)


class BCEWithLogitsLoss(_Weighted):
    """Of scores before the sigmoid; ``pos_weight`` is how much targets of 1 count."""

    function = staticmethod(losses.bce_with_logits)

    def __init__(self, weight=None, size_average=None, reduce=None, reduction=None, pos_weight=None):
        super().__init__((size_average, reduce), weight=weight, reduction=reduction, pos_weight=pos_weight)


class MSELoss(_Plain):
    """The squared difference."""

    function = staticmethod(losses.mse)


class L1Loss(_Plain):
    """The absolute difference."""

    function = staticmethod(losses.l1)


class SmoothL1Loss(_Loss):
    """Squared below ``beta``, absolute above."""

    function = staticmethod(losses.smooth_l1)

    def __init__(self, size_average=None, reduce=None, reduction=None, beta=None):
        super().__init__((size_average, reduce), reduction=reduction, beta=beta)


class HuberLoss(_Loss):
    """SmoothL1Loss times ``delta``."""

    function = staticmethod(losses.huber)

    def __init__(self, reduction=None, delta=None):
        super().__init__(reduction=reduction, delta=delta)


class KLDivLoss(_Loss):
    """Of log-probabilities and probabilities, or logarithms of those with ``log_target``."""

    function = staticmethod(losses.kl_div)

    def __init__(self, size_average=None, reduce=None, reduction=None, log_target=None):
        super().__init__((size_average, reduce), (*_REDUCTIONS, "batchmean"), reduction=reduction, log_target=log_target)


class SoftMarginLoss(_Plain):
    """Of scores and targets -1 or 1."""

    function = staticmethod(losses.soft_margin)


class HingeEmbeddingLoss(_Loss):
    """Of distances and targets -1 or 1."""

    function = staticmethod(losses.hinge_embedding)

    def __init__(self, margin=None, size_average=None, reduce=None, reduction=None):
        super().__init__((size_average, reduce), margin=margin, reduction=reduction)


class MultiLabelSoftMarginLoss(_Loss):
    """Of scores [N, C] and targets 0 or 1; ``weight`` has a number for each class."""

    def __init__(self, weight=None, size_average=None, reduce=None, reduction=None):
        super().__init__((size_average, reduce), weight=weight, reduction=reduction)

    def __call__(self, input, target):
        if "weight" not in self.options:
            return losses.multilabel_soft_margin(input, target, **self.options)
        each = losses.bce_with_logits(input, target, reduction="none") * self.options["weight"]
        return _reduced(each.mean(dim=-1), self.options.get("reduction", "mean"))
