"""Processes that tests start, and where the programs are that the scripts/setup-* have installed for them."""

import os
import pathlib
import select
import subprocess

DEPS = pathlib.Path(os.environ.get("THALWEG_DEPS") or pathlib.Path.home() / ".cache" / "thalweg")
PATIENCE = 240  # seconds: a busy machine takes its time


def stop(process):
    """Asks by the end of its input, if the test writes it, then by a signal, then ends it; only this process, by its number."""
    gentle = [process.stdin.close] if process.stdin else []
    for ask in (*gentle, process.terminate, process.kill):
        ask()
        try:
            process.wait(20)
            return
        except subprocess.TimeoutExpired:
            continue


def first_line(process):
    """What the process prints first, or an error once it has ended or taken too long."""
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    line = process.stdout.readline().strip() if ready else ""
    if not line:
        raise RuntimeError(f"{process.args[0]} printed nothing within {PATIENCE} s; status {process.poll()}")
    return line
