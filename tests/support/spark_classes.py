"""Uses Spark as the tests do, in one JVM that writes down the classes it has loaded when it ends: spark_classes.py ARCHIVE

The JVMs that tests start read the archive instead of looking each class up in hundreds of jars and checking it. Run by
scripts/setup-spark.
"""

import sys
import tempfile

from processes import JAVA_OPTIONS
from pyspark import SparkContext
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.sql import SparkSession, functions


def use(spark, folder):
    rows = [(i, float(i), [float(i)], "even" if i % 2 == 0 else "odd") for i in range(20)]
    frame = spark.createDataFrame(rows, "id long, a double, x array<float>, name string").repartition(3).cache()
    frame.selectExpr("id % 3 as k", "transform(x, e -> round(e)) as x", "a").groupBy("k").agg(functions.sum("a")).collect()
    frame.where(functions.udf(lambda a: a > 3, "boolean")("a")).orderBy("id").collect()
    frame.rdd.mapPartitions(lambda part: part).count()
    spark.sparkContext.parallelize(range(1), 1).barrier().mapPartitions(lambda part: part).count()
    pipeline = Pipeline(stages=[StringIndexer(inputCol="name", outputCol="index"),
                                VectorAssembler(inputCols=["a", "index"], outputCol="v")]).fit(frame)
    pipeline.write().overwrite().save(f"{folder}/pipeline")
    PipelineModel.load(f"{folder}/pipeline").transform(frame).write.parquet(f"{folder}/rows")
    stream = spark.readStream.schema("id long, a double").parquet(f"{folder}/rows")
    query = stream.writeStream.format("memory").queryName("seen").trigger(availableNow=True).start()
    query.awaitTermination()
    spark.table("seen").count()


def main(archive):
    options = " ".join([*JAVA_OPTIONS, f"-XX:ArchiveClassesAtExit={archive}", "-Xlog:disable", "-Xlog:all=error:stderr"])
    with tempfile.TemporaryDirectory() as folder:
        spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
                 .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
                 .config("spark.sql.shuffle.partitions", "2").config("spark.sql.warehouse.dir", f"{folder}/warehouse")
                 .config("spark.driver.extraJavaOptions", options).getOrCreate())
        spark.sparkContext.setLogLevel("ERROR")
        use(spark, folder)
    spark.stop()
    # It ends with its input, and the archive is there when it has.
    java = SparkContext._gateway.proc
    java.stdin.close()
    return java.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
