"""Helpers of vLLM, as far as they are asked for."""
