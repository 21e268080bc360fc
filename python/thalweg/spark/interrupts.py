"""Calls of Java that Ctrl-C ends, and not only the wait for them."""

import concurrent.futures
import threading
import uuid

from pyspark import InheritableThread

_PAUSE_SECONDS = 0.5
_END_SECONDS = 10


class _Call(InheritableThread):
    """Keeps what comes of a call, and what comes before it: pyspark's thread first asks the JVM to take Spark's properties over."""

    def __init__(self, session, call):
        super().__init__(target=self._begin, session=session, daemon=True)
        self.outcome = concurrent.futures.Future()
        self._call = call

    def _begin(self):
        if self.outcome.set_running_or_notify_cancel():
            self.outcome.set_result(self._call())

    def run(self):
        try:
            super().run()
        except BaseException as error:
            if not self.outcome.cancelled():
                self.outcome.set_exception(error)


def cancellable(session, call):
    """What `call` gives. On KeyboardInterrupt the jobs of Spark that it has begun are cancelled first.

    The call runs on a thread of its own, because py4j has a connection for each: that of an interrupted call is of no use
    until the call has ended. Other threads than the main one get no KeyboardInterrupt, and call by themselves.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    context = session.sparkContext
    tag = f"thalweg-{uuid.uuid4()}"

    def tagged():
        context.addJobTag(tag)
        return call()

    running = _Call(session, tagged)
    try:
        running.start()
        return running.outcome.result()
    except KeyboardInterrupt:
        if running.outcome.cancel():
            raise  # the call has not begun, and never will
        threading.Thread(target=_cancel, args=(context, tag, running.outcome), daemon=True).start()
        concurrent.futures.wait([running.outcome], timeout=_END_SECONDS)
        raise


def _cancel(context, tag, outcome):
    """Until the call has ended, since it may begin another job: a fit that waits for its turn has none yet."""
    while not outcome.done():
        try:
            context.cancelJobsWithTag(tag)
        except Exception:
            return  # the session was stopped, and all jobs with it
        concurrent.futures.wait([outcome], timeout=_PAUSE_SECONDS)
