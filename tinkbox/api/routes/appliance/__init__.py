"""The appliance itself: how it stands, what its doctor says, how programs speak with it."""
