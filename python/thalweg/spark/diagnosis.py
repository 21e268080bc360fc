"""A look at every executor before anything else runs there."""

import json

from pyspark.sql import SparkSession

from thalweg.spark.errors import engine_errors
from thalweg.spark.interrupts import cancellable
from thalweg.spark.jar import java_class


def _gib(count):
    return "no limit" if count is None else f"{count / 2**30:.1f} GiB"


def _describe_group(report):
    if "problem" in report:
        return f"together\n  PROBLEM: {report['problem']}"
    encrypted = ", over TLS" if report["tls"] else ""
    return f"together\n  {report['workers']} worker(s) have trained a small network in {report['seconds']:.1f} s{encrypted}"


def _describe(name, report):
    if name == "group":
        return _describe_group(report)
    lines = [f"executor {name} on {report.get('host', 'an unknown host')}"]
    system = report.get("system", {})
    if "cores" in report:
        lines.append(f"  cores {report['cores']}, threads of a task {report['task_cpus']}, "
                     f"processors of the process {system.get('processors', '?')}")
        lines.append(f"  memory: heap {_gib(report['heap_bytes'])}, spark.executor.memoryOverhead {report['memory_overhead']}, "
                     f"control group {_gib(system.get('cgroup_memory_bytes'))}")
    if system:
        lines.append(f"  {system['cpu']}: {' '.join(system['features'])}")
        lines.append(f"  Thalweg {system['version']} on Java {report['java']}, cache {report['cache']}")
    lines.append(f"  PROBLEM: {report['problem']}" if "problem" in report else "  the engine computes")
    return "\n".join(lines)


def doctor(spark=None, show=True):
    """Runs the engine on every executor, and a small training on all; prints what was found, and gives it as a dict of each.

    A report has "problem" in it if the libraries do not load, the cache cannot be written, or an answer is wrong; that of
    "group", if the executors cannot reach the driver or each other.
    """
    spark = spark or SparkSession.active()
    with engine_errors():
        found = cancellable(spark, lambda: java_class(spark, "Doctor").examine(spark._jsparkSession))
    reports = {name: json.loads(found[name]) for name in found}
    if show:
        print("\n".join(_describe(name, report) for name, report in reports.items()))
    return reports
