"""Runs the tests that CMake has declared, and says at the end what failed: see __main__.py."""
