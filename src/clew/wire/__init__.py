"""The verbs of a Clew in another process, over a socket or the network."""
