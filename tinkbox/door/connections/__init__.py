"""Which connections are taken in, by whom and how they are held, and how quickly they are read."""
