import { expansionOf } from "../../re2/limits.ts"
import { KUBERNETES_COSTS } from "./runtime-kubernetes.ts"
import { LIBRARY_COSTS } from "./runtime-libraries.ts"
import { matchingCost, sizeForCost, TEXT, type CallCost } from "./sizes.ts"

const first: CallCost = ([text]) => Math.ceil(sizeForCost(text!) * TEXT)
const shorter: CallCost = ([a, b]) => Math.ceil(Math.min(sizeForCost(a!), sizeForCost(b!)) * TEXT)
const both: CallCost = ([a, b]) => Math.ceil((sizeForCost(a!) + sizeForCost(b!)) * TEXT)

const TRAVERSALS =
  "starts_with_string ends_with_string string_to_bytes bytes_to_string strings_quote string_format".split(" ")

/** Costs of overloads, by cel-go's names; all others cost 1. Source: cel-go interpreter/runtimecost.go costCall. */
const COSTS: ReadonlyMap<string, CallCost> = new Map<string, CallCost>([
  ...TRAVERSALS.map((id) => [id, first] as const),
  ["in_list", ([, list]) => sizeForCost(list!)],
  ...["less", "greater", "less_equals", "greater_equals"].flatMap((name) => [
    [`${name}_string`, shorter] as const,
    [`${name}_bytes`, shorter] as const,
  ]),
  ["add_string", both],
  ["add_bytes", both],
  ["matches_string", ([text, pattern]) => matchingCost(text!, sizeForCost(pattern!))],
  ["contains_string", ([text, part]) => Math.ceil(sizeForCost(text!) * TEXT) * Math.ceil(sizeForCost(part!) * TEXT)],
])

/** Returns the cost of a call; `overload` is empty when it is known only at run time. */
export const callCost = (name: string, overload: string): CallCost =>
  LIBRARY_COSTS.get(overload) ?? KUBERNETES_COSTS(name, overload) ?? COSTS.get(overload) ?? 1

/** What compiling a pattern costs for each instruction that its repetitions add. */
const INSTRUCTION = 4

/**
 * Adds what the repetitions of a pattern cost that is known only at run time. Differs from upstream, which compiles any
 * number of such patterns for the price of their texts.
 */
export const withCompiling =
  (cost: CallCost): CallCost =>
  (args, result) => {
    const [, pattern] = args
    const expansion = typeof pattern === "string" && /[{\\]/.test(pattern) ? expansionOf(pattern) : 0
    return (typeof cost === "number" ? cost : cost(args, result)) + INSTRUCTION * expansion
  }
