import type { ChangedField, LogEntry } from "../../../history/entry.ts"
import { printed } from "../../../terminal/printed.ts"
import { objectWords } from "./history-source.ts"

/** The fields of one write that are shown, and the characters of a value. */
const MOST_FIELDS = 12
const MOST_CHARACTERS = 120

/** Fields that say nothing that others do not say. */
const LEFT_OUT = /^metadata\.(?:generation|annotations\.kubectl\.kubernetes\.io\/last-applied-configuration)$/

/** Returns a write as some lines: who did what to which object, then the fields that it changed. */
export function entryText(entry: LogEntry): string {
  const { revision, time, user, clients, subresource } = entry
  const what = subresource === "" ? verbOf(entry) : `${verbOf(entry)} ${subresource} of`
  const by = user === "" ? "another server" : user
  const through = clients.length === 0 ? "" : ` (${clients.join(", ")})`
  const head = `${revision}  ${time.slice(0, 19)}Z  ${by}${through}  ${what} ${objectWords(entry)}`
  return printed([head, ...changesText(entry.changes)])
}

/** What ends with a finalizer begins with an update. */
function verbOf({ verb, changes }: LogEntry): string {
  const marks = changes.some(({ path, before }) => path === "metadata.deletionTimestamp" && before === undefined)
  return marks ? "begin to delete" : verb
}

/** Returns changed fields, one on each line: `spec.replicas: 2 → 3`. */
export function changesText(changes: readonly ChangedField[]): readonly string[] {
  const shown = changes.filter(({ path }) => !LEFT_OUT.test(path))
  const lines = shown
    .slice(0, MOST_FIELDS)
    .map(({ path, before, after }) => `    ${path}: ${short(before)} → ${short(after)}`)
  const left = shown.length - lines.length
  return left > 0 ? [...lines, `    … and ${left} more (-o json shows them)`] : lines
}

function short(value: unknown): string {
  if (value === undefined) return "nothing"
  const text = JSON.stringify(value)
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text
}
