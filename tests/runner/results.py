"""What became of each case, out of the files that GoogleTest, pytest and Surefire write, or of what a program printed."""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclasses.dataclass
class Case:
    """One case of an entry. An entry that has none of its own is one, without a name."""

    entry: str
    name: str
    status: str
    seconds: float = 0.0
    place: str = ""
    """The file and line of the case, where known."""
    text: str = ""
    """Why it failed or was skipped."""
    selector: str = ""
    """What asks the entry's program for this case alone, if anything does."""

    @property
    def title(self):
        return f"{self.entry} {self.name}".rstrip()


@dataclasses.dataclass
class Run:
    """How an entry ended, as ctest or a run of our own saw it."""

    entry: object
    status: str
    seconds: float
    output: str
    reason: str = ""
    """Why it failed, in a few words: "Timeout", "exit status 1"."""


def cases_of(run):
    """The cases of an entry that has run. One that failed has at least one case that did."""
    cases = [case for path in run.entry.results for case in _read(run.entry, path)]
    if run.status == FAILED and not any(case.status == FAILED for case in cases):
        cases += _unfinished(run, cases)
    return cases or [Case(run.entry.name, "", run.status, run.seconds, text=run.reason)]


def _read(entry, path):
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:  # the program was ended while it wrote
        return []
    cases = []
    for element in root.iter("testcase"):
        if element.get("status") == "notrun" and element.get("result") != "skipped":
            continue  # disabled
        cases.append(_case(entry, element))
    return cases


def _case(entry, element):
    bad = element.findall("failure") + element.findall("error")
    skipped = element.find("skipped")
    status = FAILED if bad else SKIPPED if skipped is not None else PASSED
    text = "\n".join(filter(None, (_text_of(child) for child in bad)))
    place = _place_of(entry.kind, element, text)
    if entry.kind == "pytest":
        text = _errors_of(text)
    if skipped is not None:
        # GoogleTest begins with the place.
        text = re.sub(r"\A\S+:\d+\n", "", skipped.get("message") or _text_of(skipped))
    name, selector = _name_of(entry.kind, element)
    return Case(entry.name, name, status, float(element.get("time") or 0), place, text, selector)


def _text_of(child):
    text, message = (child.text or "").strip(), (child.get("message") or "").strip()
    return text if message.splitlines()[:1] and message.splitlines()[0] in text else f"{message}\n{text}".strip()


def _errors_of(traceback):
    """The lines of one of pytest's tracebacks that say what went wrong, or all of it if none does."""
    errors = [line[1:].removeprefix("   ") for line in traceback.splitlines() if re.match(r"E\s", line)]
    return "\n".join(errors) or traceback


def _name_of(kind, element):
    group, name = element.get("classname") or "", element.get("name") or ""
    if kind == "gtest":
        return f"{group}.{name}", f"{group}.{name}"
    if kind == "pytest":
        path = element.get("file")
        if not path or not element.get("line"):  # a file that could not be collected
            return name or group, ""
        module = path.removesuffix(".py").replace("/", ".")
        inner = group[len(module) + 1:].split(".") if group.startswith(module + ".") else []
        selector = "::".join([path, *inner, name])
        return "::".join([path.rpartition("/")[2], *inner, name]), selector
    return f"{group}.{name}", ""


def _place_of(kind, element, text):
    path, line = element.get("file"), element.get("line")
    # The line that failed says more than the one where the case begins: GoogleTest's comes first, the innermost of pytest's
    # that lies in the tree comes last.
    lines = re.findall(r"^((?!/)\S+\.py|\S+\.(?:cc|h|java)):(\d+)", text, re.MULTILINE)
    if lines:
        return ":".join(lines[-1 if kind == "pytest" else 0])
    if not path:
        return ""
    return f"{path}:{int(line) + (kind == 'pytest')}" if line else path


_GTEST_LINE = re.compile(r"^\[\s*(RUN|OK|FAILED|SKIPPED)\s*\] (\S+?)(?:,.*)?(?: \(\d+ ms\))?$")
_PYTEST_LINE = re.compile(r"^(\S+\.py::\S+?(?:\[.*?\])?)\s*(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)?\s*(?:\[\s*\d+%\])?$")


def printed_cases(kind, output):
    """(passed, not ended): the names of cases that a program had printed before it was ended."""
    passed, running = [], {}
    for line in output.splitlines():
        if kind == "gtest" and (match := _GTEST_LINE.match(line)):
            state, name = match.groups()
        elif kind == "pytest" and (match := _PYTEST_LINE.match(line)):
            name, state = match[1], match[2] or "RUN"
        else:
            continue
        if state == "RUN":
            running[name] = True
        else:
            running.pop(name, None)
            if state in ("OK", "PASSED", "SKIPPED"):
                passed.append(name)
    return passed, list(running)


def _unfinished(run, known):
    """The case in which a program ended, or the entry as a whole if no case is to blame."""
    tail = "\n".join(run.output.rstrip().splitlines()[-10:])
    text = f"{run.reason}; it printed last:\n{tail}" if tail else run.reason
    if known:  # every case passed, but the program did not: a leak that a sanitizer found, say
        return [Case(run.entry.name, "", FAILED, run.seconds, text=text)]
    passed, running = printed_cases(run.entry.kind, run.output)
    done = [Case(run.entry.name, name, PASSED) for name in passed]
    return done + [Case(run.entry.name, name, FAILED, run.seconds, text=text) for name in running or [""]]
