"""A machine's first minutes: DHCP, TFTP, DNS, boot scripts and files over HTTP, syslog."""
