"""Training in the manner of scikit-learn."""

import inspect

from thalweg import _inputs, _workers
from thalweg._core import Callback, Graph, Input, InputError, Model, Trainer, data, find_learning_rate
from thalweg.data import from_loader
from thalweg.history import History
from thalweg.nn import Module
from thalweg.progress import progress_callback


class Estimator:
    """A model with what it takes to train it.

    ``model`` is a module, a graph or a Model. Modules and graphs are built anew by each fit, so that an estimator can be
    cloned and fitted again. ``schedule`` is one of thalweg.schedules, ``early_stopping`` a dict such as {"patience": 3},
    ``checkpoints`` and ``tensorboard`` are folders. Whatever is None keeps the engine's default; ``options`` are further
    options of thalweg.Trainer.

    >>> import numpy, thalweg
    >>> from thalweg import nn
    >>> x = numpy.random.default_rng(0).normal(size=(200, 2))
    >>> y = (x[:, 0] > x[:, 1]).astype("int64")
    >>> net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    >>> estimator = thalweg.Estimator(net, metrics=["accuracy"], epochs=20, learning_rate=0.01, progress="none")
    >>> estimator.fit(x, y).score(x, y) > 0.9
    True
    """

    def __init__(
        self,
        model,
        loss="cross_entropy",
        optimizer="adam",
        metrics=(),
        batch_size=None,
        epochs=None,
        learning_rate=None,
        schedule=None,
        early_stopping=None,
        checkpoints=None,
        tensorboard=None,
        scheme=None,
        workers=None,
        seed=None,
        progress=None,
        callbacks=(),
        options=None,
    ):
        self.model = model
        self.loss = loss
        self.optimizer = optimizer
        self.metrics = metrics
        self.batch_size = batch_size
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.early_stopping = early_stopping
        self.checkpoints = checkpoints
        self.tensorboard = tensorboard
        self.scheme = scheme
        self.workers = workers
        self.seed = seed
        self.progress = progress
        self.callbacks = callbacks
        self.options = options

    # What scikit-learn asks of an estimator.

    @classmethod
    def _parameter_names(cls):
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep=True):
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params):
        for name, value in params.items():
            if name not in self._parameter_names():
                raise ValueError(f"an estimator has no parameter '{name}'; it has {', '.join(self._parameter_names())}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self):
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))

    def __sklearn_is_fitted__(self):
        return hasattr(self, "model_")

    def __repr__(self):
        return f"Estimator({type(self.model).__name__}, loss={self.loss!r}, optimizer={self.optimizer!r})"

    def __getstate__(self):
        state = dict(vars(self))
        if "model_" in state and "inputs_" in state:
            state["model_"] = self.model_.state_dict()
            state["history_"] = None
        return state

    def __setstate__(self, state):
        vars(self).update(state)
        if "inputs_" in state:
            self.model_ = self._built()
            self.model_.load_state_dict(state["model_"])

    # Training.

    def fit(self, X, y=None, validation=None, resume=None):
        """Trains on arrays, a table, a dataset or a DataLoader; ``validation`` is a dataset or a pair (X, y).

        ``resume`` is a folder of checkpoints to go on from. After Ctrl-C the estimator is fitted as far as it came, and
        KeyboardInterrupt goes on.
        """
        self.model_ = self._build(X)
        train = self._dataset(X, y)
        checked = self._dataset(*validation) if isinstance(validation, tuple) else self._dataset(validation, None)
        if self.workers is not None and self.workers > 1:
            with _workers.group(self.workers, self.scheme, lambda scheme: self._work(train, checked, resume, scheme)) as scheme:
                self._work(train, checked, resume, scheme)
        else:
            self._work(train, checked, resume)
        return self

    def _work(self, train, validation, resume, scheme=None):
        """What each process does."""
        trainer = self._trainer(scheme)
        if resume is not None:
            trainer.resume(resume)
        try:
            trainer.fit(train, validation)
        finally:
            self.history_ = History(trainer.history)

    def find_learning_rate(self, X, y=None, **options):
        """What the loss does as the learning rate grows (thalweg.find_learning_rate); trains nothing for good."""
        self.model_ = self._build(X)
        train = self._dataset(X, y)
        return find_learning_rate(self.model_, self.loss, self.optimizer, train, batch_size=self.batch_size, **options)

    def evaluate(self, X, y=None):
        """The loss and every metric by its name."""
        return self._trainer().evaluate(self._dataset(X, y))

    def score(self, X, y=None):
        """The first metric, negative if lower is better, or minus the loss if there is none."""
        return self._trainer().score(self._dataset(X, y))

    def predict(self, X):
        """The outputs of the model, in batches of ``batch_size``."""
        self._require_fitted()
        return data.predict(self.model_, self._inputs(X), self.batch_size)

    def save(self, path):
        """What the model computes, as an ONNX file; thalweg.Model.load or any other runtime reads it."""
        self._require_fitted()
        self.model_.save(path)

    def save_weights(self, path):
        self._require_fitted()
        self.model_.save_weights(path)

    def load(self, path, X=None):
        """Takes the weights of a safetensors file, after fit or for inputs such as X."""
        if not hasattr(self, "model_"):
            self.model_ = self._build(X)
        self.model_.load_weights(path)
        return self

    # Inside.

    def _require_fitted(self):
        if not hasattr(self, "model_"):
            raise InputError("this estimator has not been fitted: call fit first")

    def _build(self, X):
        if isinstance(self.model, Model):
            return self.model
        if isinstance(self.model, Graph):
            return Model(self.model)
        if not isinstance(self.model, Module):
            raise TypeError(f"an estimator needs a module, a graph or a model, not a {type(self.model).__name__}")
        self.inputs_ = [Input((None, *shape[1:]), dtype) for dtype, shape in self._types(X)]
        return self._built()

    def _built(self):
        return Model(self.model, self.inputs_) if self.seed is None else Model(self.model, self.inputs_, self.seed)

    @staticmethod
    def _types(X):
        """Element type and shape of each input. In arrays, numbers with fractions stand for float32, whole ones for int64."""
        if _inputs.is_loader(X):
            return from_loader(X).input_types
        if _inputs.is_dataset(X):
            return X.input_types
        types = data.TensorDataset([array for array, _ in _inputs.arrays_of(X)]).input_types
        return [("float32" if dtype.startswith("float") else "int64", shape) for dtype, shape in types]

    def _inputs(self, X):
        arrays = _inputs.arrays_of(X)
        declared = self.model_.graph.inputs
        if len(arrays) != len(declared):
            raise InputError(f"the model has {len(declared)} inputs, got {len(arrays)}")
        return [data.fit_input(array, value, names) for (array, names), value in zip(arrays, declared)]

    def _dataset(self, X, y):
        if X is None:
            return None
        if _inputs.is_loader(X):
            return from_loader(X)
        if _inputs.is_dataset(X):
            return X
        self._require_fitted()
        if y is None:
            raise InputError("there are no targets: give y")
        inputs = self._inputs(X)
        ((target, _),) = _inputs.arrays_of(y)
        names = [f"input '{value.name}'" for value in self.model_.graph.inputs] + ["the target"]
        data.require_same_rows([*inputs, target], names)
        return data.TensorDataset(inputs, [data.fit_target(target, self.model_.graph, self.loss)])

    def _trainer(self, scheme=None):
        self._require_fitted()
        show, callbacks = progress_callback(self.progress)
        given = {
            "batch_size": self.batch_size,
            "epochs": self.epochs,
            "learning_rate": self.learning_rate,
            "schedule": self.schedule,
            "early_stopping": self.early_stopping,
            "checkpoints": self.checkpoints,
            "tensorboard": self.tensorboard,
            "metrics": list(self.metrics),
            "seed": self.seed,
            "scheme": scheme,
            "progress": show,
            "callbacks": [*self.callbacks, *callbacks],
        }
        for callback in given["callbacks"]:
            if not isinstance(callback, Callback):
                raise TypeError(f"a callback is a thalweg.Callback, not a {type(callback).__name__}")
        return Trainer(self.model_, self.loss, self.optimizer, **given, **(self.options or {}))
