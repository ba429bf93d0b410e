"""Measurements, never part of the test run: each file says in its first line what it measures."""
