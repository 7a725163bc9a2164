-- One row per key, locked with `SELECT … FOR UPDATE` by whoever has the re-entrant lock. Nothing else is in it, so that nobody
-- who only looks has to wait.
CREATE TABLE IF NOT EXISTS tenure_rows (
    name VARBINARY(255) NOT NULL PRIMARY KEY,
    made BIGINT UNSIGNED NOT NULL
) ENGINE = InnoDB;

-- What is known of each lock, of every kind. Times are in microseconds since 1970 by this server's clock.
CREATE TABLE IF NOT EXISTS tenure_locks (
    name VARBINARY(255) NOT NULL PRIMARY KEY,
    lock_key VARBINARY(1024) NOT NULL,
    -- For people: who is in, how often, and the last token that was handed out.
    holder VARBINARY(255) NULL,
    holder_count INT UNSIGNED NOT NULL,
    token BIGINT UNSIGNED NOT NULL,
    -- Whose row lock it is: the claim, and the session that has the row, which is alive while it has a named lock of its own.
    seat VARBINARY(255) NULL,
    seat_session VARCHAR(64) CHARACTER SET ascii NULL,
    record MEDIUMBLOB NOT NULL,
    -- Counted up whenever somebody who waits should look again.
    version BIGINT UNSIGNED NOT NULL,
    used BIGINT UNSIGNED NOT NULL,
    forget BIGINT UNSIGNED NOT NULL
) ENGINE = InnoDB;

-- Who the clients are: the part of a holder before the colon.
CREATE TABLE IF NOT EXISTS tenure_clients (
    client VARBINARY(255) NOT NULL PRIMARY KEY,
    host VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
    pid INT UNSIGNED NOT NULL,
    label TEXT CHARACTER SET utf8mb4 NOT NULL,
    until BIGINT UNSIGNED NOT NULL
) ENGINE = InnoDB;

-- Whose lock was freed by force, until its client has seen it.
CREATE TABLE IF NOT EXISTS tenure_notices (
    client VARBINARY(255) NOT NULL,
    claim VARBINARY(255) NOT NULL,
    until BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (client, claim)
) ENGINE = InnoDB;

-- The version of these tables, the largest token of locks that were forgotten, and when that was last done.
CREATE TABLE IF NOT EXISTS tenure_meta (
    name VARBINARY(64) NOT NULL PRIMARY KEY,
    value BIGINT UNSIGNED NOT NULL
) ENGINE = InnoDB;

INSERT IGNORE INTO tenure_meta VALUES ('schema', 1), ('watermark', 0), ('swept', 0);
