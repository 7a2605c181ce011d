import type { Cause } from "../../../../apimachinery/errors.ts"
import { at, atKey, forbiddenField, invalidValue } from "../../../../apimachinery/validation/field-errors.ts"
import { itemsOf, membersOf, type JsonSchema } from "../../../../apimachinery/structural/json-schema.ts"
import { maxCardinality } from "../../../../cel/schema-type.ts"
import { compiledRules, type CompiledRule } from "../rules/compiled-rules.ts"
import { hasRules } from "../rules/rule-faults.ts"

/** Source of this file: apiextensions-apiserver pkg/apis/apiextensions/validation/{validation,cel_validation}.go. */

const RULE_LIMIT = 10_000_000
const DEFINITION_LIMIT = 100_000_000
/** Costs from here on are treated as unlimited. */
const UNBOUNDED = 2 ** 64

interface Place {
  readonly path: string
  /** How often the value can be in an object at most; undefined without a limit. */
  readonly times: number | undefined
  /** The first schema around it whose values cannot be matched between two states of an object. */
  readonly uncorrelatable: string | undefined
}

/**
 * Returns the faults of the expressions in a schema: errors of their own, and estimated costs that are too high. The
 * cost of unchanged expressions is not checked again (`isUnchanged`). Expressions of a schema that has faults
 * (`known`), itself or below, are not compiled.
 */
export function expressionFaults(
  schema: JsonSchema,
  path: string,
  isUnchanged: boolean,
  known: readonly Cause[],
): readonly Cause[] {
  if (!hasRules(schema)) return []
  const run = new Costs(isUnchanged, known)
  run.check(schema, { path, times: 1, uncorrelatable: undefined }, true)
  return run.faults(path)
}

class Costs {
  readonly #causes: Cause[] = []
  readonly #expensive: { readonly path: string; readonly cost: number }[] = []
  readonly #isUnchanged: boolean
  readonly #known: readonly Cause[]
  #total = 0

  constructor(isUnchanged: boolean, known: readonly Cause[]) {
    this.#isUnchanged = isUnchanged
    this.#known = known
  }

  check(schema: JsonSchema, place: Place, isResource: boolean): void {
    if (!hasRules(schema)) return
    const { path } = place
    const most = mostElements(schema)
    const times = place.times === undefined || most === undefined ? undefined : Math.min(place.times * most, UNBOUNDED)
    const { properties = {} } = schema
    const members = membersOf(schema)
    const items = itemsOf(schema)
    const inner = (child: JsonSchema, where: string, uncorrelatable = place.uncorrelatable): void =>
      this.check(child, { path: where, times, uncorrelatable }, child["x-kubernetes-embedded-resource"] === true)
    if (members !== undefined) inner(members, at(path, "additionalProperties"))
    for (const [name, property] of Object.entries(properties)) inner(property, atKey(at(path, "properties"), name))
    if (items !== undefined)
      inner(
        items,
        at(path, "items"),
        place.uncorrelatable ?? (schema["x-kubernetes-list-type"] === "map" ? undefined : path),
      )
    if (this.#known.some(({ field = "" }) => field === path || field.startsWith(`${path}.`))) return
    const compiled = compiledRules(schema, isResource)
    if (compiled === undefined) return
    const often = place.times ?? maxCardinality(compiled.type.minSerializedSize)
    for (const [i, rule] of compiled.rules.entries())
      this.#rule(rule, at(path, "x-kubernetes-validations", i), often, place.uncorrelatable)
  }

  #rule(compiled: CompiledRule, path: string, often: number, uncorrelatable: string | undefined): void {
    const { rule, error, messageError, messageProgram, messageMaxCost, usesOldSelf } = compiled
    const cost = Math.min(compiled.maxCost * often, UNBOUNDED)
    if (!this.#isUnchanged && cost > RULE_LIMIT)
      this.#causes.push(forbiddenField(at(path, "rule"), tooCostly("estimated rule cost", cost, RULE_LIMIT)))
    this.#observe(at(path, "rule"), cost)
    if (error !== undefined) this.#causes.push(invalidValue(at(path, "rule"), goRule(rule), error))
    if (messageError !== undefined)
      this.#causes.push(invalidValue(at(path, "messageExpression"), goRule(rule), messageError))
    else if (messageProgram !== undefined) {
      if (!this.#isUnchanged && messageMaxCost > RULE_LIMIT)
        this.#causes.push(
          forbiddenField(
            at(path, "messageExpression"),
            tooCostly("estimated messageExpression cost", messageMaxCost, RULE_LIMIT),
          ),
        )
      this.#observe(at(path, "messageExpression"), messageMaxCost)
    }
    if (usesOldSelf) {
      if (uncorrelatable !== undefined)
        this.#causes.push(
          invalidValue(
            at(path, "rule"),
            rule.rule,
            `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`,
          ),
        )
    } else if (rule.optionalOldSelf !== undefined)
      this.#causes.push(
        invalidValue(
          at(path, "optionalOldSelf"),
          rule.optionalOldSelf,
          "may not be set if oldSelf is not used in rule",
        ),
      )
  }

  #observe(path: string, cost: number): void {
    this.#total = Math.min(this.#total + cost, UNBOUNDED)
    if (cost >= DEFINITION_LIMIT / 100) this.#expensive.push({ path, cost })
  }

  faults(path: string): readonly Cause[] {
    if (this.#total <= DEFINITION_LIMIT) return this.#causes
    return [
      ...this.#causes,
      ...this.#expensive
        .sort((a, b) => b.cost - a.cost)
        .slice(0, 4)
        .map((each) =>
          forbiddenField(
            each.path,
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
          ),
        ),
      forbiddenField(
        path,
        tooCostly(
          "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
          this.#total,
          DEFINITION_LIMIT,
        ),
      ),
    ]
  }
}

/** Returns the most values that an object, list or map of a schema can have. */
function mostElements(schema: JsonSchema): number | undefined {
  if (schema.type === "array") return schema.maxItems === undefined ? undefined : Math.max(0, schema.maxItems)
  if (schema.type !== "object" || schema.additionalProperties === undefined) return 1
  return schema.maxProperties === undefined ? undefined : Math.max(0, schema.maxProperties)
}

function tooCostly(what: string, cost: number, limit: number): string {
  const times = cost / limit
  const factor = times > 100 ? "more than 100x" : times < 1.5 ? `${times.toFixed(6)}x` : `${times.toFixed(1)}x`
  return `${what} exceeds budget by factor of ${factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`
}

/** Formats a rule as Go does. */
const goRule = ({
  rule,
  message = "",
  messageExpression = "",
  reason,
  fieldPath = "",
  optionalOldSelf,
}: CompiledRule["rule"]) => ({
  Rule: rule,
  Message: message,
  MessageExpression: messageExpression,
  Reason: reason ?? null,
  FieldPath: fieldPath,
  OptionalOldSelf: optionalOldSelf ?? null,
})
