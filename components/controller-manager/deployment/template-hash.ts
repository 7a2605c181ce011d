import type { PodTemplateSpec } from "../../../pkg/api/core/v1/podtemplate.ts"

/** Characters that may stand in a name and make no words. Source: apimachinery pkg/util/rand SafeEncodeString. */
const SAFE = "bcdfghjklmnpqrstvwxz2456789"

/**
 * The value of the pod-template-hash label: FNV-1a over the template and, after a collision, how many there were.
 * Differs from upstream: it hashes a dump of Go structs, which no other program can repeat; names only have to be stable here.
 */
export function templateHash(template: PodTemplateSpec, collisionCount: number | undefined): string {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(canonical(template) + (collisionCount === undefined ? "" : `#${collisionCount}`)))
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return Array.from(String(hash), (digit) => SAFE[digit.charCodeAt(0) % SAFE.length]).join("")
}

/** JSON with sorted keys and without absent fields: equal values have equal text. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
