"""The OCI distribution protocol on the node door: its routes, its answers, and who may push."""
