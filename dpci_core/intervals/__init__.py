"""From released quantities to intervals: half-widths, forecasts, one private fit."""
