"""Images in files that people carry: archives of Docker, and OCI layouts in an archive or a folder."""
