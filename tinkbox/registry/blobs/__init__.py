"""Content-addressed files: what is kept by its digest, how it comes in, what is known of it, and how much room it may take."""
