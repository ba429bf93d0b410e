"""Pictures and words that several pages share."""
