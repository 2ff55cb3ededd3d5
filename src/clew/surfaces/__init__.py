"""Translate, authorise, call Clew, render."""
