"""The images that the appliance keeps, and the in-memory operating system."""
