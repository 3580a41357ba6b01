"""What `sparkops watch` knows of the nodes over time. Pure: frames of nodes in, a picture of the fleet out."""
