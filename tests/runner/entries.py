"""What ctest knows of each entry, read from ctest itself, and the commands that run an entry again."""

import dataclasses
import json
import pathlib
import subprocess

_GTEST = "--gtest_output=xml:"
_PYTEST = "--junit-xml="
_SUREFIRE = "-Doutput.directory="

CONCURRENT = "concurrent"
"""The label of entries with threads, processes, clusters or the network, whose failures may be the machine's."""


@dataclasses.dataclass
class Entry:
    """One test of ctest's: a program, and where it leaves the results of its cases."""

    name: str
    command: list
    directory: str
    environment: dict
    labels: list
    limit: float
    """Seconds after which it is ended."""

    @property
    def kind(self):
        """The one that writes the results: gtest, pytest, surefire, or none for a program that is a case by itself."""
        for prefix, kind in ((_GTEST, "gtest"), (_PYTEST, "pytest"), (_SUREFIRE, "surefire")):
            if self._argument(prefix) is not None:
                return kind
        return "none"

    @property
    def results(self):
        """The files with the results of its cases, those that exist."""
        if self.kind == "surefire":
            return sorted((pathlib.Path(self._argument(_SUREFIRE)) / "surefire-reports").glob("TEST-*.xml"))
        argument = self._argument(_GTEST) or self._argument(_PYTEST)
        path = pathlib.Path(argument) if argument else None
        return [path] if path and path.exists() else []

    def forget_results(self):
        """Removes what an earlier run has left, which would pass for that of the next."""
        for path in self.results:
            path.unlink()

    def _argument(self, prefix):
        found = [argument[len(prefix):] for argument in self.command if argument.startswith(prefix)]
        return found[0] if found else None

    def again(self, failed, passed):
        """The entry that runs only what did not pass: the cases that failed, or, where it ended before it could say, all
        but those that had passed."""
        command = list(self.command)
        if self.kind == "gtest":
            command = [argument for argument in command if not argument.startswith("--gtest_filter=")]
            own = self._argument("--gtest_filter=") or "*"
            command.append("--gtest_filter=" + (":".join(failed) if failed else _without(own, passed)))
        elif self.kind == "pytest" and failed:
            command = [argument for argument in command if not argument.endswith(".py")] + failed
        suffix = ".again.xml"
        for prefix in (_GTEST, _PYTEST):
            command = [argument[:-len(".xml")] + suffix if argument.startswith(prefix) else argument for argument in command]
        return dataclasses.replace(self, command=command)


def _without(pattern, names):
    """A filter of GoogleTest's, less the cases of these names."""
    if not names:
        return pattern
    return pattern + (":" if "-" in pattern else "-") + ":".join(names)


def read_entries(folder, selection):
    """The entries of a build folder; `selection` holds arguments of ctest's, such as ["-L", "unit"]."""
    listing = subprocess.run(["ctest", "--test-dir", str(folder), "--show-only=json-v1", *selection], check=True,
                             capture_output=True, text=True).stdout
    return [_entry(test) for test in json.loads(listing)["tests"]]


def _entry(test):
    properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
    environment = dict(line.split("=", 1) for line in properties.get("ENVIRONMENT", []))
    return Entry(test["name"], test.get("command", []), properties.get("WORKING_DIRECTORY", "."), environment,
                 properties.get("LABELS", []), float(properties.get("TIMEOUT", 0)))
