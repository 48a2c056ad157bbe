"""DHCP packets and what they say: RFC 2131, RFC 2132, PXE, relays."""
