"""Tests that drive the real dashboard in a real browser."""
