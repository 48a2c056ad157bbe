"""The reverse proxy on the node door: requests for the services of workflows."""
