"""What lies on a disk: partition tables and the signatures of file systems."""
