import { posix } from "node:path"
import type { KeyToPath } from "../../../pkg/api/core/v1/volume/volume-projected.ts"
import type { PayloadBudget } from "./payload-budget.ts"

/** A token that may be signed when it is first read. */
export interface LateText {
  readonly token: string
}

/** A file of a volume whose contents come from the API. */
export interface PayloadFile {
  readonly data: string | Uint8Array | LateText
  /** Permission bits. */
  readonly mode: number
  /** The owner's user id; root when undefined. */
  readonly user?: number
}

/** Returns the content of a file, of which a token is signed now. */
export const contentOf = ({ data }: Pick<PayloadFile, "data">): string | Uint8Array =>
  typeof data === "string" || data instanceof Uint8Array ? data : data.token

/** Files by their path in the volume. */
export type Payload = ReadonlyMap<string, PayloadFile>

const LONGEST_NAME = 255
const LONGEST_PATH = 4096

/**
 * Returns the payload with normalized paths. Source: pkg/volume/util/atomic_writer.go validatePayload. @throws Error
 * for a path that leaves the volume, or begins with `..` like the writer's own files
 */
export const cleanPayload = (payload: Payload): Payload =>
  new Map([...payload].map(([path, file]) => [cleanPath(path), file]))

function cleanPath(path: string): string {
  if (path === "") throw new Error('invalid path: must not be empty: ""')
  if (path.startsWith("/")) throw new Error(`invalid path: must be relative path: ${path}`)
  if (path.length > LONGEST_PATH)
    throw new Error(`invalid path: must be less than or equal to ${LONGEST_PATH} characters`)
  const items = path.split("/")
  if (items.includes("..")) throw new Error(`invalid path: must not contain '..': ${path}`)
  if (items.some((item) => item.length > LONGEST_NAME))
    throw new Error(`invalid path: filenames must be less than or equal to ${LONGEST_NAME} characters`)
  if (items[0]!.startsWith("..")) throw new Error(`invalid path: must not start with '..': ${path}`)
  return posix.normalize(path).replace(/\/$/, "")
}

export interface KeyFiles {
  /** The content of each key. */
  readonly data: ReadonlyMap<string, string | Uint8Array>
  /** Maps keys to paths; when undefined, every key is a file with its own name. */
  readonly items: readonly KeyToPath[] | undefined
  readonly defaultMode: number
  readonly optional: boolean
  /** Returns the error message for a missing key. */
  readonly missing: (key: string) => string
  readonly budget: PayloadBudget
}

/**
 * Returns keys of an object as files. Source: MakePayload in pkg/volume/configmap and pkg/volume/secret. @throws Error
 * for a missing key that is not optional, or too many bytes
 */
export function keyFiles({ data, items, defaultMode, optional, missing, budget }: KeyFiles): Payload {
  const file = (content: string | Uint8Array, mode: number): PayloadFile => {
    budget.take(content)
    return { data: content, mode }
  }
  if (items === undefined || items.length === 0)
    return new Map([...data].map(([key, content]) => [key, file(content, defaultMode)]))
  return new Map(
    items.flatMap(({ key, path, mode = defaultMode }): [string, PayloadFile][] => {
      const content = data.get(key)
      if (content !== undefined) return [[path, file(content, mode)]]
      if (optional) return []
      throw new Error(missing(key))
    }),
  )
}
