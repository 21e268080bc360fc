#!/usr/bin/env python3
"""Trains on a cluster whose processes encrypt what they send each other. Arguments are settings of Spark, as name=value."""

import json
import sys

import thalweg
import thalweg.spark
from conftest import session
from thalweg import nn


def report_of_fit(spark, **params):
    """How a small fit went."""
    frame = spark.createDataFrame([([float(i % 7), float(i % 5)], float(i % 2)) for i in range(100)], ["x", "y"])
    estimator = thalweg.spark.Estimator(nn.Linear(2, 2), inputs=[thalweg.Input((None, 2))], feature_cols=["x"],
                                        label_cols=["y"], loss="cross_entropy", epochs=3, batch_size=20, num_workers=2,
                                        threads=1, output_cols=["scores"], **params)
    model = estimator.fit(frame)
    assert len(model.transform(frame).collect()) == 100
    return json.loads(model._java_obj.trainingReport())


def main(*settings):
    spark = session("local-cluster[2,1,1024]", **dict(setting.split("=", 1) for setting in settings))
    try:
        report = report_of_fit(spark)
        assert report["tls"] and report["workers"] == 2, report
    finally:
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
