-- What each kind takes, continued (0016): documents that are kept as they were given, and the documents of workflows of v1alpha2.
INSERT INTO room SELECT 'documents', ifnull(sum(256 + length(document)), 0), count(*) FROM kept_document;
UPDATE room SET octets = octets + (SELECT ifnull(sum(64 + length(document)), 0) FROM workflow_document) WHERE kind = 'workflows';

CREATE TRIGGER kept_document_takes_room AFTER INSERT ON kept_document BEGIN
    UPDATE room SET octets = octets + 256 + length(new.document), number = number + 1 WHERE kind = 'documents';
END;
CREATE TRIGGER kept_document_takes_other_room AFTER UPDATE OF document ON kept_document BEGIN
    UPDATE room SET octets = octets + length(new.document) - length(old.document) WHERE kind = 'documents';
END;
CREATE TRIGGER kept_document_gives_room AFTER DELETE ON kept_document BEGIN
    UPDATE room SET octets = octets - (256 + length(old.document)), number = number - 1 WHERE kind = 'documents';
END;
CREATE TRIGGER workflow_document_takes_room AFTER INSERT ON workflow_document BEGIN
    UPDATE room SET octets = octets + 64 + length(new.document) WHERE kind = 'workflows';
END;
CREATE TRIGGER workflow_document_gives_room AFTER DELETE ON workflow_document BEGIN
    UPDATE room SET octets = octets - (64 + length(old.document)) WHERE kind = 'workflows';
END;
