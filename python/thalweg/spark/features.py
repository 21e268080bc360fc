"""Features of tables, fitted to a DataFrame."""

import json

from thalweg import data
from thalweg.spark.errors import engine_errors
from thalweg.spark.jar import java_class


def fit_features(frame, features, bad_rows="fail"):
    """The features with what they learn of a DataFrame's rows, natively where these are, as thalweg.data.Features.

    `features` are thalweg.data.Features, or what those are made of: a list of dicts, or JSON. Mostly a single pass over the
    rows is made; a feature that learns of what another one has had to learn first needs another. With `bad_rows="skip"` rows
    with a null or NaN that no feature imputes are left out; they are an error otherwise.

    >>> features = thalweg.spark.fit_features(trips, [{"kind": "string_index", "column": "city"}, {"kind": "standard_scale", "column": "fare"}])
    >>> thalweg.spark.Estimator(model, feature_cols=["city", "fare"], features=features, ...)
    """
    if bad_rows not in ("fail", "skip"):
        raise ValueError(f"bad_rows is {bad_rows!r}, neither 'fail' nor 'skip'")
    text = features_json(features)
    with engine_errors():
        fitted = java_class(frame.sparkSession, "FittedFeatures").fit(frame._jdf, text, bad_rows == "skip")
    return data.Features.from_json(fitted)


def features_json(features):
    """As the engine reads them."""
    if isinstance(features, data.Features):
        return features.to_json()
    if isinstance(features, str):
        return features
    if isinstance(features, (list, tuple)) and all(isinstance(feature, dict) for feature in features):
        return json.dumps(list(features))
    raise TypeError(f"features={features!r} is neither thalweg.data.Features, nor a list of dicts such as "
                    "{'kind': 'standard_scale', 'column': 'x'}, nor JSON; the columns to train on are feature_cols")
