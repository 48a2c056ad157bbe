"""Containers: what the worker and the service host ask of an engine.

`docker.py` is the only file that knows aiodocker.
"""
