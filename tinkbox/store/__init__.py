"""The only place with SQL: one method per question asked."""
