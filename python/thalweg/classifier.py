"""Classification in the manner of scikit-learn."""

import json
import os
from typing import Any

import numpy

from thalweg import metrics
from thalweg._core import InputError, Model, data
from thalweg.estimator import Estimator, _OfTheClassToo, is_weights
from thalweg.nn import BCELoss, BCEWithLogitsLoss

# Of an ONNX file's metadata: the labels as JSON.
_CLASSES = "thalweg.labels"


class Classifier(Estimator):
    """An Estimator whose ``predict`` gives classes, as scikit-learn's classifiers do.

    The model has one output, with a column for each class (the scores that cross entropy takes), or one column that tells
    two classes apart (for "bce_with_logits" or "bce"). Labels may be anything that can be sorted, names too. Whole numbers
    that are numbers of the model's columns stay what they are; other labels are numbered in their order. ``classes_``
    holds the labels that ``fit`` has seen. Without ``metrics`` the score is the accuracy.

    >>> import numpy, thalweg
    >>> from thalweg import nn
    >>> x = numpy.random.default_rng(0).normal(size=(200, 2))
    >>> y = numpy.where(x[:, 0] > x[:, 1], "right", "left")
    >>> net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    >>> classifier = thalweg.Classifier(net, epochs=20, learning_rate=0.01, progress="none").fit(x, y)
    >>> classifier.predict([[1.0, -1.0], [-1.0, 1.0]]).tolist()
    ['right', 'left']
    >>> classifier.predict_proba(x).shape, classifier.score(x, y) > 0.9
    ((200, 2), True)
    """

    def fit(self, X: Any, y: Any = None, validation: Any = None, resume: str | None = None) -> "Classifier":
        # Kept apart until the run begins: a fit that fails before leaves the classes as they were.
        self._new_classes = _classes_of(X) if y is None else _sorted_labels(y)
        try:
            super().fit(X, y, validation, resume)
        finally:
            del self._new_classes
        return self

    def predict(self, X: Any) -> Any:
        """The likeliest class of each row."""
        places = self.predict_proba(X).argmax(axis=1)
        return self.classes_[places]

    def predict_proba(self, X: Any) -> Any:
        """How likely each row is of each class, in the order of ``classes_``."""
        outputs = super().predict(X)
        if _columns(self.model_) == 1:
            return data.probabilities(self.model_, outputs, self._gives_probabilities())
        scores = outputs[:, _places(self.classes_, outputs.shape[1])]
        if scores.shape[1] == 1:
            return numpy.ones_like(scores)
        likely = data.probabilities(self.model_, scores)
        # Of a model that gives probabilities, the columns of classes that were not seen are missing from the sum.
        return likely / numpy.maximum(likely.sum(axis=1, keepdims=True), numpy.finfo(likely.dtype).tiny)

    def save(self, path: str | os.PathLike[str], metadata: dict[str, str] | None = None) -> None:
        """As Estimator.save; an ONNX file keeps the classes too, for ``load``, and as names for all others."""
        self._fitted()
        super().save(path, {**_kept(self.classes_, max(_columns(self.model_), 2)), **(metadata or {})})

    @_OfTheClassToo
    def load(self, path: str | os.PathLike[str], X: Any = None) -> "Classifier":
        """As Estimator.load. The classes are those that the file has kept, or the names that it has for them; of one that
        has none they stay what they were, or are the numbers of the model's columns."""
        super().load(path, X)
        if not hasattr(self, "classes_"):
            self.classes_ = _numbered_classes(self.model_)
        return self

    # Inside.

    def _take(self, model):
        super()._take(model)
        names = data.class_names_from_metadata(model.metadata)
        if _CLASSES in model.metadata:
            self.classes_ = numpy.array(json.loads(model.metadata[_CLASSES]))
        elif names:
            self.classes_ = numpy.array(names)
        elif not hasattr(self, "classes_"):
            self.classes_ = _numbered_classes(model)
        return self

    def _learns_classes(self):
        return True

    def _gives_probabilities(self):
        return self.loss == "bce" or isinstance(self.loss, BCELoss)

    def _begin(self, model):
        super()._begin(model)
        self.classes_ = _numbered_classes(model) if self._new_classes is None else self._new_classes

    def _metrics(self, model):
        if self.metrics:
            return self.metrics
        if _columns(model) > 1:
            return ["accuracy"]
        return [metrics.binary_accuracy(threshold=0.5 if self._gives_probabilities() else 0.0)]

    def _labels(self, model, y):
        classes = getattr(self, "_new_classes", None)
        classes = getattr(self, "classes_", None) if classes is None else classes
        if classes is None:
            classes = _sorted_labels(y)
        self._check_loss(model)
        numbers = _numbers(_labels_of(y), classes, max(_columns(model), 2))
        return numbers if _columns(model) > 1 else numbers.astype("float32")

    def _check_loss(self, model):
        binary = self.loss in ("bce", "bce_with_logits") or isinstance(self.loss, (BCELoss, BCEWithLogitsLoss))
        if (_columns(model) == 1) != binary:
            raise InputError(
                f"the model has {_columns(model)} column(s) of scores and the loss is {self.loss!r}: for two classes in one "
                "column take bce_with_logits, else cross_entropy and a column for each class"
            )


def _columns(model):
    """Of the output."""
    outputs = model.graph.outputs
    shape = outputs[0].shape
    if len(outputs) != 1 or len(shape) > 2 or shape[-1] is None and len(shape) == 2:
        raise InputError(f"a classifier needs a model with one output [N, classes], not {outputs}: take Estimator")
    return 1 if len(shape) == 1 else shape[1]


def _numbered_classes(model):
    return numpy.arange(max(_columns(model), 2))


def _classes_of(samples):
    """The names that a dataset has for its classes, or None."""
    names = data.class_names_from_metadata(samples.metadata) if isinstance(samples, data.Dataset) else []
    return numpy.array(names) if names else None


def _kept(classes, columns):
    """As metadata: names of all columns, unless classes are the columns' numbers, and the labels as they are but for such
    as JSON does not have, dates for example."""
    kept = {}
    if not _are_columns(classes, columns):
        names = [str(column) for column in range(columns)]
        for place, label in zip(_places(classes, columns), classes.tolist()):
            names[place] = str(label)
        kept = data.class_names_metadata(names)
    try:
        return {**kept, _CLASSES: json.dumps(classes.tolist())}
    except TypeError:
        return kept


def _labels_of(y):
    """One label for each row."""
    if hasattr(y, "to_pylist"):
        y = y.to_pylist()
    labels = numpy.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise InputError(f"y has shape {labels.shape}; a classifier takes one label for each row: take Estimator")
    if labels.dtype.kind == "f" and numpy.isnan(labels).any():
        raise InputError(f"the target holds NaN in row {int(numpy.isnan(labels).argmax())}: leave such rows out")
    return labels


def _sorted_labels(y):
    try:
        return numpy.unique(_labels_of(y))
    except TypeError as error:
        raise InputError(f"y holds labels that cannot be sorted: {error}") from None


def _are_columns(labels, columns):
    return labels.dtype.kind in "iuf" and bool(((labels == numpy.floor(labels)) & (labels >= 0) & (labels < columns)).all())


def _places(classes, columns):
    """The column of each class."""
    if _are_columns(classes, columns):
        return classes.astype("int64")
    if len(classes) > columns:
        raise InputError(f"y holds {len(classes)} classes; the model has columns for {columns}")
    return numpy.arange(len(classes))


def _numbers(labels, classes, columns):
    """The column of each label."""
    if _are_columns(classes, columns) and _are_columns(labels, columns):
        return labels.astype("int64")
    unknown = labels[~numpy.isin(labels, classes)]
    if len(unknown) > 0:
        raise InputError(f"y holds {unknown.tolist()[0]!r}, which is no class of the training data")
    return _places(classes, columns)[numpy.searchsorted(classes, labels)]
