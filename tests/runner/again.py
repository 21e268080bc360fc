"""What failed and has threads, processes, clusters or the network runs once more, alone, when all the rest is done."""

from .ctest import run_alone
from .entries import CONCURRENT
from .results import FAILED, cases_of, printed_cases


def repeat_failed(runs):
    """(cases, flaky): the cases of all runs as they stand after the second try, and the first failures of those that passed
    at the second. Only entries with the label "concurrent" have one."""
    cases, flaky = [], []
    for run in runs:
        first = cases_of(run)
        if run.status == FAILED and CONCURRENT in run.entry.labels:
            first, passed_now = _second_try(run, first)
            flaky += passed_now
        cases += first
    return cases, flaky


def _second_try(run, first):
    failed = [case for case in first if case.status == FAILED]
    print(f"once more, alone: {run.entry.name}: {', '.join(case.name or 'all of it' for case in failed)}", flush=True)
    again = run_alone(_entry_again(run, failed))
    second = cases_of(again)
    if again.status == FAILED:
        failed_now = {case.name for case in second if case.status == FAILED}
        flaky = [case for case in failed if case.name not in failed_now and "" not in failed_now]
    else:
        flaky = failed
    # A case that ran twice counts once, as it ended the second time.
    named = {case.name for case in second if case.name}
    kept = [case for case in first if case.status != FAILED and case.name not in named]
    return kept + second, flaky


def _entry_again(run, failed):
    selectors = [case.selector for case in failed if case.selector]
    if len(selectors) == len(failed):
        return run.entry.again(selectors, [])
    passed, _ = printed_cases(run.entry.kind, run.output)
    return run.entry.again([], passed)
