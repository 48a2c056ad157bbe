"""What the appliance decides: transition tables, pure plans, and use-cases of one transaction each."""
