"""Modes, metrics and the quality gate."""
