import { tryMend } from "../../../components/cluster/testing/forecast/trial.ts"
import { readObjects } from "../../../components/cluster/testing/snapshot.ts"
import type { Cluster } from "../../../components/cluster/testing/testing.ts"
import type { Answer } from "../../../pkg/why/answer.ts"
import type { Overview } from "../../../pkg/why/cluster.ts"
import { between, pick } from "../../hunt/chance.ts"
import { ask } from "../situation.fixtures.ts"
import { FAULTS } from "./faults.ts"
import { startHealthy } from "./healthy.ts"

/** What came of one seed. */
export interface Outcome {
  readonly seed: number
  readonly fault: string
  /** Whether the right cause came first. */
  readonly right: boolean
  /** Causes that are wrong, and of which the answer was sure. */
  readonly wrong: readonly string[]
  /** How many mends were tried, and which of them do not do what is said of them. */
  readonly mends: number
  readonly useless: readonly string[]
}

export interface HuntOptions {
  /** Whether each mend of the first cause is tried in a copy, and one of them is made. */
  readonly mends?: boolean
}

/** The longest time between fault and question, in minutes. */
const MOST_MINUTES = 12

/** How long a mend may take until all is well. */
const MENDS_WITHIN = "10m"

/** Breaks a cluster that is well in one way, and asks why: of the object that is broken, and of the whole cluster. */
export async function huntOne(seed: number, { mends: tries = false }: HuntOptions = {}): Promise<Outcome> {
  const { cluster, apps, random } = await startHealthy(seed)
  try {
    const before = await cluster.kubectl("why")
    if (before.code !== 0) return { seed, fault: "none", right: false, wrong: [before.stdout], mends: 0, useless: [] }
    const fault = pick(random, FAULTS)
    const { expected, ask: about } = await fault.apply(cluster, pick(random, apps), random)
    await cluster.advance(`${between(random, 2, MOST_MINUTES)}m`)
    const { answer } = await ask(cluster, about)
    const { groups } = JSON.parse((await cluster.kubectl("why -o json")).stdout) as Overview
    const [first] = answer.findings
    const wrong = [...(first === undefined ? [] : [first]), ...groups]
      .filter(({ cause }) => cause.sure && !expected.includes(cause.code))
      .map(({ cause }) => `${cause.code}: ${cause.message}`)
    const right = first !== undefined && expected.includes(first.cause.code)
    const mends = (tries ? first?.mends : undefined)?.map(({ command }) => command) ?? []
    const made = mends.length === 0 ? undefined : pick(random, mends)
    return {
      seed,
      fault: fault.name,
      right,
      wrong: right ? wrong : [...wrong, `said ${first?.cause.code ?? "nothing"}`],
      mends: mends.length,
      useless: made === undefined ? [] : await uselessOf(cluster, about, answer, mends, made),
    }
  } finally {
    await cluster.stop()
  }
}

/** Returns which mends do not help in a copy, or do not in truth what they do there. `made` is made in the end. */
async function uselessOf(
  cluster: Cluster,
  about: string,
  answer: Answer,
  mends: readonly string[],
  made: string,
): Promise<readonly string[]> {
  const content = await readObjects(await cluster.snapshot())
  const useless: string[] = []
  for (const command of mends) {
    const { verdict, says } = await tryMend(content, { answer, flags: [] }, command)
    if (verdict === "does-not-help") useless.push(`${command}: in a copy ${says}`)
  }
  for (const one of made.split(" && ")) {
    const { code, stderr } = await cluster.kubectl(one.replace(/^kubectl /, ""))
    if (code !== 0) useless.push(`${one}: fails: ${stderr}`)
  }
  await cluster.advance(MENDS_WITHIN)
  const after = await ask(cluster, about)
  const [left] = after.answer.findings
  if (after.code !== 0)
    useless.push(`${made}: in truth it is still ${left?.cause.code ?? "not well"}: ${left?.cause.message ?? ""}`)
  return useless
}
