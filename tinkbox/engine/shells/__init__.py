"""Shells in held containers: who may open one, and what passes between its ends."""
