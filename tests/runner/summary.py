"""The last thing on the screen: what failed and where, what passed only at the second try, what took longest."""

from .results import FAILED, PASSED, SKIPPED

_LINES = 12
_SLOWEST = 10


def print_summary(cases, flaky, seconds):
    """Prints it and gives the exit status. `flaky` holds the cases that failed at first, as they then failed."""
    failed = [case for case in cases if case.status == FAILED]
    skipped = [case for case in cases if case.status == SKIPPED]
    passed = sum(case.status == PASSED for case in cases)
    for case in failed:
        _print_failure("FAILED", case)
    for case in flaky:
        _print_failure("FLAKY", case)
    for case in skipped:
        print(f"skipped: {case.title}: {(case.text.splitlines() or ['it does not say why'])[0]}")
    slowest = sorted(cases, key=lambda case: -case.seconds)[:_SLOWEST]
    print(f"the slowest of {len(cases)} cases, in {seconds / 60:.1f} minutes:")
    for case in slowest:
        print(f"  {case.seconds:7.1f} s  {case.title}")
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped", flush=True)
    return 1 if failed else 0


def _print_failure(word, case):
    print(f"{word}: {case.title}" + (f" ({case.place})" if case.place else ""))
    for line in case.text.splitlines()[:_LINES]:
        print(f"    {line}")
