"""TFTP: every transfer on one socket."""
