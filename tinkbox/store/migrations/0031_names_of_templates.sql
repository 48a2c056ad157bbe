-- What a workflow's template was called when the workflow was made, so that the name outlives the template.  A template of the
-- program has its name for an id; of one that is gone already a rollout may know the name, else its id stands for it.
ALTER TABLE workflow ADD COLUMN template_name TEXT NOT NULL DEFAULT '';
UPDATE workflow SET template_name = coalesce(
    (SELECT template.name FROM template WHERE template.id = workflow.template_id),
    (SELECT rollout.template_name FROM rollout WHERE rollout.template_id = workflow.template_id ORDER BY number DESC LIMIT 1),
    template_id
);
-- Lists of the workflows of templates that are gone are found by it alone: the rows have the rendered templates.
CREATE INDEX workflow_of_template_called ON workflow (template_name, template_id, id);
