"""The page Published or sharp."""
