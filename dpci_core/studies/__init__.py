"""Experiments of the papers, run again, and what they are held against."""
