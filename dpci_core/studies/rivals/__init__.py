"""The strongest published rival, noisy gradient descent and noisy Newton, beside this project's
intervals.
"""
