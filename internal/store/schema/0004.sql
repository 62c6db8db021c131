-- The working folder that a core tool's call was asked about in. What was asked
-- before counts in none.
ALTER TABLE approvals ADD COLUMN folder TEXT NOT NULL DEFAULT '';
