"""The only writer to the terminal and to the run log."""
