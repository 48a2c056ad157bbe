"""Templates: which language they are in, rendering them within limits, and their use-cases."""
