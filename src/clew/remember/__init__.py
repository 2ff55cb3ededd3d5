"""The write path: mask, classify, analyse, save atomically."""
