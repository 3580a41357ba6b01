"""Which deployments a fleet has, and the nodes that each takes."""
