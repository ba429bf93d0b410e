"""Independent, slow and literal versions of what dpci_core computes; nothing here imports it."""
