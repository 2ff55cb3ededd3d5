"""Embedders and language models behind one port each."""
