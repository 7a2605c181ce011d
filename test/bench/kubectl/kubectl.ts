import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EXECUTABLE, startServer, type TestServer } from "../../harness/server.ts"
import { median, type Benchmark, type Figure } from "../figure.ts"
import { costOf, type Cost } from "./cost.ts"
import { LARGE, MANY_PODS, objects, SOME_PODS, WEB } from "./manifests.ts"

/** The path of another kubectl to measure beside ours: upstream's of the same version. */
const OTHER = process.env["K3TS_BENCH_KUBECTL"]
const NAMESPACE = "applied"

interface Line {
  readonly name: string
  readonly args: readonly string[]
  /** How many times the other's processor time it may take. */
  readonly goal: number
  readonly runs: number
  /** Makes the cluster what it was before each run. */
  before?(server: TestServer): Promise<unknown>
}

/**
 * What command lines of `k3ts kubectl` take of the processor and of memory, beside the kubectl that K3TS_BENCH_KUBECTL
 * names, in turn on the same server. It is processor time, which other work on the machine changes less than time.
 */
export const kubectl: Benchmark = {
  name: "kubectl",
  async *run() {
    const root = mkdtempSync(join(tmpdir(), "k3ts-bench-kubectl-"))
    try {
      await using server = await startServer()
      for (const name of ["many", NAMESPACE]) await server.send("POST", "/api/v1/namespaces", { metadata: { name } })
      await server.send("POST", "/apis/apps/v1/namespaces/default/deployments", WEB)
      await server.send("POST", "/apis/apps/v1/namespaces/many/deployments", LARGE)
      await until(async () => (await count(server, "/api/v1/pods")) === SOME_PODS + MANY_PODS)
      const file = join(root, "objects.json")
      writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects(NAMESPACE) }))
      for (const line of lines(file)) yield* figures(line, await measured(line, server, root))
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  },
}

const lines = (file: string): readonly Line[] => [
  { name: "version --client", args: ["version", "--client"], goal: 1 / 2, runs: 15 },
  { name: "get of 20 pods", args: ["get", "pods"], goal: 2 / 3, runs: 15 },
  { name: "apply of 200 new objects", args: ["apply", "-f", file], goal: 1, runs: 5, before: withoutObjects },
  { name: "apply of 200 objects as they are", args: ["apply", "-f", file], goal: 1, runs: 3 },
  { name: "get -A -o yaml of 5,000 pods", args: ["get", "pods", "-A", "-o", "yaml"], goal: 1, runs: 3 },
]

interface Costs {
  readonly ours: Cost[]
  readonly others: Cost[]
}

async function measured(line: Line, server: TestServer, root: string): Promise<Costs> {
  const costs: Costs = { ours: [], others: [] }
  for (let run = -1; run < line.runs; run++)
    for (const side of OTHER === undefined ? (["ours"] as const) : (["ours", "others"] as const)) {
      await line.before?.(server)
      const program = side === "ours" ? [EXECUTABLE, "kubectl"] : [OTHER!]
      const cost = await costOf([...program, ...line.args], { HOME: join(root, side), KUBECONFIG: server.kubeconfig })
      if (run >= 0) costs[side].push(cost) // the first one fills the cache of what the server serves
    }
  return costs
}

function* figures({ name, goal }: Line, { ours, others }: Costs): Generator<Figure> {
  const figure = (of: (cost: Cost) => number, times: number) => {
    const other = median(others.map(of))
    const beside = OTHER === undefined ? {} : { goal: other * times, limit: { what: OTHER, value: other } }
    return { value: median(ours.map(of)), better: "less", ...beside } as const
  }
  yield { name: `kubectl ${name}, processor time`, unit: "ms", ...figure(({ cpuMs }) => cpuMs, goal) }
  yield { name: `kubectl ${name}, memory`, unit: "MB", ...figure(({ megabytes }) => megabytes, 1) }
}

async function withoutObjects(server: TestServer): Promise<void> {
  const lists = ["api/v1/namespaces/applied/configmaps", "apis/apps/v1/namespaces/applied/deployments"].map(
    (path) => `/${path}?labelSelector=applied`,
  )
  for (const list of lists) await server.send("DELETE", list, {})
  for (const list of lists) await until(async () => (await count(server, list)) === 0)
}

const count = async (server: TestServer, path: string): Promise<number> =>
  (JSON.parse((await server.get(path)).body.toString()) as { items: unknown[] }).items.length

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await Bun.sleep(200)
}
