"""Accuracy: both prices of privacy, wrong predictions and long intervals, on one screen."""

from __future__ import annotations

from ui.accuracy.page import page

page()
