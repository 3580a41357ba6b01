"""The emulated Docker engine: state in files below a node, containers as real local processes."""
