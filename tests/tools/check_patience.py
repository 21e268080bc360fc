#!/usr/bin/env python3
"""Finds tests that decide by the speed of the machine: bounds on elapsed time and waits of under 30 s, settle times of under
a second, and loops that wait without an end.

What must happen is waited for with the patience of tests/support/patience.h; that something was not held up is shown by the
order of events. A line that may stay as it is says why, on itself or on the line above it:

    // patience: nothing can end this wait early        (# patience: ... in Python)

Settle times of 0 are right where the group forms with just those who are needed.
"""

import ast
import re
import sys

from tracked import ROOT, report, tracked_files

LEAST_BOUND, LEAST_SETTLE = 30.0, 1.0  # seconds

_REASON = re.compile(r"(?://|#) patience: \w+ \w+")
_UNITS = {"hours": 3600, "h": 3600, "minutes": 60, "min": 60, "seconds": 1, "s": 1, "milliseconds": 1e-3, "ms": 1e-3,
          "microseconds": 1e-6, "us": 1e-6, "nanoseconds": 1e-9, "ns": 1e-9}
_DURATION = re.compile(
    r"\b(?:(?P<unit>hours|minutes|(?:milli|micro|nano)?seconds)\s*[({]\s*(?P<count>[\d'.]+)\s*[)}]"
    r"|(?P<number>\d[\d'.]*)(?P<suffix>h|min|s|ms|us|ns)\b)")
_CLOCK = re.compile(r"elapsed|\bnow\(\)|since|\btook\b|duration|_seconds\b|\bseconds\b")
_ASSERTED = re.compile(r"\b(?:EXPECT|ASSERT)_L[TE]\s*\(")
_NUMBER = re.compile(r"(?<![\w.])\d[\d'.]*(?![\w.])")
_COMPARED = re.compile(r"<=?\s*(?:std::chrono::)?" + _DURATION.pattern)
_WAIT = re.compile(r"\b(?:wait(?:_for|_any|_until|_ready)?|Deadline(?:\s+\w+)?)\s*[({]")
# What follows shows that the wait is to end without what it waits for.
_IN_VAIN = re.compile(r"future_status::timeout|_FALSE\(|, -1\)")
_SETTLE = re.compile(r"\bsettle\w*\s*[=({]|--settle")
_SETTLE_TEXT = re.compile(r'"--settle",\s*"([\d.]+)"')
_LOOP = re.compile(r"\b(while|for)\s*\(")
_SLEEP = re.compile(r"\bsleep_for\b|\busleep\b|::yield\(\)|\bsleep\(")
_ENDS = re.compile(r"deadline|expired|\bend\b|limit|now\(\)|stop|attempt", re.IGNORECASE)


def durations(text):
    """The lengths, in seconds, that a piece of C++ names."""
    for found in _DURATION.finditer(text):
        count = (found["count"] or found["number"]).replace("'", "")
        yield float(count) * _UNITS[found["unit"] or found["suffix"]]


def closing(text, at):
    """The place after the bracket that closes the one at `at`; the end of the text if nothing does."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] in "({[") - (text[place] in ")}]")
        if depth == 0:
            return place + 1
    return len(text)


def statement(text, at):
    """From `at` to the end of the statement."""
    end = at
    while end < len(text) and text[end] not in ";{":
        end = closing(text, end) if text[end] in "([" else end + 1
    return text[at:end]


def without_comments(text):
    """The same lines, with spaces in place of comments and of what texts hold, but for options of programs."""
    def blank(found):
        word = found.group(0)
        if word.startswith('"') and (word == '"--settle"' or re.fullmatch(r'"[\d.]+"', word)):
            return word
        return re.sub(r"[^\n]", " ", word)
    return re.sub(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', blank, text, flags=re.DOTALL)


def short_bounds(code):
    """Places of bounds on elapsed time, and of waits, that a slow machine exceeds."""
    for found in _ASSERTED.finditer(code):
        bound = statement(code, found.start())
        numbers = list(durations(bound)) or [float(number.replace("'", "")) for number in _NUMBER.findall(bound)]
        if _CLOCK.search(bound) and numbers and max(numbers) < LEAST_BOUND:
            yield found.start(), "a bound on elapsed time"
    for found in _COMPARED.finditer(code):
        if max(durations(found.group(0))) < LEAST_BOUND:
            yield found.start(), "a bound on elapsed time"
    for found in _WAIT.finditer(code):
        arguments = code[found.end() - 1:closing(code, found.end() - 1)]
        begin = max(code.rfind(mark, 0, found.start()) for mark in ";{}") + 1
        lengths = list(durations(arguments))
        if lengths and max(lengths) < LEAST_BOUND and not _IN_VAIN.search(statement(code, begin)):
            yield found.start(), "a wait of"


def short_settles(code):
    for found in _SETTLE.finditer(code):
        line = statement(code, found.start())
        lengths = list(durations(line)) + [float(text) for text in _SETTLE_TEXT.findall(code[found.start() - 1:][:40])]
        if any(0 < length < LEAST_SETTLE for length in lengths):
            yield found.start(), "a settle time of"


def endless_loops(code):
    for found in _LOOP.finditer(code):
        head_end = closing(code, found.end() - 1)
        head = code[found.start():head_end]
        if found.group(1) == "for" and "(;;)" not in head.replace(" ", ""):
            continue
        body = re.compile(r"\s*\{").match(code, head_end)
        body_end = closing(code, body.end() - 1) if body else code.find(";", head_end) + 1
        loop = code[found.start():body_end]
        if _SLEEP.search(loop) and not _ENDS.search(loop):
            yield found.start(), "a loop that waits without an end"


def problems_of_cpp(text):
    code = without_comments(text)
    for place, what in [*short_bounds(code), *short_settles(code), *endless_loops(code)]:
        yield code.count("\n", 0, place) + 1, what


def names_in(node):
    return {child.attr if isinstance(child, ast.Attribute) else child.id
            for child in ast.walk(node) if isinstance(child, (ast.Attribute, ast.Name))}


def number_of(node):
    is_number = isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
    return node.value if is_number and not isinstance(node.value, bool) else None


def problems_of_python(text):
    clocks = re.compile(r"monotonic|perf_counter|elapsed|took|^seconds$|duration")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.While):
            names = " ".join(names_in(node))
            if "sleep" in names and not re.search(r"deadline|monotonic|perf_counter|\bend\b|limit|stop", names):
                yield node.lineno, "a loop that waits without an end"
        elif isinstance(node, ast.Assert):
            for bound in (child for child in ast.walk(node) if isinstance(child, ast.Compare)):
                limits = [number_of(side) for kind, side in zip(bound.ops, bound.comparators)
                          if isinstance(kind, (ast.Lt, ast.LtE))]
                if any(map(clocks.search, names_in(bound))) and any(
                        limit is not None and limit < LEAST_BOUND for limit in limits):
                    yield node.lineno, "a bound on elapsed time"
        elif isinstance(node, ast.keyword) and (limit := number_of(node.value)) is not None:
            if node.arg == "timeout" and limit < LEAST_BOUND:
                yield node.value.lineno, "a wait of"
            if node.arg and "settle" in node.arg and 0 < limit < LEAST_SETTLE:
                yield node.value.lineno, "a settle time of"


_LIMITS = {"a bound on elapsed time": f" under {LEAST_BOUND:g} s", "a wait of": f" under {LEAST_BOUND:g} s",
           "a settle time of": f" under {LEAST_SETTLE:g} s"}


def check(path, text):
    """The problems of one file, each with its place."""
    lines = ["", *text.splitlines()]
    found = problems_of_python(text) if str(path).endswith(".py") else problems_of_cpp(text)
    return [f"{path}:{number}: {what}{_LIMITS.get(what, '')}; see tests/tools/check_patience.py"
            for number, what in sorted(set(found))
            if not any(_REASON.search(line) for line in lines[max(number - 1, 0):number + 1])]


def main():
    problems = []
    for path in tracked_files():
        if path.parts[0] == "tests" and path.suffix in (".cc", ".h", ".py"):
            problems += check(path, (ROOT / path).read_text())
    return report("patience", problems)


if __name__ == "__main__":
    sys.exit(main())
