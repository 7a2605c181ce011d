import { hostname } from "node:os"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { changesBetween } from "../../../pkg/history/changes.ts"
import { connect } from "../../../pkg/operator/connect.ts"
import { runOperator } from "../../../pkg/operator/run-operator.ts"
import { sharing } from "../../examples/config-sharing.ts"
import { AT_REST } from "../invariants.ts"
import type { Program } from "../program.ts"
import { neverHappened } from "../record.ts"
import { PRELOAD } from "../objects/preload.ts"
import { nameOf, worldOf, type RunningContainer, type World, type WorldReader } from "../world.ts"
import { flakyProxy } from "./flaky-proxy.ts"
import { HuntedServer } from "./hunted-server.ts"
import { ServerPlayer, SHARED, untilAnswered } from "./player.ts"
import { Recorder } from "./recorder.ts"
import { translate } from "./translate.ts"

/** How long a server may take to come to rest when all faults are over, and how long it is watched then. */
const SETTLED_MS = 150_000
const REST_MS = 20_000
/** Pods that fit nowhere are tried again within ten seconds of the last event that could have helped them. */
const BACKED_OFF_MS = 12_000
const LOOK_MS = 1000
const MOST_MEGABYTES = 600

export interface ServerVerdict {
  /** The problems, one line each. */
  readonly problems: readonly string[]
  readonly faults: number
}

/** Runs a program on a real server with the simulated runtime, beside an operator that comes by a flaky connection. */
export async function runOnServer(program: Program): Promise<ServerVerdict> {
  const node = hostname().toLowerCase()
  const problems: string[] = []
  await using server = await HuntedServer.start()
  using proxy = await flakyProxy(server.port)
  const recorder = new Recorder(server.client)
  const player = new ServerPlayer(server, proxy)
  await untilAnswered(() => player.apply(...PRELOAD))
  await recorder.start()
  using connection = connect({ kubeconfig: { server: proxy.url, token: server.token }, userAgent: "config-sharing/1" })
  const ending = new AbortController()
  const operator = runOperator(connection, [sharing], { signal: ending.signal })
  try {
    for (const step of translate(program, node)) await player.play(step)
    await player.mend()
    const reader = readerOf(server, node)
    problems.push(...(await wrongAfter(reader, SETTLED_MS)), ...neverHappened(recorder.entries()), ...recorder.problems)
    // If pods wait for room, a pod that ends makes room for the next one, so the cluster comes to rest later.
    for (let tries = 3; problems.length === 0; tries--) {
      const writes = await restlessIn(reader)
      if (writes.length === 0) break
      if (tries === 1) problems.push(...writes)
      else problems.push(...(await wrongAfter(reader, SETTLED_MS)))
    }
    if (server.residentMb > MOST_MEGABYTES) problems.push(`the server takes ${Math.round(server.residentMb)} MB`)
  } catch (err) {
    problems.push(`the run threw: ${err instanceof Error ? err.stack : String(err)}\n${server.output().slice(-2000)}`)
  } finally {
    recorder.stop()
    ending.abort()
    await operator
  }
  return { problems, faults: player.faults }
}

/** Reads the objects in the API, and the pods that the kubelet reports as running. */
const readerOf = ({ client, port, token }: HuntedServer, node: string): WorldReader => ({
  list: (resource) => untilAnswered(async () => (await client.list(resource)).items),
  async containers() {
    const answer = await fetch(`https://127.0.0.1:${port}/api/v1/nodes/${node}/proxy/runningpods/`, {
      headers: { authorization: `Bearer ${token}` },
      tls: { rejectUnauthorized: false },
    })
    // The Node may have been deleted, or the server may be starting.
    if (!answer.ok) return []
    const { items } = (await answer.json()) as {
      readonly items: readonly {
        readonly metadata: { readonly namespace: string; readonly name: string; readonly uid: string }
        readonly spec: { readonly containers: readonly { readonly name: string }[] }
      }[]
    }
    return items.flatMap(({ metadata: { namespace, name: pod, uid }, spec }): readonly RunningContainer[] =>
      spec.containers.map(({ name }) => ({ node, namespace, pod, uid, name })),
    )
  },
})

/** Waits until all invariants hold. Gives what is still wrong at the end. */
async function wrongAfter(reader: WorldReader, ms: number): Promise<readonly string[]> {
  const until = performance.now() + ms
  for (;;) {
    const world = await worldOf(reader)
    const wrong = Object.entries({ ...AT_REST, "maps are shared": shared, "the node is there": there }).flatMap(
      ([name, invariant]) => invariant(world).map((problem) => `${name}: ${problem}`),
    )
    if (wrong.length === 0 || performance.now() > until) return wrong
    await Bun.sleep(LOOK_MS)
  }
}

const there = ({ nodes }: World): readonly string[] => (nodes.length === 1 ? [] : [`there are ${nodes.length} nodes`])

/** Checks the work of the external operator: a copy in each namespace, and none without its original. */
function shared({ maps, namespaces }: World): readonly string[] {
  const [origin, label] = ["example.com/copied-from", Object.entries(SHARED)[0]!]
  const originals = maps.filter(({ metadata }) => metadata.labels?.[label[0]] === label[1])
  const copies = maps.filter(({ metadata }) => metadata.annotations?.[origin] !== undefined)
  const keyOf = ({ metadata }: KubeObject) => `${metadata.namespace}/${metadata.name}`
  return [
    ...originals.flatMap((original) =>
      namespaces
        .filter(({ metadata }) => metadata.name !== original.metadata.namespace)
        .filter(({ metadata: { name } }) => !copies.some((copy) => keyOf(copy) === `${name}/${original.metadata.name}`))
        .map(({ metadata: { name } }) => `${nameOf(original)} is not in ${name}`),
    ),
    ...copies
      .filter((copy) => !originals.some((original) => keyOf(original) === copy.metadata.annotations![origin]))
      .map((copy) => `${nameOf(copy)} is a copy of what is gone`),
  ]
}

/** The writes while nothing happens, except for leases and the node's heartbeats. */
async function restlessIn(reader: WorldReader): Promise<readonly string[]> {
  await Bun.sleep(BACKED_OFF_MS)
  const before = byUid(await worldOf(reader))
  await Bun.sleep(REST_MS)
  const after = byUid(await worldOf(reader))
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((uid) => {
    const [was, is] = [before.get(uid), after.get(uid)]
    if (was?.metadata.resourceVersion === is?.metadata.resourceVersion) return []
    const changes = changesBetween(was, is).slice(0, 5)
    return [`${nameOf((is ?? was)!)} was written though all was at rest: ${changes.map(String).join("; ")}`]
  })
}

function byUid({ nodes: _nodes, leases: _leases, containers: _containers, ...kinds }: World): Map<string, KubeObject> {
  const objects: readonly KubeObject[] = Object.values(kinds).flat()
  return new Map(objects.map((object) => [object.metadata.uid ?? "", object]))
}
