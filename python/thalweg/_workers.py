"""Processes of this machine that train one model together.

The first worker is this process; the others are forked from it, so that model and data need not be sent.
"""

import contextlib
import multiprocessing
import signal
import threading
import time

from thalweg._core import Error, InputError, groups

_SECONDS_TO_END = 60
_SECONDS_TO_REPORT = 10


def _main(work, scheme, address, secret, failures):
    # The first worker hears Ctrl-C and tells the others through the group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    failure = []

    def run():
        try:
            work(_join(scheme, address, secret))
        except Exception as error:  # noqa: BLE001: whatever it is, the first worker reports it
            failure.append(f"{type(error).__name__}: {error}")

    # A thread made after the fork has OpenMP threads of its own.
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    for text in failure:
        failures.put(text)


def _join(scheme, address, secret):
    options = {} if scheme is None else {"scheme": scheme}
    return groups.join(rendezvous=address, secret=secret, **options)


@contextlib.contextmanager
def group(workers, scheme, work):
    """Starts ``workers - 1`` processes that call ``work(scheme)``, and gives this one its own scheme."""
    if not isinstance(workers, int) or workers < 1:
        raise InputError(f"workers is {workers!r}, must be a number of processes, at least 1")
    context = multiprocessing.get_context("fork")
    secret = groups.make_secret()
    rendezvous = groups.Rendezvous(workers, secret)
    failures = context.SimpleQueue()
    processes = [
        context.Process(target=_main, args=(work, scheme, rendezvous.address, secret, failures), daemon=True)
        for _ in range(workers - 1)
    ]
    for process in processes:
        process.start()
    try:
        yield _join(scheme, rendezvous.address, secret)
        _wait_for(processes, _SECONDS_TO_END)
    except Error as error:
        # Perhaps this worker failed because another one did, which is about to say why.
        _wait_for(processes, _SECONDS_TO_REPORT)
        reasons = _drain(failures)
        if not reasons:
            raise
        raise type(error)(f"{error}; of the other workers: {'; '.join(reasons)}") from error
    finally:
        for process in processes:
            if process.is_alive():
                process.kill()
                process.join(_SECONDS_TO_END)
    for reason in _drain(failures):
        raise Error(f"a worker failed: {reason}")


def _wait_for(processes, seconds):
    deadline = time.monotonic() + seconds
    for process in processes:
        process.join(max(0, deadline - time.monotonic()))


def _drain(failures):
    reasons = []
    while not failures.empty():
        reasons.append(failures.get())
    return reasons
