#!/usr/bin/env python3
"""Saves an estimator of a network, and a pipeline with it in, and ends: save_estimator.py FOLDER"""

import sys

from conftest import session
from pyspark.ml import Pipeline

import thalweg
import thalweg.spark
from thalweg import nn


def main(folder):
    spark = session("local[1]")
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    estimator = thalweg.spark.Estimator(net, inputs=[thalweg.Input((None, 4))], feature_cols=["x"], label_cols=["y"],
                                        optimizer="adam", learning_rate=0.02, epochs=20, batch_size=40, threads=1,
                                        output_cols=["scores"])
    estimator.save(f"{folder}/estimator")
    Pipeline(stages=[estimator]).save(f"{folder}/pipeline")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
