"""DHCP and the boot server on port 4011: sockets, limits, replies."""
