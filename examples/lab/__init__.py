"""A virtual lab: a private network and machines with real firmware on it, for the demo and the tests."""
