"""The progress of fits where the console of the driver's JVM is out of sight."""

import contextlib
import sys
import threading

_PAUSE_SECONDS = 0.5


@contextlib.contextmanager
def shown(java_estimator):
    """Shows how a fit goes if Python's standard error is not the process's own, as in a notebook."""
    if sys.stderr is sys.__stderr__:
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_follow, args=(java_estimator, ended, sys.stderr), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _follow(java_estimator, ended, stream):
    width = 0
    while not ended.wait(_PAUSE_SECONDS):
        line = java_estimator.progress()
        if line:
            stream.write("\r" + line.ljust(width))
            stream.flush()
            width = len(line)
    if width:
        stream.write("\r" + java_estimator.progress().ljust(width) + "\n")
