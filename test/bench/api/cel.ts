import { compile } from "../../../pkg/cel/compile.ts"
import type { Program } from "../../../pkg/cel/program.ts"
import { typeOfSchema, type Schema } from "../../../pkg/cel/schema-type.ts"
import type { Benchmark } from "../figure.ts"

const schema: Schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        replicas: { type: "integer" },
        name: { type: "string", maxLength: 63 },
        tags: { type: "array", maxItems: 20, items: { type: "string", maxLength: 63 } },
      },
    },
  },
}
const self = { spec: { replicas: 3, name: "example", tags: ["a", "b", "c", "d", "e"] } }

/** Expressions as definitions of custom resources have them. */
const RULES = [
  { name: "CEL: a simple comparison", rule: "self.spec.replicas <= 10", goal: 500_000 },
  { name: "CEL: a pattern", rule: "self.spec.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')" },
  { name: "CEL: a macro over five items", rule: "self.spec.tags.all(t, t.size() <= 63 && t != '')" },
]

/** Evaluations in a second of the processor, after the engine has compiled the path. */
function rate(program: Program): number {
  const run = (count: number) => {
    for (let i = 0; i < count; i++) program.evaluate({ self })
  }
  run(200_000)
  const began = process.cpuUsage()
  run(1_000_000)
  const { user, system } = process.cpuUsage(began)
  return 1e12 / (user + system)
}

/** How fast expressions are evaluated; they are compiled once. */
export const cel: Benchmark = {
  name: "cel",
  async *run() {
    for (const { name, rule, goal } of RULES) {
      const compiled = compile(rule, { variables: { self: typeOfSchema(schema)! } })
      if ("issues" in compiled) throw new Error(compiled.issues[0]!.message)
      yield { name, unit: "/s", value: rate(compiled.program), better: "more", ...(goal !== undefined && { goal }) }
    }
  },
}
