"""What an installed system is told of itself, in the forms that the programs in it ask for."""
