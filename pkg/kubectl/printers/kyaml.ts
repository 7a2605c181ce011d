import { goJson, type Unstructured } from "../rest/json.ts"
import { isWatchEvent, type ResourcePrinter } from "./printer.ts"

/** `-o kyaml`: YAML in braces, which no reader takes for another type. Source: sigs.k8s.io/yaml/kyaml. */
export function kyamlPrinter(): ResourcePrinter {
  return {
    print(object, out) {
      const value: Unstructured = isWatchEvent(object) ? { type: object.type, object: object.object } : object
      return out.write(`---\n${kyaml(JSON.parse(goJson(value)), "")}\n`)
    },
  }
}

const SIMPLE_KEY = /^[A-Za-z_][\w./-]*$/
/** Words that YAML 1.1 reads as another type. */
const TYPED = /^(?:y|n|yes|no|on|off|true|false|null|~)$/i

const keyText = (key: string): string => (SIMPLE_KEY.test(key) && !TYPED.test(key) ? key : JSON.stringify(key))

function kyaml(value: unknown, indent: string): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]"
    const isCuddled = value.every((item) => typeof item === "object" && item !== null && !isEmpty(item))
    if (isCuddled) return `[${value.map((item) => kyaml(item, indent)).join(", ")}]`
    return `[\n${value.map((item) => `${indent}  ${kyaml(item, `${indent}  `)},\n`).join("")}${indent}]`
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value)
    if (entries.length === 0) return "{}"
    const inner = `${indent}  `
    return `{\n${entries.map(([key, each]) => `${inner}${keyText(key)}: ${kyaml(each, inner)},\n`).join("")}${indent}}`
  }
  return JSON.stringify(value)
}

const isEmpty = (value: object): boolean =>
  Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0
