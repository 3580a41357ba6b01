"""What runs inside the emulated images: vllm, ray, litellm and Open WebUI."""
