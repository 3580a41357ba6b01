"""The one long-lived process: SSH servers of all nodes and the control socket."""
