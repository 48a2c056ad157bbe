"""Log-in by an issuer of OpenID Connect: its keys, its id tokens, and what it gives for them."""
