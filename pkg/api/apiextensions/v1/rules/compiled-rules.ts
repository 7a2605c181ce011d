import { fieldAt } from "../../../../apimachinery/structural/field-path.ts"
import type { JsonSchema, ValidationRule } from "../../../../apimachinery/structural/json-schema.ts"
import { compile } from "../../../../cel/compile.ts"
import type { Compiled, Program, Refused } from "../../../../cel/program.ts"
import { typeOfSchema } from "../../../../cel/schema-type.ts"
import { formatIssues } from "../../../../cel/syntax/issue.ts"
import { BOOL, optionalOf, STRING, type CelType } from "../../../../cel/type.ts"

/** One rule of a schema, compiled, or with the reason why it cannot be evaluated. */
export interface CompiledRule {
  readonly rule: ValidationRule
  /** Undefined when the rule is empty or cannot be compiled. */
  readonly program: Program | undefined
  readonly error: string | undefined
  readonly messageProgram: Program | undefined
  readonly messageError: string | undefined
  readonly usesOldSelf: boolean
  /** The cost of one evaluation; 2^64 means without limit. */
  readonly maxCost: number
  readonly messageMaxCost: number
  /** The path in errors, below the value; "" for the value itself. */
  readonly fieldPath: string
}

/** The rules of one schema, with the type of `self`. */
export interface CompiledRules {
  readonly type: CelType
  readonly rules: readonly CompiledRule[]
}

const compiled = new WeakMap<JsonSchema, CompiledRules | null>()

/**
 * Returns the rules of a schema itself, compiled once. Undefined when there are none, or when expressions cannot read
 * values of the schema. `isResource` means that apiVersion, kind and metadata can be read. Source:
 * apiextensions-apiserver pkg/apiserver/schema/cel/compilation.go.
 */
export function compiledRules(schema: JsonSchema, isResource: boolean): CompiledRules | undefined {
  const rules = schema["x-kubernetes-validations"]
  if (rules === undefined || rules.length === 0) return undefined
  let known = compiled.get(schema)
  if (known === undefined) {
    const type = typeOf(schema, isResource)
    known = type === undefined ? null : { type, rules: rules.map((rule) => compileRule(rule, schema, type)) }
    compiled.set(schema, known)
  }
  return known ?? undefined
}

const types = new WeakMap<JsonSchema, CelType | null>()

/** Returns the type of a schema's values in expressions. */
export function typeOf(schema: JsonSchema, isResource: boolean): CelType | undefined {
  let type = types.get(schema)
  if (type === undefined) types.set(schema, (type = typeOfSchema(schema as CelSchema, isResource) ?? null))
  return type ?? undefined
}
type CelSchema = Parameters<typeof typeOfSchema>[0]

const EMPTY = { program: undefined, messageProgram: undefined, messageError: undefined, maxCost: 0, messageMaxCost: 0 }

function compileRule(rule: ValidationRule, schema: JsonSchema, type: CelType): CompiledRule {
  const source = rule.rule
  const none: CompiledRule = { ...EMPTY, rule, error: undefined, usesOldSelf: false, fieldPath: "" }
  if (source.trim() === "") return none
  const oldSelf = rule.optionalOldSelf === true ? optionalOf(type) : type
  const made = compile(source, { variables: { self: type, oldSelf } })
  if (isRefused(made))
    return {
      ...none,
      error:
        made.stage === "compilation"
          ? `compilation failed: ${formatIssues(made.issues, source)}`
          : `program instantiation failed: ${made.issues[0]!.message}`,
    }
  if (made.resultType.kind !== BOOL.kind) return { ...none, error: "cel expression must evaluate to a bool" }
  const usesOldSelf = source.includes("oldSelf") && isRefused(compile(source, { variables: { self: type } }))
  const found = (rule.fieldPath ?? "") === "" ? "" : fieldAt(rule.fieldPath!, schema)
  return {
    ...none,
    ...messageOf(rule, type, oldSelf),
    program: made.program,
    usesOldSelf,
    maxCost: made.estimatedCost.max,
    fieldPath: typeof found === "string" ? "" : found.path,
  }
}

function messageOf(
  { messageExpression: source = "" }: ValidationRule,
  self: CelType,
  oldSelf: CelType,
): Pick<CompiledRule, "messageProgram" | "messageError" | "messageMaxCost"> {
  const none = { messageProgram: undefined, messageError: undefined, messageMaxCost: 0 }
  if (source === "") return none
  const made = compile(source, { variables: { self, oldSelf } })
  if (isRefused(made))
    return {
      ...none,
      messageError:
        made.stage === "compilation"
          ? `messageExpression compilation failed: ${formatIssues(made.issues, source)}`
          : `messageExpression instantiation failed: ${made.issues[0]!.message}`,
    }
  if (made.resultType.kind !== STRING.kind)
    return { ...none, messageError: "messageExpression must evaluate to a string" }
  return { ...none, messageProgram: made.program, messageMaxCost: made.estimatedCost.max }
}

const isRefused = (made: Compiled | Refused): made is Refused => "issues" in made
