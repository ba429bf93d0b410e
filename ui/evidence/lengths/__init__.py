"""The page Sharper intervals."""
