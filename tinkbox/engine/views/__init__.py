"""The appliance at a glance, for people and for metrics."""
