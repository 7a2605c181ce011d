import { textOf } from "../../go-fmt/go-bytes.ts"
import { byteLength } from "../../go-fmt/go-bytes.ts"
import { isGoMap, numberOf } from "../../go-fmt/go-number.ts"
import { failCall } from "../../go-template/function-error.ts"
import type { TemplateFunction } from "../../go-template/functions.ts"

/** What kubectl's templates have beside Go's own functions. Source: cli-runtime pkg/printers/template.go. */
export const KUBECTL_FUNCTIONS: ReadonlyMap<string, TemplateFunction> = new Map<string, TemplateFunction>([
  ["base64decode", { parameters: ["string"], call: ([text]) => decoded(text as string) }],
  ["exists", { parameters: ["any"], rest: "any", call: ([item, ...indices]) => exists(item, indices) }],
])

/** Returns where Go finds the first wrong character of base64; undefined when there is none. */
function faultOf(text: string): number | undefined {
  const plain = text.replace(/[\r\n]/g, "")
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(plain)) return undefined
  let quantum = 0
  for (let i = 0; i < text.length; i++) {
    const sign = text[i]!
    if (sign === "\r" || sign === "\n") continue
    if (/[A-Za-z0-9+/]/.test(sign)) {
      quantum = (quantum + 1) % 4
      continue
    }
    const offset = byteLength(text.slice(0, i))
    if (sign !== "=" || quantum < 2) return offset
    // A pad ends the text: one more when two are missing, then nothing.
    let next = i + 1
    const skip = () => {
      while (text[next] === "\r" || text[next] === "\n") next++
    }
    skip()
    if (quantum === 2) {
      if (next === text.length) return byteLength(text)
      if (text[next] !== "=") return byteLength(text.slice(0, next))
      next++
      skip()
    }
    return byteLength(text.slice(0, next))
  }
  return byteLength(text) - quantum
}

function decoded(text: string): string {
  const fault = faultOf(text)
  if (fault !== undefined) failCall(`base64 decode failed: illegal base64 data at input byte ${fault}`)
  return textOf(Buffer.from(text, "base64"))
}

/** Whether `index` finds something. Source: cli-runtime pkg/printers/jsonpath.go. */
function exists(item: unknown, indices: readonly unknown[]): boolean {
  // Go finds nothing that is nil in a value without a type.
  if (indices.length === 0 && item === null) return true
  let value = item
  for (const index of indices) {
    if (value === null || value === undefined) return false
    if (isGoMap(value)) {
      if (typeof index !== "string" && index !== null) return false
      const key = index ?? ""
      value = Object.hasOwn(value, key) ? value[key] : null
      continue
    }
    if (!Array.isArray(value) && typeof value !== "string") return false
    const place = numberOf(index)?.value
    const length = typeof value === "string" ? byteLength(value) : value.length
    if (typeof place !== "bigint" || place < 0n || place >= BigInt(length)) return false
    // A byte of a text is no list.
    value = typeof value === "string" ? true : (value[Number(place)] as unknown)
  }
  return value !== null && value !== undefined
}
