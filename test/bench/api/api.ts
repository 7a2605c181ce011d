import type { Benchmark, Figure } from "../figure.ts"
import { CONFIG_MAP, POD } from "./bodies.ts"
import { bareTls, rawSqlite } from "../limits.ts"
import { load, type Load } from "../load.ts"
import { startServer, type TestServer } from "../../harness/server.ts"

const CONNECTIONS = 16

/** Reads, writes, lists and watches of the API, and the memory that objects take. */
export const api: Benchmark = {
  name: "api",
  async *run() {
    yield* reads()
    yield* creates()
    yield* manyPods()
  },
}

async function* reads(): AsyncIterable<Figure> {
  const { perSecond, bytes } = await reading()
  yield {
    name: "GET of one object, 16 connections",
    unit: "/s",
    value: perSecond,
    goal: 20_000,
    better: "more",
    limit: { what: "a bare TLS server, same bytes", value: await bareTls(bytes, CONNECTIONS) },
  }
  const without = await reading("--enable-priority-and-fairness=false")
  yield {
    name: "the same without priority and fairness",
    unit: "/s",
    value: without.perSecond,
    better: "more",
    limit: { what: "with it", value: perSecond },
  }
}

async function reading(...flags: readonly string[]): Promise<{ readonly perSecond: number; readonly bytes: number }> {
  await using server = await startServer({ flags })
  await created(server, "/api/v1/namespaces/default/configmaps", { ...CONFIG_MAP, metadata: { name: "one" } })
  const path = "/api/v1/namespaces/default/configmaps/one"
  const { body } = await server.get(path)
  const { perSecond } = await load({
    url: `https://127.0.0.1:${server.port}${path}`,
    token: server.token,
    connections: CONNECTIONS,
    seconds: 5,
  })
  return { perSecond, bytes: body.length }
}

async function* creates(): AsyncIterable<Figure> {
  // As many rows share a commit as there are connections.
  const limit = { what: `SQLite, synchronous=FULL, ${CONNECTIONS} rows a commit`, value: rawSqlite(1000, CONNECTIONS) }
  const configMaps = await creating("configmaps", CONFIG_MAP)
  yield {
    name: "durable ConfigMap create, 16 connections",
    unit: "/s",
    value: configMaps.perSecond,
    goal: 8000,
    better: "more",
    limit,
  }
  yield { name: "durable ConfigMap create, p99", unit: "ms", value: configMaps.p99ms, better: "less" }
  const pods = await creating("pods", POD)
  yield { name: "Pod create, 16 connections", unit: "/s", value: pods.perSecond, goal: 5000, better: "more", limit }
  yield* withoutHistory("ConfigMap", await creating("configmaps", CONFIG_MAP, "--history-age=0"), configMaps)
  yield* withoutHistory("Pod", await creating("pods", POD, "--history-age=0"), pods)
}

/** What keeping earlier states costs a create, which leaves none: the same rate is expected. */
function* withoutHistory(kind: string, { perSecond }: Load, withHistory: Load): Iterable<Figure> {
  yield {
    name: `${kind} create with the history off`,
    unit: "/s",
    value: perSecond,
    better: "more",
    limit: { what: "with it", value: withHistory.perSecond },
  }
}

/**
 * Each kind on a server of its own: the hundred thousand objects that one figure leaves behind are not the next one's
 * load.
 */
async function creating(plural: string, body: unknown, ...flags: readonly string[]): Promise<Load> {
  await using server = await startServer({ flags })
  return await load({
    url: `https://127.0.0.1:${server.port}/api/v1/namespaces/default/${plural}`,
    token: server.token,
    connections: CONNECTIONS,
    seconds: 5,
    body,
  })
}

async function* manyPods(): AsyncIterable<Figure> {
  await using server = await startServer()
  await fill(server, 10_000)
  const path = "/api/v1/namespaces/default/pods"
  const list = await server.get(path)
  const { perSecond } = await load({
    url: `https://127.0.0.1:${server.port}${path}`,
    token: server.token,
    connections: 4,
    seconds: 5,
  })
  yield {
    name: `full LIST of 10,000 pods (${Math.round(list.body.length / 1e6)} MB)`,
    unit: "/s",
    value: perSecond,
    goal: 15,
    better: "more",
    limit: { what: "a bare TLS server, same bytes", value: await bareTls(list.body.length, 4) },
  }
  await fill(server, 10_000)
  await Bun.sleep(3000) // memory settles
  yield {
    name: "resident memory with 20,000 pods stored",
    unit: "MB",
    value: server.residentMb(),
    goal: 350,
    better: "less",
  }
}

async function fill(server: TestServer, count: number): Promise<void> {
  let left = count
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (left-- > 0) await created(server, "/api/v1/namespaces/default/pods", POD)
    }),
  )
}

async function created(server: TestServer, path: string, body: unknown): Promise<void> {
  const answer = await server.send("POST", path, body)
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${answer.body.toString()}`)
}
