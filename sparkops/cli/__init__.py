"""From the words of a command line to one verb's options, and from its answer to an exit code."""
