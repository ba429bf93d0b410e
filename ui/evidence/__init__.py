"""The page Evidence: what was measured, a tab each."""
