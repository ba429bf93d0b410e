"""Private linear regression with intervals, by clipped Newton steps;
docs/proofs/gaussian.md#linear-regression has the argument.
"""
