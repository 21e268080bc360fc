"""Processes of this machine that train one model together.

The first worker is this process; the others are forked from it, so that model and data need not be sent.
"""

import contextlib
import multiprocessing
import multiprocessing.connection
import operator
import signal
import sys
import threading
import time

from thalweg._core import Error, InputError, groups

_SECONDS_TO_END = 60
_SECONDS_TO_REPORT = 3
_SECONDS_BETWEEN_LOOKS = 0.2
# What a worker says must fit into the pipe, which nobody reads before the worker has ended.
_LONGEST_REASON = 10_000


def _main(number, work, scheme, address, secret, failures):
    # The first worker hears Ctrl-C and tells the others through the group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    failure = []

    def run():
        try:
            work(_join(scheme, address, secret))
        except Exception as error:  # noqa: BLE001: whatever it is, the first worker reports it
            failure.append(f"{type(error).__name__}: {error}"[:_LONGEST_REASON])

    # Python's main thread stays free for signals.
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    for text in failure:
        failures.put((number, text))
    sys.exit(len(failure))


def _join(scheme, address, secret, cancellation=None):
    options = {} if scheme is None else {"scheme": scheme}
    return groups.join(rendezvous=address, secret=secret, cancellation=cancellation, **options)


class _Watch:
    """Makes this process leave the group as soon as another one has failed, as the group cannot go on without it."""

    def __init__(self, processes):
        self.cancellation = groups.Cancellation()
        self._processes = processes
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._ended.is_set() and not self.cancellation.cancelled:
            running = [process.sentinel for process in self._processes if process.exitcode is None]
            if running:
                multiprocessing.connection.wait(running, _SECONDS_BETWEEN_LOOKS)
            else:
                self._ended.wait(_SECONDS_BETWEEN_LOOKS)
            if any(process.exitcode for process in self._processes):
                self.cancellation.cancel()

    def end(self):
        # Only one thread may ask for the state of a process.
        self._ended.set()
        self._thread.join()


@contextlib.contextmanager
def group(workers, scheme, work):
    """Starts ``workers - 1`` processes that call ``work(scheme)``, and gives this one its own scheme."""
    context = multiprocessing.get_context("fork")
    secret = groups.make_secret()
    rendezvous = groups.Rendezvous(workers, secret)
    failures = context.SimpleQueue()
    processes = [
        context.Process(target=_main, args=(number, work, scheme, rendezvous.address, secret, failures), daemon=True)
        for number in range(1, workers)
    ]
    for process in processes:
        process.start()
    watch = _Watch(processes)
    try:
        yield _join(scheme, rendezvous.address, secret, watch.cancellation)
        watch.end()
        _wait_for(processes, _SECONDS_TO_END)
    except Error as error:
        watch.end()
        # Perhaps this worker failed because another one did, which is about to say why.
        _wait_for_failure(processes)
        reasons = _reasons(processes, failures)
        if not reasons:
            raise
        # That this worker was told to leave explains nothing.
        is_own = type(error) is not Error or not watch.cancellation.cancelled
        raise type(error)("; ".join(([str(error)] if is_own else []) + reasons)) from error
    finally:
        watch.end()
        for process in processes:
            if process.is_alive():
                process.kill()
                process.join(_SECONDS_TO_END)
    for reason in _reasons(processes, failures):
        raise Error(reason)


def number_of(workers):
    """How many processes ``workers`` asks for."""
    try:
        number = operator.index(workers)
    except TypeError:
        number = 0
    if number < 1:
        raise InputError(f"workers is {workers!r}, must be a number of processes, at least 1")
    return number


def _wait_for(processes, seconds):
    deadline = time.monotonic() + seconds
    for process in processes:
        process.join(max(0, deadline - time.monotonic()))


def _wait_for_failure(processes):
    """Until one has failed, all have ended or that takes too long."""
    deadline = time.monotonic() + _SECONDS_TO_REPORT
    while not any(process.exitcode for process in processes):
        running = [process.sentinel for process in processes if process.exitcode is None]
        if not running or not multiprocessing.connection.wait(running, max(0, deadline - time.monotonic())):
            return


def _reasons(processes, failures):
    """Why each of the others failed, if it did."""
    told = {}
    while not failures.empty():
        number, reason = failures.get()
        told[number] = reason
    reasons = []
    for number, process in enumerate(processes, 1):
        if number in told:
            reasons.append(f"worker {number} failed: {told[number]}")
        elif process.exitcode:
            how = "ended with status" if process.exitcode > 0 else "was killed by signal"
            reasons.append(f"worker {number} {how} {abs(process.exitcode)}")
    return reasons
