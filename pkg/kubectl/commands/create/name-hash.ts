import { createHash } from "node:crypto"
import { goJson } from "../../rest/json.ts"

const CONSONANTS: Readonly<Record<string, string>> = { "0": "g", "1": "h", "3": "k", a: "m", e: "t" }

/**
 * Returns a name with a hash of the object's content, for `--append-hash`. Digits and vowels that could make words are
 * replaced. Source: kubectl pkg/util/hash/hash.go.
 */
export function hashedName(name: string, content: Readonly<Record<string, unknown>>): string {
  const hash = createHash("sha256")
    .update(goJson({ ...content, name }))
    .digest("hex")
  return `${name}-${hash.slice(0, 10).replace(/[013ae]/g, (digit) => CONSONANTS[digit]!)}`
}
