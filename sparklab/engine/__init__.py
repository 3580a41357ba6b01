"""What runs inside the emulated images: vllm, ray and litellm."""
