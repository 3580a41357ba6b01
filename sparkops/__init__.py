"""Run large language models on NVIDIA GB10 machines: checked, planned, deployed and verified over SSH."""

__version__ = "0.1.0"
