"""Pure graph arithmetic: activation, refinement, inhibition, confidence, paths."""
