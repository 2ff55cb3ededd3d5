"""Measure Clew through its public surface: how well it recalls, how fast it is."""
