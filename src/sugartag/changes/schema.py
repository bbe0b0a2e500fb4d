"""The tables of a catalogue, as SQL.

Images, tags and runs have numbers, so that the large tables hold integers alone. What people
decided is a log: rows are appended, never changed, and triggers see to both that and to
``decided``, which holds what stands at present for each tag of each image.
"""

APPLICATION_ID = 0x73746167
"""``stag`` in ASCII: what marks a SQLite file as one of ours."""
VERSION = 1

TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE owners (owner INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE groups ("group" INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE memberships (
    "group" INTEGER NOT NULL REFERENCES groups,
    owner INTEGER NOT NULL REFERENCES owners,
    PRIMARY KEY ("group", owner)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_of_owner ON memberships (owner);

CREATE TABLE images (
    image INTEGER PRIMARY KEY,
    image_id TEXT NOT NULL UNIQUE,
    path TEXT,
    owner INTEGER REFERENCES owners,
    title TEXT,
    n_tags INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX images_of_owner ON images (owner);
CREATE INDEX images_without_tags ON images (image) WHERE n_tags = 0;

CREATE TABLE tags (tag INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE runs (
    run INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('suggest', 'apply', 'bake', 'drop')),
    state TEXT NOT NULL
        CHECK (state IN ('loading', 'ready', 'planned', 'done', 'undoing', 'undone')),
    method TEXT,
    settings TEXT NOT NULL DEFAULT '{}',
    created TEXT NOT NULL,
    by TEXT
) STRICT;

CREATE TABLE image_tags (
    image INTEGER NOT NULL REFERENCES images,
    tag INTEGER NOT NULL REFERENCES tags,
    source TEXT NOT NULL CHECK (source IN ('person', 'import', 'model', 'reviewer')),
    run INTEGER REFERENCES runs,
    by TEXT,
    at TEXT NOT NULL,
    PRIMARY KEY (image, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX image_tags_of_tag ON image_tags (tag, image);
CREATE INDEX image_tags_by_source ON image_tags (source, image)
    WHERE source IN ('model', 'reviewer');

CREATE TABLE proposals (
    run INTEGER NOT NULL REFERENCES runs,
    image INTEGER NOT NULL REFERENCES images,
    tag INTEGER NOT NULL REFERENCES tags,
    action TEXT NOT NULL CHECK (action IN ('add', 'keep', 'doubt')),
    probability REAL NOT NULL CHECK (probability BETWEEN 0 AND 1),
    rank INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (run, image, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX proposals_of_tag ON proposals (run, tag, action, probability DESC, image);
CREATE INDEX proposals_in_order ON proposals (run, action, probability DESC, image, tag);

CREATE TABLE proposal_counts (
    run INTEGER NOT NULL REFERENCES runs,
    facet TEXT NOT NULL CHECK (facet IN ('tag', 'owner', 'group')),
    key INTEGER NOT NULL,
    action TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (run, facet, key, action)
) STRICT, WITHOUT ROWID;

CREATE TABLE decisions (
    decision INTEGER PRIMARY KEY AUTOINCREMENT,
    image INTEGER NOT NULL REFERENCES images,
    tag INTEGER NOT NULL REFERENCES tags,
    verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'reject', 'skip', 'undo')),
    reviewer TEXT NOT NULL,
    at TEXT NOT NULL,
    batch INTEGER NOT NULL,
    undoes INTEGER REFERENCES decisions,
    stands INTEGER REFERENCES decisions
) STRICT;
CREATE INDEX decisions_of_tag_of_image ON decisions (image, tag, decision);
CREATE INDEX decisions_of_reviewer ON decisions (reviewer, decision);
CREATE INDEX decisions_of_batch ON decisions (batch);
CREATE INDEX decisions_undone ON decisions (undoes) WHERE undoes IS NOT NULL;

CREATE TABLE decided (
    image INTEGER NOT NULL REFERENCES images,
    tag INTEGER NOT NULL REFERENCES tags,
    version INTEGER NOT NULL REFERENCES decisions,
    decision INTEGER REFERENCES decisions,
    verdict TEXT,
    PRIMARY KEY (image, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX decided_by_verdict ON decided (verdict, image, tag);

CREATE TABLE journal_tags (
    entry INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs,
    image INTEGER NOT NULL REFERENCES images,
    tag INTEGER NOT NULL REFERENCES tags,
    change TEXT NOT NULL CHECK (change IN ('add', 'remove')),
    state TEXT NOT NULL CHECK (state IN ('planned', 'done', 'undone')),
    source TEXT NOT NULL,
    source_run INTEGER,
    by TEXT,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX journal_tags_of_run ON journal_tags (run, state);

CREATE TABLE journal_files (
    entry INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs,
    image INTEGER NOT NULL REFERENCES images,
    path TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('planned', 'done', 'undone')),
    before BLOB,
    before_sha256 TEXT,
    after BLOB NOT NULL,
    after_sha256 TEXT NOT NULL,
    added TEXT NOT NULL,
    removed TEXT NOT NULL
) STRICT;
CREATE INDEX journal_files_of_run ON journal_files (run, state);

CREATE TABLE aliases (
    tag INTEGER PRIMARY KEY REFERENCES tags,
    stands_for INTEGER NOT NULL REFERENCES tags,
    by TEXT,
    at TEXT NOT NULL
) STRICT;

CREATE TABLE implications (
    tag INTEGER NOT NULL REFERENCES tags,
    implies INTEGER NOT NULL REFERENCES tags,
    by TEXT,
    at TEXT NOT NULL,
    PRIMARY KEY (tag, implies)
) STRICT, WITHOUT ROWID;
"""

TRIGGERS = """
CREATE TRIGGER a_tag_is_given AFTER INSERT ON image_tags
BEGIN UPDATE images SET n_tags = n_tags + 1 WHERE image = NEW.image; END;

CREATE TRIGGER a_tag_is_taken_away AFTER DELETE ON image_tags
BEGIN UPDATE images SET n_tags = n_tags - 1 WHERE image = OLD.image; END;

CREATE TRIGGER decisions_are_not_changed BEFORE UPDATE ON decisions
BEGIN SELECT raise(ABORT, 'decisions are only appended'); END;

CREATE TRIGGER decisions_are_not_removed BEFORE DELETE ON decisions
BEGIN SELECT raise(ABORT, 'decisions are only appended'); END;

CREATE TRIGGER a_decision_stands AFTER INSERT ON decisions
BEGIN
    INSERT INTO decided (image, tag, version, decision, verdict)
    VALUES (
        NEW.image, NEW.tag, NEW.decision,
        CASE WHEN NEW.verdict = 'undo' THEN NEW.stands ELSE NEW.decision END,
        CASE WHEN NEW.verdict = 'undo'
            THEN (SELECT verdict FROM decisions WHERE decision = NEW.stands)
            ELSE NEW.verdict END
    )
    ON CONFLICT (image, tag) DO UPDATE SET
        version = excluded.version, decision = excluded.decision, verdict = excluded.verdict;
END;
"""
