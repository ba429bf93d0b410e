"""Private linear regression with intervals, by clipped Newton steps; docs/linear.md has the
argument.
"""
