"""Self-contained pages for people who do not have this program."""
