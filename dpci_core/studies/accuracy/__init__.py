"""Accuracy of private learners: the protocol of [CMS] and what it measures."""
