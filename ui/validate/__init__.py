"""The page Validate."""
