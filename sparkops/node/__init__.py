"""What runs on nodes, sent whole: POSIX sh, and Python of the standard library where JSON is read."""
