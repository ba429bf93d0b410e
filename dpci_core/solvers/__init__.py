"""Minimisers of the penalised risk, one algorithm a file, and the sums over records they are made
of.
"""
