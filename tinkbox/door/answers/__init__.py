"""What is said in return: in pieces, of files and blobs, and frame by frame."""
