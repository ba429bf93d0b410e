"""The page Reproduce."""
