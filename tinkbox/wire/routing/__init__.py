"""Which requests reach a service: Traefik's labels and rules."""
