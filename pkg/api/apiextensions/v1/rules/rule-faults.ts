import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  atKey,
  duplicate,
  forbiddenField,
  invalidValue,
  invalidWithoutValue,
  required,
} from "../../../../apimachinery/validation/field-errors.ts"
import {
  itemsOf,
  membersOf,
  someSchema,
  type JsonSchema,
  type ValidationRule,
} from "../../../../apimachinery/structural/json-schema.ts"
import { counterpartsOf, type Old } from "../../../../apimachinery/structural/counterparts.ts"
import { valueOf } from "../../../../cel/values/json-values.ts"
import type { CelType } from "../../../../cel/type.ts"
import { CelError, Optional, type Value } from "../../../../cel/values/values.ts"
import { compiledRules, type CompiledRule } from "./compiled-rules.ts"

/** The cost limit of all rules of one object together. Source: apiserver pkg/apis/cel/config.go. */
const BUDGET = 10_000_000

/**
 * Returns the rules that an object breaks. In an update, faults of unchanged parts are tolerated; transition rules
 * (`oldSelf`) are evaluated when the old value is known. For unchanged parts only these are evaluated. Source:
 * apiextensions-apiserver pkg/apiserver/schema/cel/validation.go. Differs from upstream: tolerated faults cause no
 * warnings.
 */
export function ruleFaults(schema: JsonSchema, object: unknown, old: Old | undefined): readonly Cause[] {
  if (!hasRules(schema)) return []
  const run = new Run()
  run.value(schema, object, "", old, true, true)
  return run.causes
}

const known = new WeakMap<JsonSchema, boolean>()

export function hasRules(schema: JsonSchema): boolean {
  let found = known.get(schema)
  if (found === undefined) {
    found = someSchema(schema, (each) => (each["x-kubernetes-validations"] ?? []).length > 0)
    known.set(schema, found)
  }
  return found
}

type Values = Readonly<Record<string, unknown>>
const OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"

class Run {
  readonly causes: Cause[] = []
  #left = BUDGET
  #over = false

  /** Evaluates the rules of a value and all it contains; `near` is the closest old value that corresponds. */
  value(
    schema: JsonSchema,
    value: unknown,
    path: string,
    old: Old | undefined,
    isResource: boolean,
    isRoot: boolean,
    near?: { readonly value: unknown; readonly old: Old },
  ): void {
    if (value === undefined || value === null || this.#over) return
    this.#rules(schema, value, path, old, isResource, near)
    if (this.#over || typeof value !== "object") return
    const here = old === undefined ? near : { value, old }
    if (Array.isArray(value)) return this.#list(schema, value, path, old, here)
    const { properties } = schema
    const members = membersOf(schema)
    const before = old?.value as Values | null | undefined
    for (const [name, inner] of Object.entries(value)) {
      const property = properties !== undefined && Object.hasOwn(properties, name) ? properties[name]! : undefined
      const child = property ?? members
      if (child === undefined || !hasRules(child) || this.#over) continue
      const isHidden = isRoot && (name === "apiVersion" || name === "kind")
      const counterpart =
        isHidden || typeof before !== "object" || before === null || before[name] === undefined
          ? undefined
          : { value: before[name] }
      const where = property === undefined ? atKey(path, name) : at(path, name)
      this.value(child, inner, where, counterpart, child["x-kubernetes-embedded-resource"] === true, false, here)
    }
  }

  #list(
    schema: JsonSchema,
    value: readonly unknown[],
    path: string,
    old: Old | undefined,
    here: { readonly value: unknown; readonly old: Old } | undefined,
  ): void {
    const items = itemsOf(schema)
    if (items === undefined || !hasRules(items)) return
    const counterparts = old === undefined ? undefined : counterpartsOf(schema, old.value)
    const isResource = items["x-kubernetes-embedded-resource"] === true
    for (const [i, item] of value.entries()) {
      if (this.#over) return
      this.value(items, item, at(path, i), counterparts?.(item), isResource, false, here)
    }
  }

  #rules(
    schema: JsonSchema,
    value: unknown,
    path: string,
    old: Old | undefined,
    isResource: boolean,
    near: { readonly value: unknown; readonly old: Old } | undefined,
  ): void {
    const compiled = compiledRules(schema, isResource)
    if (compiled === undefined) return
    const { type } = compiled
    const isSame = old !== undefined && old.value === value
    const field = path === "" ? "<nil>" : path
    const typeName = schema.type ?? ""
    let self: Value | undefined
    for (const rule of compiled.rules) {
      if (rule.program === undefined) {
        if (rule.error !== undefined)
          this.causes.push(invalidValue(field, typeName, `rule compile error: ${rule.error}`))
        continue
      }
      const hasOld = old !== undefined && old.value !== null && old.value !== undefined
      if (rule.usesOldSelf ? !hasOld && rule.rule.optionalOldSelf !== true : isSame) continue
      if (this.#left <= 0) return this.#stop(invalidValue(field, typeName, OUT_OF_BUDGET))
      self ??= valueOf(value, type)
      const activation = {
        self,
        ...(rule.usesOldSelf ? { oldSelf: oldSelfOf(rule, hasOld ? old : undefined, type) } : {}),
      }
      const { value: result, cost, costExceeded } = rule.program.evaluate(activation)
      if (cost > this.#left) return this.#stop(invalidValue(field, typeName, OUT_OF_BUDGET))
      this.#left -= cost
      if (result instanceof CelError) {
        const text = ruleText(rule.rule)
        if (result.message.startsWith("no such overload"))
          this.causes.push(
            invalidValue(
              field,
              typeName,
              `'${result.message}': call arguments did not match a supported operator, function or macro signature for rule: ${text}`,
            ),
          )
        else if (costExceeded)
          return this.#stop(
            invalidValue(
              field,
              typeName,
              `'${result.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${text}`,
            ),
          )
        else this.causes.push(invalidValue(field, typeName, `${result.message} evaluating rule: ${text}`))
        continue
      }
      if (result === true) continue
      const stays =
        old === undefined ? near !== undefined && deepEqual(near.value, near.old.value) : deepEqual(value, old.value)
      const detail = this.#detail(rule, self, hasOld ? old : undefined, type)
      if (!rule.usesOldSelf && stays) continue
      const below = rule.fieldPath
      const where =
        below === "" ? field : path === "" ? below : below.startsWith("[") ? path + below : `${path}.${below}`
      this.causes.push(
        faultOf(rule.rule, where, typeName === "object" || typeName === "array" ? undefined : value, detail),
      )
    }
  }

  #stop(cause: Cause): void {
    this.causes.push(cause)
    this.#over = true
  }

  /** Returns the message for a rule that is false. */
  #detail(rule: CompiledRule, self: Value, old: Old | undefined, type: CelType): string {
    const { message = "" } = rule.rule
    const fallback = message === "" ? `failed rule: ${rule.rule.rule.trim()}` : message.trim()
    if (rule.messageProgram === undefined) return fallback
    const oldSelf = oldSelfOf(rule, old, type)
    const { value, cost } = rule.messageProgram.evaluate({ self, ...(oldSelf === undefined ? {} : { oldSelf }) })
    this.#left -= cost
    if (typeof value !== "string") return fallback
    const text = value.trim()
    return text === "" || /[\n\r]/.test(value) || value.length > LONGEST_MESSAGE ? fallback : text
  }
}

/** Source: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go maxMessageExpressionLength. */
const LONGEST_MESSAGE = 5 * 1024

function oldSelfOf({ rule }: CompiledRule, old: Old | undefined, type: CelType): Value | undefined {
  const value = old === undefined ? undefined : valueOf(old.value, type)
  if (rule.optionalOldSelf !== true) return value
  return value === undefined ? Optional.NONE : new Optional(value)
}

const ruleText = ({ message = "", rule }: ValidationRule): string => (message === "" ? rule : message).trim()

function faultOf({ reason }: ValidationRule, field: string, value: unknown, detail: string): Cause {
  switch (reason) {
    case "FieldValueForbidden":
      return forbiddenField(field, detail)
    case "FieldValueRequired":
      return required(field, detail)
    case "FieldValueDuplicate":
      return value === undefined ? { reason, field, message: "Duplicate value" } : duplicate(field, value)
    default:
      return value === undefined ? invalidWithoutValue(field, detail) : invalidValue(field, value, detail)
  }
}
