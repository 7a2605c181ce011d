import { StorageError } from "../../../pkg/storage/storage.ts"

/** Whether a write was refused because another one came first. */
export const isRace = (err: unknown): err is StorageError =>
  err instanceof StorageError && (err.code === "conflict" || err.code === "exists" || err.code === "missing")
