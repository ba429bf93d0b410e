"""Coverage, a tab of Evidence."""
