"""Services of workflows: what their hosts are told, and which requests reach them."""
