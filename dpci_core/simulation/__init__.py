"""Coverage and variability intervals by many replicates."""
