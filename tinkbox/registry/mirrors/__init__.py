"""Other registries, from which the appliance fetches what it lacks."""
