#!/usr/bin/env python3
"""Starts a file system that is not local, runs a test program on it, and stops it whatever happens.

  run.py hdfs PROGRAM   an HDFS mini-cluster (scripts/setup-hdfs installs it)
  run.py s3 PROGRAM     a server that speaks S3 (scripts/setup-s3 installs it)

PROGRAM gets the address in THALWEG_REMOTE_URI. Exit status: PROGRAM's; 77 if the file system is not installed.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
from processes import DEPS, PATIENCE, first_line, stop  # noqa: E402

SKIPPED = 77


class NotInstalled(Exception):
    pass


def start_hdfs(directory):
    home = DEPS / "hdfs"
    if not (home / "libhdfs.so").exists():
        raise NotInstalled("scripts/setup-hdfs installs HDFS")
    jars = ":".join(str(jar) for jar in sorted(home.glob("*.jar")))
    process = subprocess.Popen(["java", "-Xmx512m", "-cp", jars, str(HERE / "MiniHdfs.java"), directory],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    java = pathlib.Path(shutil.which("java")).resolve().parents[1]
    environment = {"CLASSPATH": jars, "ARROW_LIBHDFS_DIR": str(home), "JAVA_HOME": str(java), "LIBHDFS_OPTS": "-Xmx256m"}
    return process, lambda: first_line(process) + "/{}", environment


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_s3(_):
    server = DEPS / "s3-venv" / "bin" / "moto_server"
    if not server.exists():
        raise NotInstalled("scripts/setup-s3 installs a server that speaks S3")
    port = free_port()
    process = subprocess.Popen([str(server), "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL)

    def address():
        deadline = time.monotonic() + PATIENCE
        bucket = urllib.request.Request(f"http://127.0.0.1:{port}/thalweg", method="PUT")
        while True:
            try:
                urllib.request.urlopen(bucket, timeout=10).close()  # patience: it is tried again
                break
            except OSError as failure:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise RuntimeError(f"the S3 server does not answer: {failure}") from failure
                time.sleep(0.2)
        return f"s3://key:secret@thalweg/{{}}?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"

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
            return subprocess.run([sys.argv[2]], env=os.environ | environment, timeout=PATIENCE, check=False).returncode
        finally:
            stop(process)


if __name__ == "__main__":
    sys.exit(main())
