import type { Cause } from "../../../pkg/apimachinery/errors.ts"
import type { FieldSpec, Message, Type } from "../../../pkg/apimachinery/field-spec.ts"
import { fieldAt } from "./places.ts"

export type Values = Record<string, unknown>

const NOW = "2026-01-01T00:00:00Z"
const address = (n: number) => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`
const cidr = (n: number) => `${address(n)}/32`

/** First guesses for texts, by the name of their field. */
const GUESSES: Readonly<Record<string, readonly ((n: number) => string)[]>> = {
  ip: [address],
  addresses: [address],
  podIP: [address],
  cidr: [cidr],
  cidrs: [cidr],
  mountPath: [(n) => `/m${n}`],
  devicePath: [(n) => `/d${n}`],
  path: [(n) => `/p${n}`],
  paths: [(n) => `/p${n}`],
  host: [(n) => `h${n}.example.com`],
  hosts: [(n) => `h${n}.example.com`],
  hostnames: [(n) => `h${n}.example.com`],
  operator: [() => "Exists", () => "In"],
  topologyKey: [() => "kubernetes.io/hostname"],
  expression: [(n) => `object.metadata.name != 'a${n}'`, () => "true", () => "'a'"],
  schedule: [() => "0 0 * * *"],
  mode: [() => "ReadWriteOnce"],
  accessModes: [() => "ReadWriteOnce"],
  image: [(n) => `registry.example/c:${n}`],
  names: [(n) => `registry.example/c:${n}`],
  url: [(n) => `https://127.0.0.1:1/${n}`],
  verbs: [(n) => `verb${n}`],
  finalizers: [(n) => `example.com/f${n}`],
  operations: [() => "CREATE"],
}

/** Then these, in turn. The constants are names that the samples have. */
const TEXTS: readonly ((n: number) => string)[] = [
  (n) => `a${n}`,
  (n) => `a${n}.example.com`,
  (n) => `example.com/a${n}`,
  () => "a0",
  () => "c",
  () => "walk",
  (n) => `/a${n}`,
  address,
  cidr,
  (n) => `fd00::${(n & 0xffff).toString(16)}`,
  (n) => `A${n}`,
  (n) => String(n),
  () => "*",
  () => "True",
  () => "true",
  () => "Exists",
  () => "In",
  () => "v1",
  () => "apps",
  () => "Pod",
  (n) => `a${n}.b.example.com`,
  (n) => `https://example.com/${n}`,
  () => "rbac.authorization.k8s.io",
  () => "",
  () => NOW,
  () => "AAEC",
  () => "cpu",
  (n) => `example.com/r${n}: ${n}`,
]

/** The fields that identify the items of a list. */
const KEYS: ReadonlySet<string> = new Set(
  "name key type ip port containerPort mountPath host uid cidr path topologyKey operator".split(" "),
)
const DEEPEST = 4

/**
 * Makes values of declared types that the server accepts. Its first guess is made of the required fields and of those
 * that identify items; `learn` changes the guesses by the faults that validation found.
 */
export class Filler {
  readonly #guess = new Map<FieldSpec, number>()
  readonly #taken = new Set<FieldSpec>()
  readonly #left = new Set<FieldSpec>()
  readonly #more = new Map<Message, number>()
  /** The values that a fault named. */
  readonly #supported = new Map<FieldSpec, readonly string[]>()

  /** Returns a value of the type, which differs for each number. */
  value(type: Type, n: number, spec: FieldSpec | undefined, name = "", depth = 0): unknown {
    switch (type.kind) {
      case "message":
        return this.struct(type.message(), n, depth)
      case "list":
        return depth < DEEPEST ? [this.value(type.of, n, spec, name, depth + 1)] : []
      case "map":
        return depth < DEEPEST ? { [this.key(n, spec)]: this.value(type.of, n, undefined, name, depth + 1) } : {}
      case "string":
        return this.#text(n, spec, name)
      case "bool":
        return true
      case "int32":
      case "int64":
      case "double":
        return [1 + (n % 60_000), 30, 0, 1, 443][this.#turn(spec) % 5]
      case "bytes":
        return "AAEC"
      case "quantity":
        return "1"
      case "intOrString":
        return [1 + (n % 60_000), `a${n}`, "50%", 0][this.#turn(spec) % 4]
      case "time":
        return NOW
      case "microTime":
        return "2026-01-01T00:00:00.000001Z"
      case "duration":
        return "1s"
      case "json":
      case "rawExtension":
      case "fieldsV1":
        return {}
    }
  }

  /** Returns the nth key of a map. */
  key(n: number, spec: FieldSpec | undefined): string {
    return [`k${n}`, `example.com/k${n}`, `K${n}`, "cpu", "storage"][this.#turn(spec) % 5]!
  }

  /** Returns a struct with the fields that it needs. */
  struct(message: Message, n: number, depth = 0): Values {
    if (depth > DEEPEST) return {}
    const fields = Object.entries(message.fields)
    const more = this.#more.get(message) ?? 0
    const optional = fields.filter(([name, { spec }]) => spec.presence !== "required" && !KEYS.has(name))
    return Object.fromEntries(
      fields.flatMap(([name, { spec }]) =>
        !this.#left.has(spec) &&
        (spec.presence === "required" ||
          KEYS.has(name) ||
          this.#taken.has(spec) ||
          (more > 0 && optional[(more - 1) % optional.length]?.[0] === name))
          ? [[name, this.value(spec.type, n, spec, name, depth + 1)]]
          : [],
      ),
    )
  }

  /** Whether validation has refused any value of the field. */
  leavesOut(spec: FieldSpec): boolean {
    return this.#left.has(spec)
  }

  /** Guesses otherwise where validation found faults. Returns whether there is something left to guess. */
  learn(root: Message, causes: readonly Cause[]): boolean {
    const learned = new Set<FieldSpec>()
    for (const { field = "", reason, message: text } of causes.slice(0, 3)) {
      const { spec, message } = fieldAt(root, field)
      // Two faulty items of one list are one fault.
      if (spec === undefined || learned.has(spec)) continue
      learned.add(spec)
      if (reason === "FieldValueRequired" && !this.#taken.has(spec)) {
        this.#taken.add(spec)
        this.#left.delete(spec)
        if (message === undefined) continue
      }
      if (
        reason === "FieldValueForbidden" ||
        reason === "FieldValueTooMany" ||
        /must (be empty|not be (set|specified))|may not|cannot apply|up to|at most/i.test(text)
      ) {
        this.#left.add(spec)
        this.#taken.delete(spec)
      }
      const [, supported] = /supported values: (".*")/.exec(text) ?? []
      if (supported !== undefined && !this.#supported.has(spec)) {
        this.#supported.set(spec, JSON.parse(`[${supported}]`) as string[])
        this.#guess.set(spec, 0)
        continue
      }
      const values = this.#supported.get(spec) ?? spec.enum ?? TEXTS
      if (this.#turn(spec) > values.length + 5) this.#left.add(spec)
      if (this.#left.has(spec)) continue
      if (message !== undefined && reason === "FieldValueDuplicate") {
        for (const [name, { spec: key }] of Object.entries(message.fields))
          if (KEYS.has(name) && key.type.kind === "string") this.#guess.set(key, this.#turn(key) + 1)
      } else if (message !== undefined) this.#more.set(message, (this.#more.get(message) ?? 0) + 1)
      else this.#guess.set(spec, this.#turn(spec) + 1)
    }
    return learned.size > 0
  }

  #turn(spec: FieldSpec | undefined): number {
    return spec === undefined ? 0 : (this.#guess.get(spec) ?? 0)
  }

  #text(n: number, spec: FieldSpec | undefined, name: string): string {
    const turn = this.#turn(spec)
    const values = (spec && this.#supported.get(spec)) ?? spec?.enum
    if (values !== undefined) return values[turn % values.length]!
    const own = GUESSES[name] ?? []
    return turn < own.length ? own[turn]!(n) : TEXTS[(turn - own.length) % TEXTS.length]!(n)
  }
}
