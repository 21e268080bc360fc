#!/usr/bin/env python3
"""What check_patience.py finds, and what it leaves alone."""

import unittest

from check_patience import check

_FOUND = {
    "test.cc": [
        "EXPECT_LT(deadline.elapsed(), 4);",
        "EXPECT_LE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));",
        "EXPECT_LT(seconds_since(begin),\n          15) << text;",
        "return took < 500ms;",
        "ASSERT_EQ(running.wait_for(std::chrono::seconds(4)), std::future_status::ready);",
        "EXPECT_TRUE(pending.wait(std::chrono::seconds(20)).ok());",
        "const Deadline deadline(std::chrono::seconds(5));",
        "changed.wait_for(lock, std::chrono::seconds(20), [&] { return waiting == 0; });",
        "options.settle = std::chrono::milliseconds(100);",
        'launch({"-n", "2", "--settle", "0.1"}, job);',
        "while (!group->newcomers_waiting()) std::this_thread::sleep_for(1ms);",
        "while (calls == 0) std::this_thread::yield();",
        "for (;;) {\n  if (there()) break;\n  ::usleep(1000);\n}",
        "EXPECT_LT(deadline.elapsed(), 4);  // patience: no",
    ],
    "test.py": [
        "assert time.monotonic() - begin < 5",
        "assert elapsed <= 2.5, text",
        "thread.join(timeout=5)",
        "start(settle=0.2)",
        "while not ready():\n    time.sleep(0.1)",
    ],
}
_LEFT_ALONE = {
    "test.cc": [
        "EXPECT_LT(deadline.elapsed(), 60);",
        "EXPECT_LT(loss, 0.5);",
        "EXPECT_LT(numbers.size(), 3);",
        "EXPECT_GE(deadline.elapsed(), 0.19);",
        "EXPECT_EQ(second.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);",
        "EXPECT_FALSE(whole->receive(kAnybody).wait(std::chrono::milliseconds(1)).ok());",
        "EXPECT_TRUE(pending.wait(patience()).ok());",
        "options.settle = std::chrono::seconds(0);",
        "options.settle = patience();",
        "std::this_thread::sleep_for(std::chrono::milliseconds(50));",
        "while (!done() && !deadline.expired()) std::this_thread::sleep_for(1ms);",
        "while (loader.next(loaded)) ++count;",
        "// EXPECT_LT(deadline.elapsed(), 4);",
        'const char* text = "while (true) sleep(1)";',
        "EXPECT_LT(deadline.elapsed(), 4);  // patience: one of several attempts",
        "// patience: one of several attempts\nEXPECT_LT(deadline.elapsed(), 4);",
    ],
    "test.py": [
        "assert time.monotonic() - begin < 90",
        "assert loss < 5",
        "thread.join(timeout=60)",
        "while not ready():\n    assert time.monotonic() < deadline\n    time.sleep(0.1)",
        "thread.join(timeout=5)  # patience: it is over by then",
    ],
}


class Patience(unittest.TestCase):
    def test_finds_what_a_slow_machine_fails(self):
        for path, pieces in _FOUND.items():
            for piece in pieces:
                with self.subTest(piece):
                    self.assertEqual(len(check(path, piece)), 1)

    def test_leaves_alone_what_it_does_not(self):
        for path, pieces in _LEFT_ALONE.items():
            for piece in pieces:
                with self.subTest(piece):
                    self.assertEqual(check(path, piece), [])

    def test_names_the_line(self):
        self.assertTrue(check("some/test.cc", "\n\nEXPECT_LT(elapsed, 2);")[0].startswith("some/test.cc:3: a bound "))


if __name__ == "__main__":
    unittest.main()
