"""Simulated engine: stands in for vLLM in the lab. It loads no weights and needs no accelerator."""
