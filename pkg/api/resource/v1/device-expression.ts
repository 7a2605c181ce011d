import { Buffer } from "node:buffer"
import type { Cause } from "../../../apimachinery/errors.ts"
import { forbiddenField, internalFault, invalidValue, tooLong } from "../../../apimachinery/validation/field-errors.ts"
import { compile } from "../../../cel/compile.ts"
import type { CompileOptions, Program } from "../../../cel/program.ts"
import { formatIssues } from "../../../cel/syntax/issue.ts"
import { BOOL, DYN, formatType, mapOf, objectOf, QUANTITY, sameType, STRING, type CelType } from "../../../cel/type.ts"

/** The fields of a device that expressions can read. Source: dynamic-resource-allocation cel/compile.go. */

const LONGEST_EXPRESSION = 10 * 1024
const MOST_COST = 1_000_000
const MOST_NAMES = 32
const DOMAIN: CelType = { ...STRING, maxElements: 63 }
const ID: CelType = { ...STRING, maxElements: 32 }
const ATTRIBUTE: CelType = { ...DYN, maxElements: 64 }
const DEVICE = objectOf("kubernetes.DRADevice", {
  driver: DOMAIN,
  allowMultipleAllocations: { ...BOOL, maxElements: 1 },
  attributes: mapOf(DOMAIN, mapOf(ID, ATTRIBUTE, MOST_NAMES), MOST_NAMES),
  capacity: mapOf(DOMAIN, mapOf(ID, QUANTITY, MOST_NAMES), MOST_NAMES),
})

const OPTIONS: CompileOptions = { variables: { device: DEVICE }, bindings: true, sizedBy: "device" }

/** Returns the faults of a selector's expression: its result must be a boolean, and its cost must be low. */
export function deviceExpressionFaults(field: string, expression: string): readonly Cause[] {
  if (Buffer.byteLength(expression) > LONGEST_EXPRESSION) return [tooLong(field, LONGEST_EXPRESSION)]
  const compiled = compile(expression, OPTIONS)
  if ("stage" in compiled)
    return compiled.stage === "compilation"
      ? [invalidValue(field, expression, `compilation failed: ${formatIssues(compiled.issues, expression)}`)]
      : [internalFault(field, `program instantiation failed: ${compiled.issues[0]?.message ?? ""}`)]
  const { resultType, estimatedCost } = compiled
  if (!sameType(resultType, BOOL) && resultType.kind !== "dyn")
    return [invalidValue(field, expression, `must evaluate to bool or the unknown type, not ${formatType(resultType)}`)]
  return estimatedCost.max > MOST_COST ? [forbiddenField(field, "too complex, exceeds cost limit")] : []
}

/** Returns the compiled expression, which can be evaluated for devices, or the message about its fault. */
export function compileDeviceExpression(expression: string): Program | string {
  const compiled = compile(expression, OPTIONS)
  return "stage" in compiled ? `compilation failed: ${formatIssues(compiled.issues, expression)}` : compiled.program
}
