"""A machine's first minutes: DHCP, TFTP, boot scripts and files over HTTP."""
