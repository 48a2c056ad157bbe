"""Secrets: kept encrypted, given to actions and services, and masked in what these print."""
