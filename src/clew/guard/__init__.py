"""Who may see what, and how it is rendered."""
