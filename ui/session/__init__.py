"""What one person has set and what is computed for it: reaches no page and no picture."""
