"""The doctor: from what was seen of the appliance, its machines and workflows to likely causes."""
