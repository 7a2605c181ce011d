import { isGoMap } from "../go-fmt/go-number.ts"
import { failCall } from "../go-template/function-error.ts"
import type { TemplateFunction } from "../go-template/functions.ts"
import type { ExecutionBounds } from "../go-template/evaluation.ts"

/** The longest text that a function makes or a template writes, in characters. */
const LONGEST = 16 * 1024 * 1024
/** The longest list that a function makes. */
const MOST_ITEMS = 1_000_000
/** How many values one call may walk through. A value that stands in several places counts in each. */
const MOST_VALUES = 1_000_000
const MOST_LEVELS = 1000
/** How many pairs of values one call may compare. */
const MOST_PAIRS = 10_000_000

/** How many parts of templates one chart may execute: kube-prometheus-stack, a large one, executes 15,000. */
const MOST_STEPS = 500_000
/** How much the templates of one chart may make in all, in characters. */
const MOST_MADE = 256 * 1024 * 1024
/** What an item of a list counts as, and a value that is walked through, in characters. */
const ITEM = 64
const VALUE = 16
/** How long the templates of a chart may keep everybody else waiting, in milliseconds. */
const LONGEST_MS = 5000

/** Fails for a text that would be longer than functions make. @throws FunctionError */
export function checkLength(length: number): void {
  if (length > LONGEST) failCall("the text would be too long")
}

/** Fails when so many pairs of values are too many to compare. @throws FunctionError */
export function checkPairs(count: number): void {
  if (count > MOST_PAIRS) failCall("the lists are too long to be compared")
}

/**
 * Returns how many values and characters there are to walk through in a value, which can have the same map in many
 * places, or in itself. @throws FunctionError when there are too many
 */
function checkedSize(whole: unknown): number {
  let [values, characters] = [0, 0]
  const visit = (value: unknown, level: number): void => {
    if (++values > MOST_VALUES || level > MOST_LEVELS) failCall("the value has too many values in it")
    if (typeof value === "string") checkLength((characters += value.length))
    else if (Array.isArray(value)) for (const item of value as readonly unknown[]) visit(item, level + 1)
    else if (isGoMap(value)) for (const key in value) visit(value[key], level + 1)
  }
  visit(whole, 0)
  return values * VALUE
}

/** Functions that walk through all of what they are given. */
const WALKS: ReadonlySet<string> = new Set([
  ...["toYaml", "mustToYaml", "toYamlPretty", "toToml", "mustToToml", "toJson", "mustToJson", "toPrettyJson"],
  ...["mustToPrettyJson", "toRawJson", "mustToRawJson", "deepCopy", "mustDeepCopy", "deepEqual", "has", "mustHas"],
  ...["without", "mustWithout", "uniq", "mustUniq", "merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite"],
  ...["print", "println", "printf", "html", "js", "urlquery", "quote", "squote", "cat", "toString", "toStrings"],
  ...["join", "sortAlpha"],
])

/** Returns the arguments that a function walks through: of `dict`, the keys. */
const walked = (name: string, args: readonly unknown[]): readonly unknown[] =>
  WALKS.has(name) ? args : name === "dict" ? args.filter((_, i) => i % 2 === 0) : []

const isContainer = (value: unknown): boolean => typeof value === "object" && value !== null

/** The bounds of the work that the templates of one chart may do. What exceeds them ends the work. */
export class Limits implements ExecutionBounds {
  readonly #monotonic: () => number
  #steps = 0
  #made = 0
  #since: number

  /** `monotonic` returns milliseconds since any moment. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
    this.#since = monotonic()
  }

  step(): void {
    if (++this.#steps > MOST_STEPS) throw new Error(`the chart's templates do too much: more than ${MOST_STEPS} steps`)
    this.argument()
  }

  argument(): void {
    if (this.#monotonic() - this.#since > LONGEST_MS)
      throw new Error(`a template of the chart takes too long: more than ${LONGEST_MS / 1000} seconds`)
  }

  /** Notes that others have had their turn. */
  paused(): void {
    this.#since = this.#monotonic()
  }

  printing(value: unknown): void {
    if (isContainer(value)) this.#make(checkedSize(value))
  }

  writing(characters: number, before: number): void {
    if (before + characters > LONGEST) throw new Error(`a template of the chart writes more than ${LONGEST} characters`)
    this.#make(characters)
  }

  /** Returns a function that fails when it is given, or makes, too much. */
  bounded(name: string, { call, ...takes }: TemplateFunction): TemplateFunction {
    return {
      ...takes,
      call: (args) => {
        for (const arg of walked(name, args)) this.printing(arg)
        const made = call(args)
        if (typeof made === "string") {
          checkLength(made.length)
          this.#make(made.length)
        } else if (Array.isArray(made)) {
          if (made.length > MOST_ITEMS) failCall(`a list of ${made.length} items is too long`)
          this.#make(made.length * ITEM)
        }
        return made
      },
    }
  }

  #make(characters: number): void {
    this.#made += characters
    if (this.#made > MOST_MADE)
      throw new Error(`the chart's templates make too much: more than ${MOST_MADE} characters`)
  }
}
