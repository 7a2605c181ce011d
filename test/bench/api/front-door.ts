import { join } from "node:path"
import { openClusterPki } from "../../../pkg/pki/cluster-pki.ts"
import { startServer, type TestServer } from "../../harness/server.ts"
import { openConnections, type Client, type Sent } from "../compare/connections.ts"
import { cpuClock } from "../compare/cpu-time.ts"
import { CONFIG_MAP, POD } from "./bodies.ts"
import type { Benchmark, Figure } from "../figure.ts"
import { startBareTls } from "../limits.ts"

const CONNECTIONS = 16
const ROUNDS = 36
/** Of so many rounds the figures are the mean: of those in which other work disturbed the bare server least. */
const QUIET_ROUNDS = 12
/** A server runs its code slowly, and its compiler beside it, until it has seen so many requests of a kind. */
const WARM_UP_REQUESTS = 25_000
const NAMESPACE = "/api/v1/namespaces/default"
const ONE = `${NAMESPACE}/configmaps/one`
const AUTHORIZATION = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"

/** One kind of request from one kind of client. */
interface Row {
  readonly name: string
  readonly request: Sent
  readonly client: Client
  /** How many requests a round has: about a twentieth of a second of the server's processor time. */
  readonly slice: number
  /** The part of the rate of another row that is the goal. */
  readonly goal?: { readonly part: number; readonly of: string }
}

/** What the requests of a round took. */
interface Taken {
  /** Microseconds of the wall clock, of each request. */
  readonly wall: number
  /** Microseconds of processor time of the server, all its threads together, of each request. */
  readonly cpu: number
}

const BARE = "a bare TLS server"
const GET = "GET by the administrator's token"

/**
 * What a request costs beside a bare TLS server of the same runtime, whoever sends it. All servers run at once, and
 * each row does a little of its work in turn, so what else the machine does meets all of them. Processor time is the
 * figure to trust while the machine is shared.
 */
export const frontDoor: Benchmark = {
  name: "front-door",
  async *run() {
    await using server = await startServer()
    const bytes = await prepare(server)
    await using bare = await startBareTls(bytes)
    const rows = await rowsOf(server, bare.port)
    const rounds = await measure(rows, ({ name }) => (name === BARE ? bare : server).pid)
    const means = quietMeans(rounds)
    for (const row of rows) yield* figuresOf(row, means)
  },
}

async function rowsOf(server: TestServer, bare: number): Promise<readonly Row[]> {
  const { port, token } = server
  const get: Sent = { method: "GET", path: ONE }
  const everybody = { part: 0.85, of: GET }
  const admin = { port, token }
  const create = (plural: string, body: unknown): Sent => ({ method: "POST", path: `${NAMESPACE}/${plural}`, body })
  return [
    { name: BARE, request: { method: "GET", path: "/" }, client: { port: bare }, slice: 4000 },
    { name: GET, request: get, client: admin, slice: 2000, goal: { part: 0.55, of: BARE } },
    {
      name: "GET by a service account's token",
      request: get,
      client: { port, token: await accountToken(server) },
      slice: 2000,
      goal: everybody,
    },
    {
      name: "GET by a client certificate",
      request: get,
      client: { port, certificate: certificateOf(server) },
      slice: 2000,
      goal: everybody,
    },
    ...["/healthz", "/readyz"].map((path) => ({
      name: `${path} without credentials`,
      request: { method: "GET" as const, path },
      client: { port },
      slice: 2000,
      goal: { part: 1, of: GET },
    })),
    {
      name: "ConfigMap create",
      request: create("configmaps", CONFIG_MAP),
      client: admin,
      slice: 500,
      goal: { part: 0.14, of: BARE },
    },
    { name: "Pod create", request: create("pods", POD), client: admin, slice: 250, goal: { part: 0.08, of: BARE } },
  ]
}

/** What a round took, by the name of the row. */
type Round = ReadonlyMap<string, Taken>

async function measure(rows: readonly Row[], pidOf: (row: Row) => number): Promise<readonly Round[]> {
  for (const row of rows) {
    const connections = await openConnections(row.client, CONNECTIONS)
    await connections.send(WARM_UP_REQUESTS, () => row.request)
    connections.close()
  }
  const work = await Promise.all(
    rows.map(async (row) => ({
      row,
      connections: await openConnections(row.client, CONNECTIONS),
      clock: cpuClock(pidOf(row)),
    })),
  )
  const rounds: Round[] = []
  while (rounds.length < ROUNDS) {
    const round = new Map<string, Taken>()
    for (const { row, connections, clock } of work) {
      clock()
      const began = performance.now()
      await connections.send(row.slice, () => row.request)
      const wall = ((performance.now() - began) * 1000) / row.slice
      round.set(row.name, { wall, cpu: clock() / row.slice })
    }
    rounds.push(round)
  }
  for (const { connections } of work) connections.close()
  return rounds
}

/** Returns the means of the rounds in which the bare server was disturbed least. */
function quietMeans(rounds: readonly Round[]): Round {
  const quiet = rounds.toSorted((a, b) => a.get(BARE)!.cpu - b.get(BARE)!.cpu).slice(0, QUIET_ROUNDS)
  const mean = (name: string, of: "wall" | "cpu"): number =>
    quiet.reduce((sum, round) => sum + round.get(name)![of], 0) / quiet.length
  return new Map(Array.from(rounds[0]!.keys(), (name) => [name, { wall: mean(name, "wall"), cpu: mean(name, "cpu") }]))
}

function* figuresOf({ name, goal }: Row, means: Round): Iterable<Figure> {
  const cpu = (of: string) => means.get(of)!.cpu
  const rate = (of: string) => 1e6 / means.get(of)!.wall
  const what = `${BARE}, in the same run`
  yield {
    name: `${name}, processor time`,
    unit: "µs",
    value: cpu(name),
    better: "less",
    ...(goal && { goal: cpu(goal.of) / goal.part }),
    ...(name !== BARE && { limit: { what, value: cpu(BARE) } }),
  }
  yield {
    name,
    unit: "/s",
    value: rate(name),
    better: "more",
    ...(goal && { goal: rate(goal.of) * goal.part }),
    ...(name !== BARE && { limit: { what, value: rate(BARE) } }),
  }
}

/** Makes what the rows ask for, and returns the bytes of the object that is read. */
async function prepare(server: TestServer): Promise<number> {
  // Pods can be made when the controllers have made the namespace's account.
  while ((await server.get(`${NAMESPACE}/serviceaccounts/default`)).status !== 200) await Bun.sleep(20)
  await created(server, `${NAMESPACE}/configmaps`, { ...CONFIG_MAP, metadata: { name: "one" } })
  for (const subject of [
    { kind: "ServiceAccount", name: "default", namespace: "default" },
    { kind: "User", name: CERTIFIED, apiGroup: "rbac.authorization.k8s.io" },
  ])
    await created(server, AUTHORIZATION, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: `bench-${subject.kind.toLowerCase()}` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [subject],
    })
  return (await server.get(ONE)).body.length
}

async function accountToken(server: TestServer): Promise<string> {
  const body = await created(server, `${NAMESPACE}/serviceaccounts/default/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 3600 },
  })
  return (JSON.parse(body.toString()) as { readonly status: { readonly token: string } }).status.token
}

/** The user of the client certificate: no administrator, who passes authorization without any rule. */
const CERTIFIED = "bench"

function certificateOf({ dataDir }: TestServer): NonNullable<Client["certificate"]> {
  const { certPem: cert, keyPem: key } = openClusterPki({
    dir: join(dataDir, "server/tls"),
    now: () => Date.now(),
  }).issue({
    name: `client-${CERTIFIED}`,
    authority: "client-ca",
    subject: { commonName: CERTIFIED, organizations: ["benches"] },
  })
  return { cert, key }
}

async function created(server: TestServer, path: string, body: unknown): Promise<Buffer> {
  const answer = await server.send("POST", path, body)
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${answer.body.toString()}`)
  return answer.body
}
