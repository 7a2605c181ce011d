import type { Program, Step } from "./program.ts"

/** Returns the type of a problem: the invariant or the error, without names and numbers. */
export const kindOf = (problem: string): string =>
  problem
    .split("\n")[0]!
    .replace(/^([a-z][^:]*):.*$/i, "$1")
    .replace(/[a-z0-9]+(-[a-z0-9]+)+/g, "…")
    .replace(/\d+/g, "#")
    .slice(0, 80)

export interface Shrunk {
  readonly program: Program
  readonly problems: readonly string[]
}

/**
 * Leaves out of a failing program what the failure does not need: steps, then nodes, then parts of steps. The shorter
 * one fails in the same way. Ends after `seconds` at the latest, with what it has by then.
 */
export async function shrink(
  failing: Shrunk,
  {
    seconds,
    now,
    run,
  }: {
    readonly seconds: number
    readonly now: () => number
    readonly run: (program: Program) => Promise<readonly string[]>
  },
): Promise<Shrunk> {
  const wanted = kindOf(failing.problems[0] ?? "")
  const until = now() + seconds * 1000
  let best = failing
  const better = async (program: Program): Promise<boolean> => {
    if (now() > until) return false
    const problems = await run(program)
    const same = problems.filter((problem) => kindOf(problem) === wanted)
    if (same.length === 0) return false
    best = { program, problems: [...same, ...problems.filter((problem) => !same.includes(problem))] }
    return true
  }
  for (let before = -1; before !== size(best.program) && now() < until;) {
    before = size(best.program)
    for (let part = Math.ceil(best.program.steps.length / 2); part >= 1; part = part === 1 ? 0 : Math.ceil(part / 2))
      for (let at = 0; at < best.program.steps.length;)
        if (!(await better({ ...best.program, steps: best.program.steps.toSpliced(at, part) }))) at += part
    while (
      best.program.nodes.length > 1 &&
      (await better({ ...best.program, nodes: best.program.nodes.slice(0, -1) }))
    );
    for (let at = 0; at < best.program.steps.length; at++)
      for (const simpler of simplified(best.program.steps[at]!))
        await better({ ...best.program, steps: best.program.steps.with(at, simpler) })
  }
  return best
}

const size = (program: Program): number => JSON.stringify(program).length

/** Returns copies of the step, each without one of its most deeply nested fields. */
function simplified(step: Step): readonly Step[] {
  const simpler: Step[] = []
  if (step.do === "apply") for (const object of withoutOne(step.object, 0)) simpler.push({ ...step, object })
  if (step.do === "fault" && step.fault.is === "requests") {
    const { times: _times, ...always } = step.fault
    if (step.fault.times !== undefined) simpler.push({ ...step, fault: always })
  }
  return simpler
}

/** Returns copies of a value that each lack one field; fields in `NEEDED` stay. */
function withoutOne<T>(value: T, depth: number): readonly T[] {
  if (typeof value !== "object" || value === null || Array.isArray(value) || depth > 6) return []
  const copies: T[] = []
  for (const [key, inner] of Object.entries(value)) {
    if (!NEEDED.has(key)) {
      const { [key]: _left, ...rest } = value as Record<string, unknown>
      copies.push(rest as T)
    }
    for (const copy of withoutOne(inner, depth + 1)) copies.push({ ...value, [key]: copy })
  }
  return copies
}
const NEEDED = new Set([
  "apiVersion",
  "kind",
  "metadata",
  "name",
  "spec",
  "selector",
  "template",
  "containers",
  "image",
])

/** Returns the source of a test that repeats the failure, to paste into found.test.ts. */
export function asTest({ program, problems }: Shrunk): string {
  const steps = program.steps.map((step) => `      ${JSON.stringify(step)},`).join("\n")
  return [
    `  // ${(problems[0] ?? "").split("\n")[0]!.slice(0, 200)}`,
    `  test("seed ${program.seed}", async () => {`,
    `    const problems = await run({`,
    `      seed: ${program.seed},`,
    `      nodes: ${JSON.stringify(program.nodes)},`,
    ...(program.servers === undefined ? [] : [`      servers: ${program.servers},`]),
    `      steps: [`,
    steps.replaceAll(/^ {6}/gm, "        "),
    `      ],`,
    `    })`,
    `    expect(problems).toEqual([])`,
    `  })`,
  ].join("\n")
}
