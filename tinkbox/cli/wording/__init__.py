"""What the appliance answers, in a person's words."""
