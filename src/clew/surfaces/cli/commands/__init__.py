"""One function per verb, imported by name when its command runs."""
