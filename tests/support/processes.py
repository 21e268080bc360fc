"""Processes that tests start, how long tests wait, and where the programs are that the scripts/setup-* have installed."""

import os
import pathlib
import select
import subprocess
import time

DEPS = pathlib.Path(os.environ.get("THALWEG_DEPS") or pathlib.Path.home() / ".cache" / "thalweg")
# Seconds within which must happen what a test waits for. Where machines are slower, THALWEG_TEST_PATIENCE is a factor.
PATIENCE = 60 * float(os.environ.get("THALWEG_TEST_PATIENCE") or 1)
# For what is many things one after the other: a cluster that starts, a program that starts one and trains on it.
LONG_PATIENCE = 5 * PATIENCE
# For JVMs that live for seconds: code is compiled once and quickly, and no threads wait to collect garbage.
JAVA_OPTIONS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
_PAUSE_SECONDS = 0.05


def wait_until(condition, what, patience=PATIENCE):
    """What the condition gives as soon as that is true; `what` is told otherwise."""
    end = time.monotonic() + patience
    while True:
        late = time.monotonic() > end  # looked at first: a machine may stand still in between
        found = condition()
        if found:
            return found
        if late:
            raise AssertionError(f"{what}: not within {patience:g} s")
        time.sleep(_PAUSE_SECONDS)


def stop(process):
    """Asks by the end of its input, if the test writes it, then by a signal, then ends it; only this process, by its number."""
    gentle = [process.stdin.close] if process.stdin else []
    for ask in (*gentle, process.terminate, process.kill):
        ask()
        try:
            process.wait(PATIENCE)
            return
        except subprocess.TimeoutExpired:
            continue


def first_line(process):
    """What the process prints first, or an error once it has ended or taken too long."""
    ready, _, _ = select.select([process.stdout], [], [], LONG_PATIENCE)
    line = process.stdout.readline().strip() if ready else ""
    if not line:
        raise RuntimeError(f"{process.args[0]} printed nothing within {LONG_PATIENCE:g} s; status {process.poll()}")
    return line
