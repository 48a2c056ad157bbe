"""Who may speak to the appliance, and who did what."""
