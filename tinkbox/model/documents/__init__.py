"""Documents as Tinkerbell's users write them, in JSON and for Kubernetes: their shapes, and what tinkbox makes of them."""
