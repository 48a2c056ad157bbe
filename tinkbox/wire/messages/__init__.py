"""What worker, client and appliance say to each other."""
