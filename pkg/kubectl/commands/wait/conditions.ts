import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { isJsonObject } from "../../../apimachinery/json/json-value.ts"
import type { Unstructured } from "../../rest/json.ts"
import type { Condition } from "./condition.ts"

/** Reads the values of `--for`. @throws Error for what is none */
export async function conditionsOf(texts: readonly string[]): Promise<readonly Condition[]> {
  if (texts.length === 0) throw new Error("unrecognized condition: []")
  const conditions: Condition[] = []
  for (const text of texts) {
    const keyword = text.toLowerCase()
    if (keyword === "create" || keyword === "delete") conditions.push({ type: keyword })
    else if (text.startsWith("condition=")) conditions.push(statusCondition(text.slice("condition=".length)))
    else if (text.startsWith("jsonpath=")) {
      const { jsonPathCondition } = await import("./json-path-condition.ts")
      conditions.push(jsonPathCondition(text.slice("jsonpath=".length)))
    } else throw new Error(`unrecognized condition: ${goQuoted(text)}`)
  }
  return conditions
}

/** `Ready`, or `Ready=False`. Letters may be of any case. */
function statusCondition(text: string): Condition {
  const at = text.indexOf("=")
  const [name, wanted] = at < 0 ? [text, "true"] : [text.slice(0, at), text.slice(at + 1)]
  return { type: "check", isMet: (object) => hasStatus(object, name.toLowerCase(), wanted.toLowerCase()) }
}

function hasStatus({ metadata, status }: Unstructured, name: string, wanted: string): boolean {
  const { conditions, observedGeneration } = isJsonObject(status) ? status : {}
  if (!Array.isArray(conditions)) return false
  for (const condition of conditions as readonly unknown[]) {
    if (!isJsonObject(condition)) continue
    const { type, status: state, observedGeneration: observed = observedGeneration } = condition
    if (typeof type !== "string" || typeof state !== "string" || type.toLowerCase() !== name) continue
    // A condition of an older generation says nothing of the present one.
    const generation = metadata?.generation
    if (typeof generation === "number" && typeof observed === "number" && observed < generation) return false
    return state.toLowerCase() === wanted
  }
  return false
}
