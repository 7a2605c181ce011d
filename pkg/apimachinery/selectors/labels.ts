import { badRequest } from "../errors.ts"
import { int64Of } from "../go/go-text.ts"
import { isLabelValue, isQualifiedName, oneProblem } from "../validation/names.ts"
import type { LabelSelector } from "../meta.ts"
import { labelConditions } from "./label-conditions.ts"

export type Labels = Readonly<Record<string, string>>
export type LabelOperator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt"

/** One requirement of a label selector. */
export interface LabelRequirement {
  readonly key: string
  readonly operator: LabelOperator
  /** The values, sorted and without duplicates. */
  readonly values: readonly string[]
}

/** Requirements that must all hold. Source: apimachinery pkg/labels/selector.go. */
export interface LabelMatcher {
  readonly requirements: readonly LabelRequirement[]
  /** Whether all labels match. */
  readonly everything: boolean
  matches(labels: Labels | undefined): boolean
  /** Returns the text form, as in `?labelSelector=` and `status.selector` of a Scale. */
  toString(): string
}

const NONE: Labels = {}

function holds({ key, operator, values }: LabelRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined
  switch (operator) {
    case "=":
    case "==":
      return value === values[0]
    case "in":
      return value !== undefined && values.includes(value)
    case "!=":
      return value !== values[0]
    case "notin":
      return value === undefined || !values.includes(value)
    case "exists":
      return value !== undefined
    case "!":
      return value === undefined
    case "gt":
    case "lt": {
      const [ours, theirs] = [value, values[0]].map((one) => (one === undefined ? undefined : int64Of(one)))
      if (ours === undefined || theirs === undefined) return false
      return operator === "gt" ? ours > theirs : ours < theirs
    }
  }
}

/** Makes a matcher of requirements; without any it matches everything. */
function matcherOf(requirements: readonly LabelRequirement[]): LabelMatcher {
  const matches = labelConditions(requirements, holds)
  return {
    requirements,
    everything: requirements.length === 0,
    matches: (labels = NONE) => matches(labels),
    toString: () => requirements.map(requirementText).join(","),
  }
}
export const EVERYTHING: LabelMatcher = matcherOf([])
export const NOTHING: LabelMatcher = { requirements: [], everything: false, matches: () => false, toString: () => "" }

function requirementText({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case "exists":
      return key
    case "!":
      return `!${key}`
    case "in":
    case "notin":
      return `${key} ${operator} (${values.join(",")})`
    case "gt":
      return `${key}>${values[0]}`
    case "lt":
      return `${key}<${values[0]}`
    default:
      return `${key}${operator}${values[0] ?? ""}`
  }
}

/**
 * Returns the matcher of a set of labels: `spec.selector` of Services and ReplicationControllers. An absent or empty
 * set matches everything. Compiled once for each set.
 */
export function fromLabels(labels: Labels | undefined): LabelMatcher {
  if (labels === undefined) return EVERYTHING
  let matcher = compiled.get(labels)
  if (matcher === undefined) {
    const entries = Object.entries(labels).sort(byKey)
    matcher = matcherOf(entries.map(([key, value]) => ({ key, operator: "=", values: [value] })))
    compiled.set(labels, matcher)
  }
  return matcher
}

const byKey = (a: readonly [string, unknown], b: readonly [string, unknown]) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)
/** Cached matchers of label sets and selectors, which are immutable. */
const compiled = new WeakMap<Labels | LabelSelector, LabelMatcher>()
const OPERATORS: Readonly<Record<string, LabelOperator>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
}

/**
 * Returns the matcher of a LabelSelector. An absent selector matches nothing, an empty one everything. Throws a
 * TypeError for an unknown operator. Compiled once for each selector. Source: apimachinery pkg/apis/meta/v1/helpers.go
 * LabelSelectorAsSelector.
 */
export function fromLabelSelector(selector: LabelSelector | undefined): LabelMatcher {
  if (selector === undefined) return NOTHING
  const known = compiled.get(selector)
  if (known !== undefined) return known
  const matcher = matcherOf(
    [
      ...Object.entries(selector.matchLabels ?? NONE).map(([key, value]): LabelRequirement => ({
        key,
        operator: "=",
        values: [value],
      })),
      ...(selector.matchExpressions ?? []).map(({ key, operator, values = [] }): LabelRequirement => {
        const known = OPERATORS[operator]
        if (known === undefined)
          throw new TypeError(`${JSON.stringify(operator)} is not a valid label selector operator`)
        return { key, operator: known, values: sorted(values) }
      }),
    ].sort((a, b) => byKey([a.key, 0], [b.key, 0])),
  )
  compiled.set(selector, matcher)
  return matcher
}
const sorted = (values: readonly string[]): readonly string[] =>
  values.length < 2 ? values : [...new Set(values)].sort()

/** Parses the text form of a selector. Throws a 400 ApiError in upstream's words. */
export function parseLabelSelector(text: string): LabelMatcher {
  if (text === "") return EVERYTHING
  const parser = new SelectorParser(text)
  const requirements = parser.parse()
  return matcherOf(requirements.sort((a, b) => byKey([a.key, 0], [b.key, 0])))
}

type Token = {
  readonly kind: "end" | "id" | "in" | "notin" | "=" | "==" | "!=" | "!" | "," | "(" | ")" | ">" | "<"
  readonly text: string
}
const SYMBOLS: ReadonlySet<string> = new Set(["=", "==", "!=", "!", ",", "(", ")", ">", "<"])
const isSymbol = (text: string): text is Exclude<Token["kind"], "end" | "id" | "in" | "notin"> => SYMBOLS.has(text)

class SelectorParser {
  private readonly tokens: Token[] = []
  private position = 0

  constructor(text: string) {
    for (const [piece] of text.matchAll(/==|!=|[=!,()<>]|[^\s=!,()<>]+/g))
      this.tokens.push({
        kind: isSymbol(piece) ? piece : piece === "in" || piece === "notin" ? piece : "id",
        text: piece,
      })
    this.tokens.push({ kind: "end", text: "" })
  }

  /** `in` and `notin` are operators only where an operator is expected. */
  private peek(): Token {
    const token = this.tokens[this.position] ?? { kind: "end", text: "" }
    return token.kind === "in" || token.kind === "notin" ? { kind: "id", text: token.text } : token
  }
  private next(): Token {
    const token = this.peek()
    this.position++
    return token
  }

  parse(): LabelRequirement[] {
    const found: LabelRequirement[] = []
    for (;;) {
      const { kind, text } = this.peek()
      if (kind === "end") return found
      if (kind !== "id" && kind !== "!")
        throw unreadable(`found '${text}', expected: !, identifier, or 'end of string'`)
      found.push(this.requirement())
      const after = this.next()
      if (after.kind === "end") return found
      if (after.kind !== ",") throw unreadable(`found '${after.text}', expected: ',' or 'end of string'`)
      const following = this.peek()
      if (following.kind !== "id" && following.kind !== "!")
        throw unreadable(`found '${following.text}', expected: identifier after ','`)
    }
  }

  private requirement(): LabelRequirement {
    const absent = this.peek().kind === "!"
    if (absent) this.next()
    const name = this.next()
    if (name.kind !== "id") throw unparsable(`found '${name.text}', expected: identifier`)
    const problem = isQualifiedName(name.text)
    if (problem !== undefined)
      throw unparsable(`<nil>: Invalid value: ${JSON.stringify(name.text)}: ${oneProblem(problem, "; ")}`)
    const key = name.text
    if (absent) return { key, operator: "!", values: [] }
    const { kind } = this.peek()
    if (kind === "end" || kind === ",") return { key, operator: "exists", values: [] }
    const operator = this.operator()
    const values = operator === "in" || operator === "notin" ? this.values() : [this.exactValue()]
    if ((operator === "gt" || operator === "lt") && int64Of(values[0]!) === undefined)
      throw unparsable(
        `values[0]: Invalid value: ${JSON.stringify(values[0])}: for 'Gt', 'Lt' operators, the value must be ` +
          "an integer",
      )
    values.forEach((value, i) => {
      const wrong = isLabelValue(value)
      if (wrong !== undefined)
        throw unparsable(`values[${i}][${key}]: Invalid value: ${JSON.stringify(value)}: ${oneProblem(wrong, "; ")}`)
    })
    return { key, operator, values }
  }

  private operator(): LabelOperator {
    const token = this.tokens[this.position++] ?? { kind: "end", text: "" }
    switch (token.kind) {
      case "=":
      case "==":
      case "!=":
      case "in":
      case "notin":
        return token.kind
      case ">":
        return "gt"
      case "<":
        return "lt"
      default:
        throw unparsable(`found '${token.text}', expected: in, notin, =, ==, !=, gt, lt`)
    }
  }

  /** Parses `(a,b)`; an empty place between commas is the empty value. */
  private values(): readonly string[] {
    const open = this.next()
    if (open.kind !== "(") throw unparsable(`found '${open.text}' expected: '('`)
    const found: string[] = []
    let afterValue = false
    for (;;) {
      const { kind, text } = this.next()
      if (kind === "id" && !afterValue) {
        found.push(text)
        afterValue = true
      } else if (kind === "," || kind === ")") {
        if (!afterValue) found.push("")
        if (kind === ")") return sorted(found)
        afterValue = false
      } else
        throw unparsable(
          afterValue ? `found '${text}', expected: ',' or ')'` : `found '${text}', expected: ',', ')' or identifier`,
        )
    }
  }

  private exactValue(): string {
    const { kind } = this.peek()
    if (kind === "end" || kind === ",") return ""
    const token = this.next()
    if (token.kind !== "id") throw unparsable(`found '${token.text}', expected: identifier`)
    return token.text
  }
}

const unreadable = (what: string) => badRequest(what)
const unparsable = (what: string) => badRequest(`unable to parse requirement: ${what}`)
