import type { Base } from "./base.ts"

/** A server's answer to a request. */
export interface Answer {
  readonly code: number
  readonly reason?: string
  readonly causes?: readonly { readonly field?: string | undefined; readonly reason?: string | undefined }[]
  readonly object?: unknown
}

/**
 * Returns an answer as one line. Refused: the code, the reason, and the field and reason of each cause. Accepted: the
 * code, and how the object differs from the one that the unchanged base makes.
 */
export function verdictOf(
  { code, reason = "", causes = [], object }: Answer,
  base: Leaves | undefined,
  of: Base,
): string {
  if (code >= 200 && code < 300) return [code, ...deltaOf(leavesOf(object, of), base)].join("\t")
  const faults = causes.map(({ field, reason: kind = "" }) => `${field ?? ""}:${kind.replace(/^FieldValue/, "")}`)
  return [`${code} ${reason}`, ...faults.sort()].join("\t")
}

/** Returns the values of an object by path. */
export type Leaves = ReadonlyMap<string, string>

/** Fields whose values are random or depend on the time. */
const OF_THE_SERVER = ["uid", "creationTimestamp", "resourceVersion", "managedFields"]
const OF_SERVICES = ["clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"]
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
/** Times that the server has set. Those at the beginning of 2026 were set by a case, and are compared. */
const NOW = /^(?!2026-0[12]-0[13]T)\d{4}-\d\d-\d\dT[\d:.]+Z$/

export function leavesOf(object: unknown, { kind, volatile = [] }: Base): Leaves {
  const left = new Set([...volatile, ...(kind === "v1 Service" ? OF_SERVICES : [])])
  const leaves = new Map<string, string>()
  const visit = (value: unknown, path: string) => {
    if (typeof value !== "object" || value === null || Object.keys(value).length === 0)
      leaves.set(path, JSON.stringify(plain(value)))
    else
      for (const [key, inner] of Object.entries(value)) {
        const isOfServer = path === "/metadata" && OF_THE_SERVER.includes(key)
        if (!isOfServer && !left.has(key)) visit(inner, `${path}/${key}`)
      }
  }
  visit(object, "")
  return leaves
}

const plain = (value: unknown): unknown =>
  typeof value === "string"
    ? value
        .replace(NOW, "TIME")
        .replace(UUID, "UUID")
        .replace(/kube-api-access-\w{5}/, "kube-api-access-X")
    : value

const MOST = 12

function deltaOf(leaves: Leaves, base: Leaves | undefined): readonly string[] {
  if (base === undefined) return []
  const delta = [
    ...[...leaves].flatMap(([path, value]) => (base.get(path) === value ? [] : [`${path}=${shortened(value)}`])),
    ...[...base.keys()].flatMap((path) => (leaves.has(path) ? [] : [`${path}-`])),
  ].sort()
  return delta.length <= MOST ? delta : [`${delta.length} values: ${hash(delta.join("\n"))}`]
}

const shortened = (value: string): string => (value.length <= 60 ? value : `${value.length} letters: ${hash(value)}`)

const hash = (text: string): string => Bun.hash.crc32(text).toString(16)
