"""What settings are moved with, on every page that has them."""
