"""What a node has on its disk: the files of a healthy DGX Spark, written once by `lab up`."""
