"""The demo: a virtual machine with an empty disk becomes an installed system, over the network."""
