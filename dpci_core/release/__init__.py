"""The one release: real noise, booked before it is drawn, written so that it can be shown and checked later."""
