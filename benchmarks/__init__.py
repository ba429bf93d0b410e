"""Measurements, never part of the test run: `python -m benchmarks` prints them as one table."""
