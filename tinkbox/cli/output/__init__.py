"""How results look: tables, JSON, CSV, YAML, and what machines printed."""
