"""The terminal view: pure functions from what is known and what is typed to a picture, and the loop that feeds them."""
