"""Images as a DataFrame."""

from pyspark.sql import DataFrame

from thalweg.spark.jar import java_class


def read_images(spark, path, partitions=0):
    """The image files at and below a path: path, modificationTime, length and content, as Spark's binaryFile has them.

    The files are dealt out to partitions so that each has about as many bytes, however many files there are; `partitions`
    of 0 means as many as keep every core busy to the end.
    """
    return DataFrame(java_class(spark, "ImageFiles").read(spark._jsparkSession, str(path), partitions), spark)
