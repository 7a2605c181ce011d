import { readFile, stat } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import type { Duration } from "../time/duration.ts"

/** A path or file URL of a recording (`k3ts record`), or its bytes. */
export type ReplayInput = string | URL | Uint8Array

/** Which recording is played, and what is not played of it. */
export interface ReplayOption {
  readonly file: ReplayInput
  /**
   * Users whose recorded writes are not played, since the test runs what makes them:
   * `system:serviceaccount:shop:operator`. Of a recording that was made by watches, names of field managers.
   */
  readonly instead?: readonly string[]
  /**
   * How much earlier or later than recorded something may happen, `5s` unless given. What lasted less is not compared.
   */
  readonly tolerance?: Duration
}

/** The largest file that is read. */
const MOST_BYTES = 2 ** 30

/** @throws Error for a file that cannot be read, or is too large */
export async function bytesOf(input: ReplayInput): Promise<Uint8Array> {
  if (input instanceof Uint8Array) return input
  const path = input instanceof URL ? fileURLToPath(input) : input
  const { size } = await stat(path)
  if (size > MOST_BYTES) throw new Error(`it has ${size} bytes, more than ${MOST_BYTES}`)
  return readFile(path)
}
