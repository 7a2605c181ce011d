import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import { SelfSubjectReview } from "../../../pkg/api/authentication/v1/selfsubjectreview.ts"
import type { TokenRequest } from "../../../pkg/api/authentication/v1/tokenrequest.ts"
import { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Endpoints } from "../../../pkg/api/core/v1/service/endpoints.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { createHttpsTransport, type HttpsTransport } from "../../../pkg/client/https.ts"
import { loadKubeconfig, type ClientConfig } from "../../../pkg/client/kubeconfig.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import { hasEtcd, startEtcd, type TestEtcd } from "../../harness/etcd.ts"
import { until } from "../../harness/until.ts"
import { EXECUTABLE, startServer, type TestServer } from "../../harness/server.ts"

const TOKEN = "shared-by-servers"
const PLACES = [0, 1, 2]
const addressOf = (place: number) => `192.0.2.${place + 1}`

interface Member {
  readonly server: TestServer
  readonly client: Client
}

let etcd: TestEtcd
let members: Member[] = []
const transports: HttpsTransport[] = []

const flagsOf = (place: number, token: string): readonly string[] => [
  ...["--datastore-endpoint", etcd.endpoint, "--token", token, "--node-name", `server-${place}`],
  // No client uses this address: the test only reads in the endpoints of the Service kubernetes which servers are
  // alive.
  ...["--advertise-address", addressOf(place)],
]
function clientOf(config: ClientConfig): Client {
  const transport = createHttpsTransport({ config, userAgent: "k3ts-test/1" })
  transports.push(transport)
  return newClient(transport)
}

/** Resolves when the endpoints of the Service `kubernetes` are the servers of these places. */
const untilAlive = (client: Client, places: readonly number[], limitMs: number): Promise<Endpoints> =>
  until(
    client,
    Endpoints,
    { namespace: "default", fieldSelector: "metadata.name=kubernetes" },
    ({ subsets = [] }) => {
      const addresses = subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip))
      return JSON.stringify(addresses.sort()) === JSON.stringify(places.map(addressOf))
    },
    limitMs,
  )

/** Resolves with the place of the server that runs the controllers. */
async function leading(client: Client): Promise<number> {
  const lease = await until(
    client,
    Lease,
    { namespace: "kube-system", fieldSelector: "metadata.name=kube-controller-manager" },
    ({ spec }) => /^server-\d_/.test(spec.holderIdentity ?? ""),
    20_000,
  )
  return Number(/^server-(\d)_/.exec(lease.spec.holderIdentity!)![1])
}

const deployment = (name: string) => ({
  metadata: { name, namespace: "default" },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "c", image: "example.com/c:1" }] } },
  },
})
const untilReplicaSet = (client: Client, app: string, limitMs: number) =>
  until(client, ReplicaSet, { namespace: "default", labelSelector: `app=${app}` }, () => true, limitMs)

describe.skipIf(!hasEtcd)("three servers that share an etcd and a token", () => {
  beforeAll(async () => {
    etcd = await startEtcd()
    const servers = await Promise.all(PLACES.map((place) => startServer({ flags: flagsOf(place, TOKEN) })))
    members = servers.map((server) => ({ server, client: clientOf(loadKubeconfig(server.kubeconfig)) }))
  }, 60_000)
  afterAll(async () => {
    for (const transport of transports) transport.close()
    for (const { server } of members) await server[Symbol.asyncDispose]()
    await etcd?.[Symbol.asyncDispose]()
  })
  const fileOf = (place: number, name: string) =>
    readFileSync(join(members[place]!.server.dataDir, "server", name), "utf8")

  test("have the same CAs, keys and tokens", () => {
    for (const name of ["tls/server-ca.crt", "tls/service.key", "token", "node-token", "agent-token"])
      expect(PLACES.map((place) => fileOf(place, name))).toEqual(PLACES.map(() => fileOf(0, name)))
  })

  test("accept a service account's token that another server has issued", async () => {
    // given the account, which the controllers of the server with the lease make
    const ref = { namespace: "default", name: "default" }
    const selector = { namespace: "default", fieldSelector: "metadata.name=default" }
    await until(members[0]!.client, ServiceAccount, selector, () => true, 20_000)
    const { status } = await members[0]!.client.createSubresource<TokenRequest>(ServiceAccount, ref, "token", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { audiences: [] },
    })
    const { server, ca } = loadKubeconfig(members[1]!.server.kubeconfig)
    const pod = clientOf({ server, ca: ca!, token: status.token })
    const review = await pod.create(SelfSubjectReview, { metadata: {} })
    expect(review.status.userInfo?.username).toBe("system:serviceaccount:default:default")
  })

  test("keep their shared files under a key that the API does not serve, and encrypted with the token", () => {
    const keys = etcd.ctl("get", "", "--prefix", "--keys-only").split("\n")
    expect(keys.filter((key) => key.startsWith("/bootstrap/"))).toEqual([
      "/bootstrap/k3ts",
      "/bootstrap/k3ts-encryption",
    ])
    expect(etcd.ctl("get", "/bootstrap/k3ts", "--print-value-only")).toMatch(/^k3ts-sealed-1:[\w+/=]+\s*$/)
  })

  test("install the charts of HelmCharts in one of them", async () => {
    const selector = { namespace: "kube-system", fieldSelector: "metadata.name=k3ts-helm-controller" }
    const isHeld = ({ spec }: Lease) => /^server-\d_/.test(spec.holderIdentity ?? "")
    await until(members[0]!.client, Lease, selector, isHeld, 20_000)
  })

  test("refuse a server with another token", async () => {
    const refused = startServer({ flags: flagsOf(3, "another") })
    await expect(refused).rejects.toThrow(/encrypted with another token than this server's/)
  })

  test("lose no acknowledged write and keep running controllers when the leader is killed", async () => {
    // given
    await untilAlive(members[0]!.client, PLACES, 20_000)
    const leader = await leading(members[0]!.client)
    const others = members.filter((_, place) => place !== leader)
    const [one, two] = others.map(({ client }) => client) as [Client, Client]
    await one.create(Deployment, deployment("before"))
    await untilReplicaSet(two, "before", 10_000)
    const acknowledged: string[] = []
    let writing = true
    const write = async (place: number): Promise<number> => {
      let failures = 0
      for (let i = 0; writing && failures === 0; i++) {
        const name = `write-${place}-${i}`
        await members[place]!.client.create(ConfigMap, { metadata: { name, namespace: "default" } }).then(
          () => acknowledged.push(name),
          () => failures++,
        )
      }
      return failures
    }
    const writers = PLACES.map(write)
    // when
    await until(
      one,
      ConfigMap,
      { namespace: "default" },
      ({ metadata }) => metadata.name === `write-${leader}-20`,
      10_000,
    )
    await members[leader]!.server.kill("SIGKILL")
    await two.create(Deployment, deployment("after"))
    await untilReplicaSet(one, "after", 15_000)
    // then
    expect(await leading(one)).not.toBe(leader)
    writing = false
    const failures = await Promise.all(writers)
    expect(failures.filter((_, place) => place !== leader)).toEqual([0, 0])
    for (const client of [one, two]) {
      const { items } = await client.list(ConfigMap, { namespace: "default" })
      const names = new Set(items.map(({ metadata }) => metadata.name))
      expect(acknowledged.filter((name) => !names.has(name))).toEqual([])
    }
    await untilAlive(
      one,
      PLACES.filter((place) => place !== leader),
      30_000,
    )
    members = others
  }, 90_000)

  test("let servers join with the new token after a rotation, and not with the old one", async () => {
    // given
    const { dataDir } = members[0]!.server
    const rotate = (...flags: readonly string[]) =>
      spawnSync(EXECUTABLE, ["token", "rotate", "--config", "/dev/null", "--data-dir", dataDir, ...flags])
    expect(String(rotate("--new-token", "next").stderr)).toContain("name the store by --datastore-endpoint")
    // when
    const { status, stderr } = rotate("--new-token", "next", "--datastore-endpoint", etcd.endpoint)
    // then
    expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: "" })
    await expect(startServer({ flags: flagsOf(4, TOKEN) })).rejects.toThrow(/another token/)
    await using joined = await startServer({ flags: flagsOf(5, "next") })
    expect(joined.token).toBe(members[0]!.server.token)
  }, 60_000)
})
