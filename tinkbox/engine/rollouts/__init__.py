"""Rollouts: one template for many machines, so many of them at a time."""
