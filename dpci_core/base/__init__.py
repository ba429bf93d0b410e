"""What everything else stands on: errors, limits, checks, small linear algebra, places of files."""
