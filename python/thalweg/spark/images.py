"""Images as a DataFrame."""

import os

from pyspark.sql import DataFrame, SparkSession

from thalweg.spark.arguments import integer, named
from thalweg.spark.errors import engine_errors
from thalweg.spark.jar import java_class


def read_images(spark, path=None, partitions=0):
    """The image files at and below a path: path, modificationTime, length and content, as Spark's binaryFile has them.

    `read_images(path)` takes the session that is active. The files are dealt out to partitions so that each has about as
    many bytes, however many files there are; `partitions` of 0 means as many as keep every core busy to the end.
    """
    if isinstance(spark, (str, os.PathLike)):
        partitions = partitions if path is None else path
        spark, path = SparkSession.active(), spark
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"the path of images is {path!r}: read_images(path), or read_images(spark, path)")
    partitions = named("partitions", integer, partitions)
    with engine_errors():
        return DataFrame(java_class(spark, "ImageFiles").read(spark._jsparkSession, str(path), partitions), spark)
