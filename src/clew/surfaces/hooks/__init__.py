"""The hooks of agents: installing them, and the events that wait on the disk."""
