import type { PodTemplateSpec } from "../../../pkg/api/core/v1/podtemplate/podtemplatespec.ts"
import { canonicalJson, type RawJson } from "../../../pkg/apimachinery/json/raw-json.ts"

/** Characters for names that spell no words. Source: apimachinery pkg/util/rand SafeEncodeString. */
const SAFE = "bcdfghjklmnpqrstvwxz2456789"

/**
 * The value of the pod-template-hash label: FNV-1a over the template and, after a collision, how many there were.
 * Differs from upstream: it hashes a dump of Go structs with every field that its version has, so its own hashes change
 * from version to version too. ReplicaSets and revisions are found by their templates, not by this.
 */
export function templateHash(template: PodTemplateSpec, collisionCount: number | undefined): string {
  let hash = OFFSET
  for (const byte of Buffer.from(canonicalJson(template) + (collisionCount === undefined ? "" : `#${collisionCount}`)))
    hash = Math.imul(hash ^ byte, PRIME) >>> 0
  return safeText(hash)
}

/**
 * The hash in the name of a StatefulSet's revision: FNV-1 over its data and the number of collisions. Source:
 * pkg/controller/history HashControllerRevision.
 */
export function revisionHash(data: RawJson, collisionCount: number): string {
  let hash = OFFSET
  for (const byte of Buffer.from(data.text + String(collisionCount))) hash = (Math.imul(hash, PRIME) ^ byte) >>> 0
  return safeText(hash)
}

/** The hash in names that are made of other names: FNV-1a over a text. */
export function nameHash(text: string): string {
  let hash = OFFSET
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, PRIME) >>> 0
  return safeText(hash)
}

/** Constants of 32-bit FNV. */
const OFFSET = 0x811c9dc5
const PRIME = 0x01000193

const safeText = (hash: number): string =>
  Array.from(String(hash), (digit) => SAFE[digit.charCodeAt(0) % SAFE.length]).join("")
