"""What there is, whatever its kind: applied, exported, kept, labelled, named."""
