"""The page About."""
