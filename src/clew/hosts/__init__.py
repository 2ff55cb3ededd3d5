"""What the hooks of agents tell: understood, answered, and kept where it is worth it."""
