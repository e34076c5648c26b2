"""Samples of the ops of neural networks."""
