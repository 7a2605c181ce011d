import { parseYaml } from "../../yaml/yaml.ts"

/** Matches text that can only be text, to save the parser. */
const CLEARLY_TEXT = /^[A-Za-z][\w./-]{5,}$/

/**
 * Returns whether a reader of YAML 1.1 would read a text as something else than text. Source: kyaml
 * yaml/compatibility.go IsValueNonString.
 */
export function isYaml11NonString(text: string): boolean {
  if (text === "" || text.includes("\n") || CLEARLY_TEXT.test(text)) return false
  try {
    return typeof parseYaml(text).value !== "string"
  } catch {
    return false
  }
}
