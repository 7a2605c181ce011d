import { expect, test } from "bun:test"
import { PostgresError } from "../../../postgres/postgres-error.ts"
import type { SharedLogErrorCode } from "../shared-log.ts"
import { commitFailure, readFailure } from "./failures.ts"

const cases: { title: string; given: unknown; wants: SharedLogErrorCode; read?: SharedLogErrorCode }[] = [
  { title: "no server accepts connections", given: new PostgresError("unreachable", "refused"), wants: "unavailable" },
  { title: "the connection broke", given: new PostgresError("lost", "reset"), wants: "unknown", read: "unavailable" },
  {
    title: "the server was stopped",
    given: new PostgresError("lost", "stopped", "57P01"),
    wants: "unknown",
    read: "unavailable",
  },
  { title: "the disk is full", given: new PostgresError("answered", "no space", "53100"), wants: "full" },
  {
    title: "the lock was not free in time",
    given: new PostgresError("answered", "late", "57014"),
    wants: "unavailable",
  },
  {
    title: "the server is a standby now",
    given: new PostgresError("answered", "read only", "25006"),
    wants: "unavailable",
  },
  { title: "the role lacks a right", given: new PostgresError("answered", "no right", "42501"), wants: "refused" },
  { title: "a row is too large", given: new PostgresError("answered", "too large", "54000"), wants: "oversized" },
  { title: "this program itself failed", given: new TypeError("undefined"), wants: "unknown", read: "unavailable" },
]
test.each(cases)("a commit and a read are classified when $title", ({ given, wants, read = wants }) => {
  expect([commitFailure(given).code, readFailure(given).code]).toEqual([wants, read])
})
