"""Documents that people keep in files: applied to what is there, and written back."""
