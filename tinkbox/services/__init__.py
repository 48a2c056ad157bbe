"""Workflow services on the appliance: its own Docker engine, and the routes that lead to services."""
