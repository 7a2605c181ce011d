import { StorageError, type Stored, type Write } from "./storage.ts"

/** Checks a write against the current state of its key. @throws StorageError exists, conflict, missing */
export function checkWrite(
  { key, object, expected }: Pick<Write, "key" | "object" | "expected">,
  current: Stored | undefined,
): void {
  const action = object === null ? "delete" : expected === 0 ? "create" : "update"
  if (current === undefined) {
    if (object === null || (expected ?? 0) !== 0)
      throw new StorageError("missing", `Cannot ${action} ${key}: it does not exist`)
    return
  }
  if (expected === 0)
    throw new StorageError("exists", `Cannot ${action} ${key}: it exists at revision ${current.revision}`, current)
  if (expected !== undefined && current.revision !== expected)
    throw new StorageError(
      "conflict",
      `Cannot ${action} ${key}: expected revision ${expected}, current revision is ${current.revision}`,
      current,
    )
}
