"""Images: their names, what is kept of them, what needs them, how much room they may take; and the disks of systems among them."""
