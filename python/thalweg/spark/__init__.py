"""Thalweg on Spark: models as stages of Spark ML, run by the engine inside the executors.

>>> spark = SparkSession.builder.config("spark.jars", thalweg.spark.jar()).getOrCreate()
>>> model = thalweg.spark.Model.load("resnet50.onnx", input_cols=["content"], output_kinds=["class"])
>>> model.transform(thalweg.spark.read_images("hdfs:///photos")).show()

docs/spark.md tells the rest. Needs pyspark, of which no version is asked for; the jar is for Spark 4.
"""

from thalweg.spark.diagnosis import doctor
from thalweg.spark.estimator import Estimator
from thalweg.spark.features import fit_features
from thalweg.spark.images import read_images
from thalweg.spark.jar import jar
from thalweg.spark.model import Model

__all__ = ["Estimator", "Model", "doctor", "fit_features", "jar", "read_images"]
