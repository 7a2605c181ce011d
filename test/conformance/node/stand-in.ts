/**
 * Stand-ins for conformance entries that need real containers. Those of one file share a server with a node,
 * and each has its own namespace. They run concurrently, because most of their time is waiting.
 */
import { afterAll, beforeAll, test } from "bun:test"
import { readFileSync } from "node:fs"
import { describeOnNode } from "../../harness/cluster.ts"
import { startServer } from "../../harness/server.ts"
import { ConformanceCluster } from "../cluster.ts"
import { condition } from "../workloads/workload-cluster.ts"
import { TestNamespace } from "./namespace.ts"

/** The time limit for one change: on a busy machine it may unpack an image, start a container and wait for probes. */
const PATIENCE_MS = 90_000
/** The time limit for one stand-in, including the time that it waits for its turn. */
const LIMIT_MS = 900_000

/** Defines a stand-in. Its title is the name of the entry, without the labels in brackets. */
export type StandIn = (title: string, body: (ns: TestNamespace) => Promise<void>) => void

/**
 * Describes stand-ins that share a server. Those defined with `standIn` run concurrently, at most `width` at a time.
 * Those defined with `alone` run one after the other: they change the node, or depend on all of its pods.
 */
export function describeStandIns(
  title: string,
  body: (standIn: StandIn, alone: StandIn, cluster: () => ConformanceCluster) => void,
  { flags = [], width = 8 }: { readonly flags?: readonly string[]; readonly width?: number } = {},
): void {
  describeOnNode(title, () => {
    let cluster: ConformanceCluster
    let number = 0
    beforeAll(async () => void (cluster = await startNodeCluster(flags)), 60_000)
    afterAll(async () => cluster?.stop(), 60_000)
    const turns = new Turns(width)
    const inNamespace = (standIn: (ns: TestNamespace) => Promise<void>) => async (): Promise<void> => {
      const ns = await TestNamespace.make(cluster, `${title.replaceAll(/[^a-z0-9]+/gi, "-").toLowerCase()}-${number++}`)
      await standIn(ns)
      await cluster.delete(`/api/v1/namespaces/${ns.name}`)
    }
    const inTurn = (standIn: () => Promise<void>) => (): Promise<void> => turns.take(standIn)
    body(
      (name, standIn) => test.concurrent(name, inTurn(inNamespace(standIn)), LIMIT_MS),
      (name, standIn) => test(name, inNamespace(standIn), LIMIT_MS),
      () => cluster,
    )
  })
}

/** Runs at most `width` tasks at once; the rest wait in order. */
class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(width: number) {
    this.#free = width
  }

  async take<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}

async function startNodeCluster(flags: readonly string[]): Promise<ConformanceCluster> {
  const server = await startServer({ agent: true, flags })
  const { port, token } = server
  const kubeconfig = readFileSync(server.kubeconfig, "utf8")
  const url = `https://127.0.0.1:${port}`
  const cluster = new ConformanceCluster(
    { stop: async () => server[Symbol.asyncDispose](), patienceMs: PATIENCE_MS },
    { url, port, token, kubeconfig },
  )
  await cluster.untilList("/api/v1/nodes", (nodes) => nodes.some((node) => condition(node, "Ready")?.status === "True"))
  return cluster
}
