/**
 * The part of `bun:test` that the tests of `k3ts/testing` use, for Deno: the import map beside this file puts it in the
 * place of `bun:test`. It compares by Node's `assert`. A matcher that a test needs and that is missing here is added.
 */
import { deepStrictEqual, partialDeepStrictEqual } from "node:assert"
import { after, before, describe as nodeDescribe, test as nodeTest } from "node:test"

type Body = (...args: never[]) => unknown

/**
 * The title of one row of a table: `%s`, `%d`, `%p`, `%j` take the next value of the row, `$field` that field of it.
 */
function title(name: string, row: readonly unknown[]): string {
  let next = 0
  const fields = Object(row[0]) as Readonly<Record<string, unknown>>
  return name
    .replace(/%[sdpjif]/g, (sign) => {
      const value = row[next++]
      return sign === "%s" || sign === "%d" ? String(value) : JSON.stringify(value)
    })
    .replace(/\$(\w+)/g, (sign, field: string) => (field in fields ? String(fields[field]) : sign))
}

/** Runs a body for each row of a table. A row that is an array gives the body's arguments. */
const each =
  (run: (name: string, body: () => unknown) => void) =>
  <Row>(rows: readonly Row[]) =>
  (name: string, body: Body): void => {
    for (const row of rows) {
      const values: readonly unknown[] = Array.isArray(row) ? row : [row]
      run(title(name, values), () => (body as (...args: unknown[]) => unknown)(...values))
    }
  }

const group = (name: string, body: () => unknown): void => void nodeDescribe(name, () => void body())
export const describe = Object.assign(group, { each: each(group) })

const single = (name: string, body: () => unknown, timeout?: number): void => {
  void nodeTest(name, timeout === undefined ? {} : { timeout }, async () => void (await body()))
}
const skipped = (name: string): void => void nodeTest(name, { skip: true }, () => {})
export const test = Object.assign(single, {
  each: each(single),
  skipIf: (isSkipped: boolean) => (isSkipped ? skipped : single),
})

export const beforeAll = (body: () => unknown): void => before(async () => void (await body()))
export const afterAll = (body: () => unknown): void => after(async () => void (await body()))

/** Stands for any object that has at least these fields. */
class Containing {
  readonly part: object
  constructor(part: object) {
    this.part = part
  }
}

const shown = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value) : (JSON.stringify(value) ?? String(value))

/** Without the fields that are undefined, as Bun's toEqual compares. */
const defined = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(defined)
  if (value === null || typeof value !== "object" || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .map(([key, field]) => [key, defined(field)]),
  )
}

const holds = (check: () => void): boolean => {
  try {
    check()
    return true
  } catch {
    return false
  }
}

/** What a function throws, or undefined. */
const thrown = (run: () => unknown): unknown => {
  try {
    run()
    return undefined
  } catch (err) {
    return err
  }
}

const contains = (is: unknown, part: unknown): boolean =>
  holds(() => partialDeepStrictEqual(defined(is), defined(part)))

function equal(is: unknown, wanted: unknown): boolean {
  if (wanted instanceof Containing) return contains(is, wanted.part)
  if (Array.isArray(wanted) && Array.isArray(is))
    return is.length === wanted.length && wanted.every((one, index) => equal(is[index], one))
  return holds(() => deepStrictEqual(defined(is), defined(wanted)))
}

function matchers(is: unknown, negated: boolean) {
  const check = (name: string, ok: boolean, wanted: unknown): void => {
    if (ok === negated)
      throw new Error(
        `expect(received).${negated ? "not." : ""}${name}(expected)\n\n` +
          `${name === "toHaveLength" ? "Expected length" : "Expected"}: ${shown(wanted)}\nReceived: ` +
          `${shown(is)}`,
      )
  }
  const number = is as number
  return {
    toBe: (wanted: unknown) => check("toBe", Object.is(is, wanted), wanted),
    toEqual: (wanted: unknown) => check("toEqual", equal(is, wanted), wanted),
    toMatchObject: (wanted: object) => check("toMatchObject", contains(is, wanted), wanted),
    toHaveLength: (wanted: number) => check("toHaveLength", (is as ArrayLike<unknown>).length === wanted, wanted),
    toContain: (wanted: unknown) =>
      check(
        "toContain",
        typeof is === "string" ? is.includes(String(wanted)) : (is as unknown[]).includes(wanted),
        wanted,
      ),
    toMatch: (wanted: RegExp) => check("toMatch", wanted.test(String(is)), wanted),
    toStartWith: (wanted: string) => check("toStartWith", String(is).startsWith(wanted), wanted),
    toBeDefined: () => check("toBeDefined", is !== undefined, "a value"),
    toBeUndefined: () => check("toBeUndefined", is === undefined, undefined),
    toThrow: (wanted: string | RegExp | (abstract new (...args: never[]) => unknown) = Error) => {
      const err = thrown(is as () => unknown)
      const said = err instanceof Error ? err.message : String(err)
      if (typeof wanted === "string") check("toThrow", err !== undefined && said.includes(wanted), wanted)
      else if (wanted instanceof RegExp) check("toThrow", err !== undefined && wanted.test(said), String(wanted))
      else check("toThrow", err instanceof wanted, wanted.name)
    },
    toHaveProperty: (name: string, ...wanted: readonly unknown[]) =>
      check(
        "toHaveProperty",
        name in Object(is) && (wanted.length === 0 || equal(Object(is)[name], wanted[0])),
        wanted.length === 0 ? `property ${name}` : { [name]: wanted[0] },
      ),
    toBeInstanceOf: (wanted: abstract new (...args: never[]) => unknown) =>
      check("toBeInstanceOf", is instanceof wanted, wanted.name),
    toBeGreaterThan: (wanted: number) => check("toBeGreaterThan", number > wanted, wanted),
    toBeGreaterThanOrEqual: (wanted: number) => check("toBeGreaterThanOrEqual", number >= wanted, wanted),
    toBeLessThan: (wanted: number) => check("toBeLessThan", number < wanted, wanted),
    toBeLessThanOrEqual: (wanted: number) => check("toBeLessThanOrEqual", number <= wanted, wanted),
  }
}

export const expect = Object.assign((is: unknown) => ({ ...matchers(is, false), not: matchers(is, true) }), {
  objectContaining: (part: object) => new Containing(part),
})
