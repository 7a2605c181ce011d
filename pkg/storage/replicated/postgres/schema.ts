import type { PostgresConnection } from "../../../postgres/connection.ts"
import { SharedLogError } from "../shared-log.ts"

/** The version of the tables. A server refuses a database with a newer one. */
const FORMAT = 1
const TIMEOUT_MS = 30_000

/** The channel that is notified of each new revision. */
export const CHANNEL = "k3ts"

/**
 * The settings of each connection. Without the first two, other defaults of a database or a role could acknowledge a
 * write before it is on disk, or hide rows from the function below. Without the third, statements that were planned
 * while the tables were empty would scan the whole tables for a long time.
 */
export const SETUP = [
  "SET search_path = pg_catalog",
  "SET default_transaction_isolation = 'read committed'",
  "SET enable_seqscan = off",
  "SET jit = off",
  "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
].join(";\n")

/**
 * The tables and the function that commits.
 *
 * A row of `revisions` is a write. `live` marks the current state of a key; `more` marks a write that is not the last
 * one of its commit. A commit locks the row of `state` until it is visible, so revisions become visible in their order
 * and without gaps. The function needs one round trip, so no transaction holds the lock while it waits for a client. A
 * row of `cells` is a value that servers share besides objects (pkg/cell).
 */
const CREATE = `
CREATE SCHEMA IF NOT EXISTS k3ts;
CREATE TABLE IF NOT EXISTS k3ts.state (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  format integer NOT NULL,
  compacted bigint NOT NULL DEFAULT 0,
  compactions bigint NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS k3ts.revisions (
  revision bigint PRIMARY KEY,
  created bigint NOT NULL,
  live boolean NOT NULL,
  more boolean NOT NULL,
  key text COLLATE "C" NOT NULL,
  value bytea
);
CREATE TABLE IF NOT EXISTS k3ts.cells (key text PRIMARY KEY, revision bigint NOT NULL, value bytea NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS revisions_live ON k3ts.revisions (key) WHERE live;
CREATE INDEX IF NOT EXISTS revisions_past ON k3ts.revisions (revision) WHERE NOT live;
CREATE OR REPLACE FUNCTION k3ts.commit(ends integer[], keys text[], expected bigint[], contents bytea[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  head bigint;
  start integer := 1;
  until integer;
  present bigint;
  born bigint;
  accepted boolean;
  results bigint[] := '{}';
BEGIN
  LOCK TABLE k3ts.state IN EXCLUSIVE MODE;
  SELECT coalesce(max(revision), 0) INTO head FROM k3ts.revisions;
  FOREACH until IN ARRAY ends LOOP
    accepted := true;
    FOR i IN start..until LOOP
      SELECT revision INTO present FROM k3ts.revisions WHERE key = keys[i] AND live;
      accepted := accepted AND coalesce(present, 0) = expected[i];
    END LOOP;
    FOR i IN start..until LOOP
      IF accepted THEN
        head := head + 1;
        UPDATE k3ts.revisions SET live = false WHERE key = keys[i] AND live RETURNING created INTO born;
        INSERT INTO k3ts.revisions (revision, created, live, more, key, value)
        VALUES (head, coalesce(born, head), contents[i] IS NOT NULL, i < until, keys[i], contents[i]);
        results := results || head;
      ELSE
        results := results || 0::bigint;
      END IF;
    END LOOP;
    start := until + 1;
  END LOOP;
  PERFORM pg_notify('${CHANNEL}', '');
  RETURN results;
END $$;
INSERT INTO k3ts.state (format) VALUES (${FORMAT}) ON CONFLICT DO NOTHING;
`

/**
 * Creates the tables that are missing. Several servers may call this at the same time.
 * @throws PostgresError; SharedLogError for tables of a newer k3ts
 */
export async function ensureSchema(connection: PostgresConnection): Promise<void> {
  const [found] = await connection.ask({ text: "SELECT to_regclass('k3ts.state') AS name" }, TIMEOUT_MS)
  // All statements run in one transaction.
  const lock = "SELECT pg_advisory_xact_lock(hashtext('k3ts.state'));"
  if (found?.["name"] === null) await connection.ask({ text: lock + CREATE }, TIMEOUT_MS)
  const [row] = await connection.ask({ text: "SELECT format FROM k3ts.state" }, TIMEOUT_MS)
  if (row?.["format"] !== FORMAT)
    throw new SharedLogError(
      "refused",
      `its tables have format ${String(row?.["format"])}, and this version of k3ts reads only ${FORMAT}`,
    )
}
