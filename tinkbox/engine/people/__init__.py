"""Who may speak to the appliance: the tokens of people and programs."""
