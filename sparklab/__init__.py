"""Emulated GB10 nodes on this machine. Imports nothing of sparkops, so that it cannot agree with it by construction."""
