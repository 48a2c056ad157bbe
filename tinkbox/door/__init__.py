"""What the doors share: how a refusal becomes an answer, how much of a body is read, how a shell's frames are carried."""
