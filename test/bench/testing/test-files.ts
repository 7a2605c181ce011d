import { BUN, packArchive, Project } from "../../package/project.ts"
import { cpuMs } from "../figure.ts"

/**
 * Runs of a file, whose mean counts: processor time is told in hundredths of a second, of which an empty file needs
 * about one.
 */
const runsOf = (tests: number, isEmpty: boolean) => (isEmpty ? 20 : tests === 1 ? 5 : 1)
/** Milliseconds. */
const MOST_TIME = 600_000

/** A test as a project has it: a cluster of three nodes, in which a Deployment becomes ready. */
const WITH_CLUSTER = `
const web = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web" }] } },
  },
}
async function check(seed) {
  await using cluster = await startCluster({ nodes: 3, seed })
  await cluster.apply(web)
  await cluster.eventually(Deployment, {}, ([found]) => found?.status.readyReplicas === 3)
  expect((await cluster.get(Deployment, "web")).status.availableReplicas).toBe(3)
}
`

const fileOf = (tests: number, isEmpty: boolean): string =>
  [
    'import { expect, test } from "bun:test"',
    isEmpty ? "const check = async () => {}" : `import { Deployment, startCluster } from "k3ts/testing"${WITH_CLUSTER}`,
    `for (let seed = 0; seed < ${tests}; seed++) test("a Deployment becomes ready, " + seed, () => check(seed))`,
  ].join("\n")

/** Processor time of `bun test` with a file of tests, in seconds. */
export interface FileCost {
  readonly tests: number
  readonly seconds: number
  /** With as many empty tests. */
  readonly empty: number
}

/** Measures files of so many tests each, in a project that has the package. */
export function testFiles(counts: readonly number[]): readonly FileCost[] {
  using project = new Project([packArchive()])
  const seconds = (tests: number, isEmpty: boolean) => {
    project.write("many.test.mjs", fileOf(tests, isEmpty))
    const runs = runsOf(tests, isEmpty)
    const before = cpuMs()
    for (let i = 0; i < runs; i++) {
      const { status, output } = project.run(BUN, ["test", "--timeout", "60000", "./many.test.mjs"], {}, MOST_TIME)
      if (status !== 0) throw new Error(`the file of ${tests} tests failed: ${output}`)
    }
    return (cpuMs() - before) / 1000 / runs
  }
  return counts.map((tests) => ({ tests, seconds: seconds(tests, false), empty: seconds(tests, true) }))
}
