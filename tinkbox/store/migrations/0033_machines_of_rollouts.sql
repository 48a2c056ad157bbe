-- When the machine was registered that a rollout was made for: one that was deleted and registered anew is another, also where it
-- has no workflow of the rollout yet.  Of earlier rollouts it is what was there before them, or what has a workflow of them.
ALTER TABLE rollout_machine ADD COLUMN registered TEXT NOT NULL DEFAULT '';
UPDATE rollout_machine SET registered = ifnull((
    SELECT hardware.created_at FROM hardware JOIN rollout ON rollout.id = rollout_machine.rollout_id
    LEFT JOIN workflow ON workflow.id = rollout_machine.workflow_id
    WHERE hardware.id = rollout_machine.machine
    AND ifnull(workflow.number > hardware.after_workflow, hardware.created_at <= rollout.created_at)
), '');
