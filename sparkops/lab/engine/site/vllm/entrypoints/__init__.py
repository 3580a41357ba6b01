"""Where vLLM is entered."""
