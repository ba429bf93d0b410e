"""Lengths, a tab of Evidence."""
