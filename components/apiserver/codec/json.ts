import { ExactNumber, exactValue } from "../../../pkg/apimachinery/json/exact-number.ts"
import { endOfString } from "../../../pkg/apimachinery/json/json-members.ts"
import { jsonFault } from "../../../pkg/apimachinery/json/json-fault.ts"
import { BodyError } from "./body-error.ts"

/** A parsed body, with the faults found in its text. */
export interface Parsed {
  readonly value: unknown
  /** Errors for fields that stand twice, in Kubernetes' words; the last value counts. */
  readonly faults: readonly string[]
  /** Whether the JSON has numbers or escapes that YAML reads differently. */
  readonly isUnusual?: boolean
}

const NO_FAULTS: readonly string[] = []

/** Most faults that are reported. Source: sigs.k8s.io/json strict errors limit. */
const MOST_FAULTS = 100
/** Most levels of nesting, checked before any recursion over the value. Source: encoding/json maxNestingDepth. */
const MAX_DEPTH = 10_000

/**
 * Parses JSON and reports fields that stand twice, which JSON.parse silently merges. Numbers that JavaScript would
 * round are kept as text (ExactNumber), and halves of surrogate pairs become U+FFFD, as in Go.
 * @throws BodyError when it is no JSON
 */
export function parseJson(text: string): Parsed {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new BodyError(jsonFault(text))
  }
  const { colons, unusualNumbers } = survey(text)
  const isUnusual = unusualNumbers || LONG_NUMBER.test(text) || ESCAPED_SURROGATE.test(text)
  if (isUnusual) value = JSON.parse(text, exactValue)
  // If a field stands twice, the value has fewer keys than the text has colons. Counting is cheap, and this is rare.
  return { value, faults: colons === countKeys(value) ? NO_FAULTS : duplicateFields(text), isUnusual }
}

/** Parses JSON of the store, whose long integers are kept exactly. @throws SyntaxError when it is no JSON */
export const parseOwnJson = (text: string): unknown =>
  LONG_NUMBER.test(text) ? JSON.parse(text, exactValue) : JSON.parse(text)

/** The fewest digits of a number that JavaScript may round. */
const LONG_NUMBER = /\d{16}/
const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/

interface Survey {
  /** The number of colons outside of strings. */
  readonly colons: number
  /** Whether a number has a fraction or an exponent: Go does not accept 1.0 as an integer. */
  readonly unusualNumbers: boolean
}

/** @throws BodyError when the nesting is too deep */
function survey(text: string): Survey {
  let colons = 0
  let depth = 0
  let unusualNumbers = false
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = endOfString(text, i)
        break
      case COLON:
        colons++
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++depth > MAX_DEPTH) throw new BodyError(`invalid character '${text[i]!}' exceeded max depth`)
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--
        break
      case DOT:
        unusualNumbers = true
        break
      case SMALL_E:
      case LARGE_E:
        // The e of `true` and `false` does not count.
        unusualNumbers ||= isDigit(text.charCodeAt(i - 1))
    }
  }
  return { colons, unusualNumbers }
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57

const DOT = 46
const LARGE_E = 69
const SMALL_E = 101
const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null || value instanceof ExactNumber) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object" && item !== null) count += countKeys(item)
    return count
  }
  for (const key in value) {
    count++
    const item = (value as Record<string, unknown>)[key]
    if (typeof item === "object" && item !== null) count += countKeys(item)
  }
  return count
}

/**
 * Lists the fields that stand twice, with their paths: `duplicate field "spec.containers[0].name"`. `text` is valid
 * JSON.
 */
function duplicateFields(text: string): readonly string[] {
  interface Level {
    readonly path: string
    readonly seen: Set<string> | undefined
    index: number
    key: string
  }
  const faults: string[] = []
  const levels: Level[] = []
  const child = (): string => {
    const parent = levels[levels.length - 1]
    if (parent === undefined) return ""
    if (parent.seen === undefined) return `${parent.path}[${parent.index}]`
    return parent.path === "" ? parent.key : `${parent.path}.${parent.key}`
  }
  let wantsKey = false
  for (let i = 0; i < text.length; i++) {
    const level = levels[levels.length - 1]
    switch (text.charCodeAt(i)) {
      case OPEN_BRACE:
        levels.push({ path: child(), seen: new Set(), index: 0, key: "" })
        wantsKey = true
        break
      case OPEN_BRACKET:
        levels.push({ path: child(), seen: undefined, index: 0, key: "" })
        wantsKey = false
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        levels.pop()
        wantsKey = false
        break
      case COMMA:
        if (level === undefined) break
        level.index++
        wantsKey = level.seen !== undefined
        break
      case QUOTE: {
        const end = endOfString(text, i)
        if (wantsKey && level?.seen !== undefined) {
          level.key = JSON.parse(text.slice(i, end + 1)) as string
          wantsKey = false
          if (level.seen.has(level.key) && faults.length < MOST_FAULTS) {
            const fault = `duplicate field ${JSON.stringify(child())}`
            if (!faults.includes(fault)) faults.push(fault)
          }
          level.seen.add(level.key)
        }
        i = end
      }
    }
  }
  return faults
}
