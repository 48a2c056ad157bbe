"""What is done with machines: workflows, what they are made of, and what becomes of them."""
