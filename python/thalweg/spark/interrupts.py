"""Calls of Java that Ctrl-C ends, and not only the wait for them."""

import concurrent.futures
import threading
import uuid

from pyspark import InheritableThread

_PAUSE_SECONDS = 0.5
_END_SECONDS = 10


def cancellable(session, call):
    """What `call` gives. On KeyboardInterrupt the jobs of Spark that it has begun are cancelled first.

    The call runs on a thread of its own, because py4j has a connection for each: that of an interrupted call is of no use
    until the call has ended. Other threads than the main one get no KeyboardInterrupt, and call by themselves.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    context = session.sparkContext
    tag = f"thalweg-{uuid.uuid4()}"
    outcome = concurrent.futures.Future()

    def run():
        try:
            context.addJobTag(tag)
            outcome.set_result(call())
        except BaseException as error:
            outcome.set_exception(error)

    try:
        InheritableThread(target=run, session=session, daemon=True).start()
        return outcome.result()
    except KeyboardInterrupt:
        threading.Thread(target=_cancel, args=(context, tag, outcome), daemon=True).start()
        concurrent.futures.wait([outcome], timeout=_END_SECONDS)
        raise


def _cancel(context, tag, outcome):
    """Until the call has ended, since it may begin another job: a fit that waits for its turn has none yet."""
    while not outcome.done():
        try:
            context.cancelJobsWithTag(tag)
        except Exception:
            return  # the session was stopped, and all jobs with it
        concurrent.futures.wait([outcome], timeout=_PAUSE_SECONDS)
