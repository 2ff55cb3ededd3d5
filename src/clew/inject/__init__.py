"""Blocks for agents, within a token budget."""
