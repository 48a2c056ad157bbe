-- Which workflow a machine's line shows, found by indexes alone: the rows have the rendered templates.
CREATE INDEX action_of_machine ON action (worker, workflow_id);
CREATE INDEX workflow_standing ON workflow (id, state, place, deleting);
