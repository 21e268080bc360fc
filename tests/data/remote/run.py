#!/usr/bin/env python3
"""Starts a file system that is not local, runs a test program on it, and stops it whatever happens.

  run.py hdfs PROGRAM   an HDFS mini-cluster (scripts/setup-hdfs installs it)
  run.py s3 PROGRAM     a server that speaks S3 (scripts/setup-s3 installs it)

PROGRAM gets the address in THALWEG_REMOTE_URI. Exit status: PROGRAM's; 77 if the file system is not installed.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
from processes import DEPS, JAVA_OPTIONS, LONG_PATIENCE, first_line, stop, wait_until  # noqa: E402

SKIPPED = 77


class NotInstalled(Exception):
    pass


def start_hdfs(directory):
    home = DEPS / "hdfs"
    if not (home / "libhdfs.so").exists():
        raise NotInstalled("scripts/setup-hdfs installs HDFS")
    jars = ":".join(str(jar) for jar in sorted(home.glob("*.jar")))
    process = subprocess.Popen(["java", *JAVA_OPTIONS, "-Xmx512m", "-cp", jars, str(HERE / "MiniHdfs.java"), directory],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    java = pathlib.Path(shutil.which("java")).resolve().parents[1]
    environment = {"CLASSPATH": jars, "ARROW_LIBHDFS_DIR": str(home), "JAVA_HOME": str(java),
                   "LIBHDFS_OPTS": " ".join(["-Xmx256m", *JAVA_OPTIONS])}
    return process, lambda: first_line(process) + "/{}", environment


def start_s3(directory):
    server = DEPS / "s3-venv" / "bin" / "moto_server"
    if not server.exists():
        raise NotInstalled("scripts/setup-s3 installs a server that speaks S3")
    log = pathlib.Path(directory) / "server.log"
    with open(log, "w") as output:
        # It takes a free port and says which.
        process = subprocess.Popen([str(server), "-H", "127.0.0.1", "-p", "0"], stdout=output, stderr=output)

    def port():
        ended = process.poll() is not None
        found = re.search(r"Running on http://127.0.0.1:([0-9]+)", log.read_text())
        if ended:
            raise RuntimeError(f"the S3 server ended with status {process.poll()}:\n{log.read_text()[-2000:]}")
        return found and found[1]

    def address():
        place = f"127.0.0.1:{wait_until(port, 'the address of the S3 server', LONG_PATIENCE)}"
        bucket = urllib.request.Request(f"http://{place}/thalweg", method="PUT")
        urllib.request.urlopen(bucket, timeout=LONG_PATIENCE).close()
        return f"s3://key:secret@thalweg/{{}}?endpoint_override={place}&scheme=http&region=us-east-1"

    return process, address, {}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("hdfs", "s3"):
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the file system is stopped then, too
    with tempfile.TemporaryDirectory() as directory:
        try:
            process, address, environment = {"hdfs": start_hdfs, "s3": start_s3}[sys.argv[1]](directory)
        except NotInstalled as what:
            print(f"skipped: {what}")
            return SKIPPED
        try:
            environment["THALWEG_REMOTE_URI"] = address()
            return subprocess.run([sys.argv[2]], env=os.environ | environment, timeout=LONG_PATIENCE, check=False).returncode
        finally:
            stop(process)


if __name__ == "__main__":
    sys.exit(main())
