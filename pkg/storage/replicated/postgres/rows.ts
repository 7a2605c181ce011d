import type { Row } from "../../../postgres/connection.ts"
import type { SharedChange, SharedEntry } from "../shared-log.ts"

/** The number of rows of a page; and the bytes of values after which a page ends. */
export const PAGE_ROWS = 1000
export const PAGE_BYTES = 4 * 1024 * 1024

/** PostgreSQL returns a bigint as text. Revisions are far below 2^53. */
export const revisionIn = (value: unknown): number => Number(value)

/** Reads a row of `k3ts.revisions` that has a value. */
export const entryOf = ({ key, revision, created, value }: Row): SharedEntry => ({
  key: key as string,
  revision: revisionIn(revision),
  created: revisionIn(created),
  value: value as Uint8Array,
})

/** Reads any row of `k3ts.revisions`. */
export function changeOf(row: Row): SharedChange {
  if (row["value"] !== null) return entryOf(row)
  return { key: row["key"] as string, revision: revisionIn(row["revision"]), value: undefined }
}
