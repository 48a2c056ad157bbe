"""Interfaces, sockets, packet filters and neighbours, as the kernel has them."""
