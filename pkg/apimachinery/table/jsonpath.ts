/**
 * The part of JSONPath that custom resources use for columns and scale paths: `.spec.replicas`,
 * `.metadata.labels['a.b']`, `.items[0].name`, `.items[*].name`, `.status.conditions[?(@.type=="Ready")].status`.
 * Source: client-go util/jsonpath; apiextensions ValidateSimpleJSONPath.
 */
export type JsonPath = (value: unknown) => readonly unknown[]

type Step = (values: readonly unknown[]) => unknown[]

/**
 * Compiles a path, with or without braces around it. @throws SyntaxError with the path and the part that cannot be
 * parsed
 */
export function parseJsonPath(path: string): JsonPath {
  const text = path.startsWith("{") && path.endsWith("}") ? path.slice(1, -1) : path
  const rest = text.startsWith("$") ? text.slice(1) : text
  const steps: Step[] = []
  const token =
    /\.((?:[^.[\]\\*]|\\.)+)|\[(-?\d+)\]|\[\*\]|\.\*|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]|\[\?\(([^\]]*)\)\]/y
  let at = 0
  // `.` alone selects the whole value.
  while (at < rest.length && rest !== ".") {
    token.lastIndex = at
    const match = token.exec(rest)
    if (match === null)
      throw new SyntaxError(
        `Cannot read JSONPath ${JSON.stringify(path)}: unexpected ${JSON.stringify(rest.slice(at))}`,
      )
    at = token.lastIndex
    const [whole, name, index, single, double, condition] = match
    if (whole === "[*]" || whole === ".*") steps.push(everything)
    else if (index !== undefined) steps.push(item(Number(index)))
    else if (condition !== undefined) steps.push(filter(path, condition))
    else steps.push(child((name ?? single ?? double ?? "").replace(/\\(.)/g, "$1")))
  }
  return (value) => steps.reduce<readonly unknown[]>((values, step) => step(values), [value])
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const present = (value: unknown): unknown[] => (value === undefined || value === null ? [] : [value])

const child =
  (name: string): Step =>
  (values) =>
    values.flatMap((value) => (isObject(value) && Object.hasOwn(value, name) ? present(value[name]) : []))
const item =
  (index: number): Step =>
  (values) =>
    values.flatMap((value) => (Array.isArray(value) ? present(value.at(index)) : []))
const everything: Step = (values) =>
  values.flatMap((value) =>
    Array.isArray(value) ? [...(value as unknown[])] : isObject(value) ? Object.values(value) : [],
  )

/** Compiles a filter: `@.type=="Ready"`, `@.port>80`, or `@.ready` alone, which is true when the field exists. */
function filter(path: string, condition: string): Step {
  const text = condition.trim()
  const { 0: operator, index = text.length } = /==|!=|<=|>=|<|>/.exec(text) ?? { 0: undefined }
  const literal = text.slice(index + (operator?.length ?? 0)).trim()
  if (!text.startsWith("@") || (operator !== undefined && literal === ""))
    throw new SyntaxError(
      `Cannot read JSONPath ${JSON.stringify(path)}: unexpected filter ${JSON.stringify(condition)}`,
    )
  const left = parseJsonPath(text.slice(1, index).trim())
  if (operator === undefined) return (values) => elements(values).filter((element) => left(element).length > 0)
  const right = literalOf(path, literal)
  const holds = COMPARE[operator]!
  return (values) =>
    elements(values).filter((element) =>
      left(element).some((found) => typeof found === typeof right && holds(found as string, right as string)),
    )
}

const elements = (values: readonly unknown[]): unknown[] =>
  values.flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : []))

const COMPARE: Readonly<Record<string, (a: string, b: string) => boolean>> = {
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
}

function literalOf(path: string, literal: string): string | number | boolean {
  const quoted = /^(["'])(.*)\1$/.exec(literal)
  if (quoted !== null) return quoted[2]!.replace(/\\(.)/g, "$1")
  if (literal === "true" || literal === "false") return literal === "true"
  const number = Number(literal)
  if (Number.isNaN(number))
    throw new SyntaxError(`Cannot read JSONPath ${JSON.stringify(path)}: unexpected ${JSON.stringify(literal)}`)
  return number
}
