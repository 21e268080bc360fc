"""Clusters other than local-cluster that tests start on this machine, and stop whatever happens."""

import contextlib
import os
import pathlib
import subprocess
import sys

import pyspark
from conftest import SPARK_JAVA_OPTIONS
from processes import DEPS, JAVA_OPTIONS, LONG_PATIENCE, first_line, stop, wait_until

HERE = pathlib.Path(__file__).resolve().parent
SPARK_CLASS = pathlib.Path(pyspark.__file__).parent / "bin" / "spark-class"


def wait_for(process, log, text):
    """The line of a log that holds the text, once it is there."""
    def found():
        ended = process.poll() is not None  # looked at first: what it wrote before is in the log then
        lines = [line for line in log.read_text().splitlines() if text in line]
        if ended and not lines:
            raise RuntimeError(f"{process.args[1]} ended with status {process.poll()}:\n{log.read_text()[-2000:]}")
        return lines

    return wait_until(found, f"'{text}' in {log}", LONG_PATIENCE)[0]


@contextlib.contextmanager
def _daemon(folder, name, *arguments):
    """A process of Spark's own, as (process, log)."""
    log = folder / f"{name}.log"
    with open(log, "w") as output:
        process = subprocess.Popen([str(SPARK_CLASS), *arguments], stdout=output, stderr=subprocess.STDOUT, cwd=folder,
                                   env=os.environ | {"SPARK_NO_DAEMONIZE": "1", "SPARK_DAEMON_MEMORY": "256m",
                                                     "SPARK_DAEMON_JAVA_OPTS": SPARK_JAVA_OPTIONS})
    try:
        yield process, log
    finally:
        stop(process)


@contextlib.contextmanager
def stand_alone(folder, cores=1):
    """A master and two workers of so many cores each; the address."""
    with contextlib.ExitStack() as stack:
        master, log = stack.enter_context(_daemon(folder, "master", "org.apache.spark.deploy.master.Master", "--host",
                                                  "127.0.0.1", "--port", "0", "--webui-port", "0"))
        address = wait_for(master, log, "Starting Spark master at").rpartition(" ")[2]
        for number in range(2):
            worker, log = stack.enter_context(_daemon(
                folder, f"worker{number}", "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", str(cores),
                "--memory", "1g", "--webui-port", "0", "--work-dir", str(folder / f"work{number}"), address))
            wait_for(worker, log, "Successfully registered with master")
        yield address


def run_check(*arguments, **environment):
    """Runs cluster_check.py in a process of its own, since this one may have a session already."""
    subprocess.run([sys.executable, str(HERE / "cluster_check.py"), *arguments], check=True, timeout=2 * LONG_PATIENCE,
                   env=os.environ | environment)


@contextlib.contextmanager
def yarn(folder):
    """YARN of two nodes over HDFS: (address of the file system, folder of the configuration)."""
    jars = [str(jar) for name in ("hdfs", "yarn") for jar in sorted((DEPS / name).glob("*.jar"))]
    process = subprocess.Popen(["java", *JAVA_OPTIONS, "-Xmx768m", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp",
                                ":".join(jars), str(HERE / "MiniYarn.java")], cwd=folder,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield first_line(process), folder / "conf"
    finally:
        stop(process)
