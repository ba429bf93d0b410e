"""Replication, a tab of Evidence."""
