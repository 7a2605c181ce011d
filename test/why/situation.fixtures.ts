import { expect } from "bun:test"
import {
  startCluster,
  type Cluster,
  type ClusterOptions,
  type Resource,
} from "../../components/cluster/testing/testing.ts"
import { tryMend } from "../../components/cluster/testing/forecast/trial.ts"
import { readObjects } from "../../components/cluster/testing/snapshot.ts"
import type { Answer, State, Trial } from "../../pkg/why/answer.ts"

/** Something that is broken in one way, and the one right answer. */
export interface Situation {
  /** A sentence of the table: `an image whose name has a typing error`. */
  readonly title: string
  readonly yaml: string
  /** What is asked about: `deployment/web`. */
  readonly ask: string
  readonly flags?: string
  /** The code of the cause that comes first. */
  readonly cause: string
  /** What its message says. */
  readonly says: RegExp
  /** Whether the answer is sure of the cause; not looked at by default. */
  readonly sure?: boolean
  /** Causes that are named besides. */
  readonly also?: readonly string[]
  /** How many mends are named; each is applied as it is printed, and makes it well. None by default. */
  readonly mends?: number
  readonly options?: ClusterOptions
  /** What a copy of the cluster tells of the mends: that each helps, by default. */
  readonly tried?: Trial["verdict"]
  /** Breaks what runs, after the objects were applied and time has passed. */
  readonly breaks?: (cluster: Cluster) => Promise<unknown>
  /** How long the cluster runs before it is asked. */
  readonly after?: string
  /** How long it needs to become well. */
  readonly mendsWithin?: string
  /** What is asked after the mend, where what is broken is not there any more. */
  readonly mended?: string
}

export type JsonAnswer = Answer & { readonly state: State }

/** Asks a cluster why, as a user does, and returns the exit code and the answer. */
export async function ask(
  cluster: Cluster,
  about: string,
  flags = "",
): Promise<{ readonly code: number; readonly answer: JsonAnswer; readonly stderr: string }> {
  const { code, stdout, stderr } = await cluster.kubectl(`why ${about} ${flags} -o json`)
  if (stdout === "") throw new Error(`kubectl why ${about} printed nothing: ${stderr}`)
  return { code, stderr, answer: JSON.parse(stdout) as JsonAnswer }
}

/** Starts a cluster in which a situation is. */
async function broken({ yaml, options, breaks, after = "3m" }: Situation): Promise<Cluster> {
  const cluster = await startCluster({ nodes: 2, seed: 1, ...options })
  if (yaml !== "") await cluster.apply(yaml)
  if (breaks !== undefined) {
    await cluster.advance("30s")
    await breaks(cluster)
  }
  await cluster.advance(after)
  return cluster
}

/** Checks that the right cause is named, and that each mend makes it well. */
export async function check(situation: Situation): Promise<void> {
  const { cause, says, sure, also = [], mends = 0 } = situation
  for (let which = 0; which < Math.max(1, mends); which++) {
    const cluster = await broken(situation)
    try {
      const { code, answer } = await ask(cluster, situation.ask, situation.flags)
      const [first] = answer.findings
      const found = { code: first?.cause.code, message: first?.cause.message ?? JSON.stringify(answer) }
      expect(found).toEqual({ code: cause, message: expect.stringMatching(says) })
      expect(answer.findings.map((one) => one.cause.code)).toEqual(expect.arrayContaining([...also]))
      if (sure !== undefined) expect(first?.cause.sure).toBe(sure)
      expect({ code, mends: first!.mends.map(({ command }) => command) }).toEqual({
        code: 1,
        mends: expect.any(Array),
      })
      expect(first!.mends.map(({ command }) => command)).toHaveLength(mends)
      if (mends === 0) continue
      const { command } = first!.mends[which]!
      const content = await readObjects(await cluster.snapshot())
      const trial = await tryMend(content, { answer, flags: words(situation.flags) }, command)
      await mendsIt(cluster, situation, command)
      expect({ command, ...trial }).toEqual({ command, verdict: situation.tried ?? "helps", says: expect.any(String) })
    } finally {
      await cluster.stop()
    }
  }
}

const words = (flags = ""): readonly string[] => flags.split(" ").filter((word) => word !== "")

async function mendsIt(
  cluster: Cluster,
  { ask: about, flags, mended = about, mendsWithin = "10m" }: Situation,
  command: string,
) {
  for (const one of command.split(" && ")) {
    const done = await cluster.kubectl(one.replace(/^kubectl /, ""))
    expect({ command: one, ...done }).toMatchObject({ command: one, code: 0 })
  }
  await cluster.advance(mendsWithin)
  const after = await ask(cluster, mended, flags)
  expect({ command, code: after.code, left: after.answer.findings.filter(({ weight }) => weight !== "note") }).toEqual({
    command,
    code: 0,
    left: [],
  })
}

/** A Deployment whose pods have this spec. */
export const deployment = (name: string, podSpec: string, more = ""): string => `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}}
spec:
  replicas: 1
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec: ${podSpec}
  ${more}
`

export const pod = (name: string, spec: string, metadata = ""): string => `
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}${metadata === "" ? "" : `, ${metadata}`}}
spec: ${spec}
`

/** Runs commands of kubectl, one after another. */
export const running =
  (...commands: readonly string[]) =>
  async (cluster: Cluster): Promise<void> => {
    for (const command of commands) await cluster.kubectl(command)
  }

/** Starts a program that lists a kind as the default service account of its namespace, and ends if it may not. */
export const asking = (kind: Resource) => (cluster: Cluster) => {
  const account = cluster.as("system:serviceaccount:default:default", ["system:serviceaccounts"])
  cluster.setImage("app:1", {
    async run(container) {
      try {
        await account.list(kind, kind.scope === "Namespaced" ? { namespace: "default" } : {})
      } catch (err) {
        container.log(`level=error msg=${JSON.stringify((err as Error).message)}`)
        return 1
      }
      await container.sleep(1e9)
      return 0
    },
  })
  return cluster.apply(deployment("web", `{containers: [{name: c, image: "app:1"}]}`))
}
