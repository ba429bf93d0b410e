"""Private linear regression with intervals, by clipped Newton steps; docs/proofs/linear.md has the
argument.
"""
