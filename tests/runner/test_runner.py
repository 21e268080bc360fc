"""The runner, on entries of its own: what fails, fails once, hangs, crashes or is skipped, and what it prints of it.

TW_RUNNER_CASES is the program of cases.cc.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("TW_RUNNER_CASES", str(ROOT / "build" / "release" / "bin" / "runner_cases"))
PATIENCE = 600


class Folder:
    """A build folder with entries, as CMake would write it."""

    def __init__(self, path):
        self.path = path
        self.lines = []
        # Entries run elsewhere than where their tests are, as those of this project do.
        (path / "run").mkdir()

    def add(self, name, command, labels="unit", limit=120, environment=""):
        words = " ".join(f'"{word}"' for word in command)
        self.lines.append(f'add_test({name} {words})\n'
                          f'set_tests_properties({name} PROPERTIES TIMEOUT "{limit}" LABELS "{labels}" SKIP_RETURN_CODE 77 '
                          f'WORKING_DIRECTORY "{self.path}/run" ENVIRONMENT "A=b;{environment}")\n')

    def gtest(self, name, cases, **properties):
        self.add(name, [PROGRAM, f"--gtest_output=xml:{self.path}/{name}.xml",
                        "--gtest_filter=" + ":".join(f"Cases.{case}" for case in cases)], **properties)

    def pytest(self, name, text, **properties):
        source = self.path / f"test_{name}.py"
        source.write_text(text)
        self.add(name, [sys.executable, "-u", "-m", "pytest", "-vv", "-p", "no:cacheprovider", "--rootdir", str(self.path),
                        "-c", os.devnull, "-o", "junit_family=xunit1", f"--junit-xml={self.path}/{name}.xml", str(source)],
                 **properties)

    def start(self, *arguments):
        (self.path / "CTestTestfile.cmake").write_text("".join(self.lines))
        return subprocess.Popen([sys.executable, "-m", "tests.runner", "--build", str(self.path), *arguments], cwd=ROOT, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, *arguments):
        with self.start(*arguments) as process:
            try:
                text, _ = process.communicate(timeout=PATIENCE)
            finally:
                process.kill()
        return process.returncode, text


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def last_line(text):
    return text.rstrip().splitlines()[-1]


def test_all_pass(folder):
    folder.gtest("good", ["Passes", "Skips"])
    folder.add("program", [sys.executable, "-c", ""])
    folder.add("absent", [sys.executable, "-c", "print('no data here'); raise SystemExit(77)"])
    status, text = folder.run()
    assert status == 0, text
    assert last_line(text) == "2 passed, 0 failed, 2 skipped"
    assert "skipped: good Cases.Skips: " in text and "this machine has no moon" in text
    assert "skipped: absent: no data here" in text
    assert re.search(r"slowest of 4 cases.*\n(  .*\n)+", text)


def test_what_always_fails_is_last_on_the_screen_with_its_place(folder):
    folder.gtest("bad", ["Passes", "FailsAlways"])
    folder.gtest("bad_concurrent", ["Passes", "FailsAlways"], labels="unit;concurrent")
    status, text = folder.run()
    assert status == 1
    assert last_line(text) == "2 passed, 2 failed, 0 skipped"
    summary = text[text.index("FAILED: "):]
    assert re.search(r"FAILED: bad Cases.FailsAlways \(\S*cases.cc:\d+\)\n.*\n", summary)
    assert re.search(r"FAILED: bad_concurrent Cases.FailsAlways", summary)
    assert "two is not three" in summary and "FLAKY" not in text
    assert text.count("once more, alone: ") == 1, "numerics are never repeated"
    assert "once more, alone: bad_concurrent: Cases.FailsAlways\n" in text


def test_what_fails_once_is_flaky_where_it_may_be(folder):
    folder.gtest("once", ["Passes", "FailsOnce"], labels="unit;concurrent", environment=f"TW_MARK={folder.path}/mark")
    status, text = folder.run()
    assert status == 0, text
    assert re.search(r"FLAKY: once Cases.FailsOnce \(\S*cases.cc:\d+\)", text) and "the first time" in text
    assert last_line(text) == "2 passed, 0 failed, 0 skipped"
    (folder.path / "mark").unlink()
    folder.lines.clear()
    folder.gtest("once", ["FailsOnce"], labels="unit", environment=f"TW_MARK={folder.path}/mark")
    status, text = folder.run()
    assert status == 1 and "FLAKY" not in text


def test_what_hangs_is_ended_by_its_limit_and_named(folder):
    folder.gtest("slow", ["Passes", "Hangs"], limit=2)
    status, text = folder.run()
    assert status == 1
    assert "FAILED: slow Cases.Hangs" in text and "ended by its limit of 2 s" in text
    assert last_line(text) == "1 passed, 1 failed, 0 skipped"


def test_what_hangs_is_tried_again_without_what_had_passed(folder):
    folder.gtest("slow", ["Passes", "Hangs", "Skips"], labels="concurrent", limit=2)
    status, text = folder.run()
    assert status == 1
    assert "once more, alone: slow: Cases.Hangs\n" in text
    assert last_line(text) == "1 passed, 1 failed, 0 skipped"


def test_a_crash_names_the_case(folder):
    folder.gtest("crash", ["Passes", "Crashes"])
    status, text = folder.run()
    assert status == 1 and "FAILED: crash Cases.Crashes" in text
    assert last_line(text) == "1 passed, 1 failed, 0 skipped"


def test_a_missing_program_is_a_failure(folder):
    folder.add("gone", [f"{folder.path}/nothing_here"])
    status, text = folder.run()
    assert status == 1 and "FAILED: gone" in text and last_line(text) == "0 passed, 1 failed, 0 skipped"


PYTHON_CASES = """
import pathlib, pytest
mark = pathlib.Path(__file__).with_suffix(".mark")
def test_good(): pass
@pytest.mark.parametrize("word", ["a b", "c"])
def test_once(word):
    seen = mark.exists()
    mark.write_text("")
    assert seen or word == "c", "the first time"
class TestGroup:
    def test_inner(self): assert 1 == 2, "never"
def test_skipped(): pytest.skip("no moon")
"""


def test_cases_of_pytest(folder):
    folder.pytest("cases", PYTHON_CASES, labels="concurrent")
    status, text = folder.run()
    assert status == 1
    assert "FLAKY: cases test_cases.py::test_once[a b]" in text and "the first time" in text
    assert re.search(r"FAILED: cases test_cases.py::TestGroup::test_inner \(\S*test_cases.py:\d+\)", text) and "never" in text
    assert last_line(text) == "3 passed, 1 failed, 1 skipped"


def test_a_file_of_pytest_that_cannot_be_read(folder):
    folder.pytest("broken", "def test_x(:\n", labels="concurrent")
    status, text = folder.run()
    assert status == 1 and "FAILED: broken" in text and "SyntaxError" in text


def test_a_hang_in_pytest_names_the_case(folder):
    folder.pytest("hang", "import time\ndef test_good(): pass\ndef test_hang(): time.sleep(1000)\n", limit=10)
    status, text = folder.run()
    assert status == 1 and "test_hang" in text[text.index("FAILED: "):]
    assert last_line(text) == "1 passed, 1 failed, 0 skipped"


def test_quick_ones_come_first_and_save_the_rest(folder):
    folder.gtest("bad", ["FailsAlways"], labels="quick")
    folder.add("other", [sys.executable, "-c", ""])
    status, text = folder.run("--first", "quick")
    assert status == 1 and "the other 1 entries were not run" in text
    assert last_line(text) == "0 passed, 1 failed, 0 skipped"
    folder.lines = folder.lines[1:]
    folder.gtest("good", ["Passes"], labels="quick")
    status, text = folder.run("--first", "quick")
    assert status == 0 and last_line(text) == "2 passed, 0 failed, 0 skipped"


def test_labels_and_names_select(folder):
    folder.gtest("good", ["Passes"], labels="unit;part:ops")
    folder.gtest("long", ["FailsAlways"], labels="long")
    status, text = folder.run()
    assert status == 0 and last_line(text) == "1 passed, 0 failed, 0 skipped"
    assert folder.run("--name", "nothing")[0] == 1


def test_soaking_counts_failures_by_case(folder):
    folder.gtest("mixed", ["Passes", "FailsAlways"], labels="soak")
    status, text = folder.run("--soak", "3")
    assert status == 1 and "3 of 3: mixed Cases.FailsAlways" in text and "beside 4 busy loops" in text
    assert last_line(text) == "0 passed, 3 failed"


def wait_until(happened):
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_interrupted_soak_ends_what_it_runs(folder):
    note = folder.path / "pid"
    program = f"import os, time; open('{note}.new', 'w').write(str(os.getpid())); os.rename('{note}.new', '{note}'); time.sleep(900)"
    folder.add("long", [sys.executable, "-c", program], labels="soak", limit=900)
    with folder.start("--soak", "2") as process:
        try:
            wait_until(note.exists)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    wait_until(lambda: not pathlib.Path(f"/proc/{note.read_text()}").exists())
