"""Background work after a write."""
