-- The machine from which a workflow that no document declared is to be filled, as a person, a rollout or a rule said, and what it
-- was called then; empty where none was said, or an earlier release made the workflow.  Its row's share of room (0016) has both.
ALTER TABLE workflow ADD COLUMN said_machine TEXT NOT NULL DEFAULT '';
ALTER TABLE workflow ADD COLUMN said_name TEXT NOT NULL DEFAULT '';
