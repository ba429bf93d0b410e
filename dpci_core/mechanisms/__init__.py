"""Private coefficients and private matrices: what is drawn, at which price."""
