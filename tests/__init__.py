"""Tests of the package, its pages and its claims."""
