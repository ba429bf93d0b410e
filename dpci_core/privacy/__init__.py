"""Budgets and their conversions, sensitivities, the laws of noise and where it is drawn from."""
