"""Emulated GB10 nodes on the operator's own machine; imports nothing of the rest of sparkops."""
