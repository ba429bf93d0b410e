"""The page Learn."""
