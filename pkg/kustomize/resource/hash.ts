import { createHash } from "node:crypto"
import { goJson } from "../go/go-json.ts"
import { fieldOf } from "../node/fields.ts"
import { toValue } from "../node/to-value.ts"
import type { Resource } from "./resource.ts"

/** The digits that are replaced, so that no name contains a word by chance. */
const LETTERS: Readonly<Record<string, string>> = { "0": "g", "1": "h", "3": "k", a: "m", e: "t" }
const LENGTH = 10

/**
 * Returns the hash of an object's content that is appended to its name. Source: kustomize api/hasher/hasher.go.
 */
export function contentHash(resource: Resource): string {
  const hex = createHash("sha256").update(hashedText(resource)).digest("hex")
  return hex.slice(0, LENGTH).replaceAll(/[013ae]/g, (digit) => LETTERS[digit]!)
}

function hashedText(resource: Resource): string {
  const { kind } = resource
  const valueOf = (field: string): unknown => {
    const node = fieldOf(resource.node, field)
    if (node === undefined) return ""
    return node.kind === "scalar" ? node.value : toValue(node)
  }
  // Kustomize looks for a field "metadata/name", which no object has.
  const common = { kind, name: "", data: valueOf("data") }
  const mapOf = (field: string) => {
    const value = valueOf(field)
    return typeof value === "object" && value !== null ? { [field]: value } : {}
  }
  if (kind === "ConfigMap") return goJson({ ...common, ...mapOf("binaryData") })
  if (kind === "Secret") return goJson({ ...common, type: valueOf("type"), ...mapOf("stringData") })
  return goJson(toValue(resource.node))
}
