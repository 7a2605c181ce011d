import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startCluster } from "../../components/cluster/testing/testing.ts"
import { connect, inClusterConfig } from "./connect.ts"
import {
  ConfigMap,
  customKind,
  defineController,
  isNotFound,
  runOperator,
  splitKey,
  type CustomObject,
} from "./operator.ts"

let folder = ""
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), "k3ts-operator-"))))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const written = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

describe("connect", () => {
  test("reads a token file again for each request, since tokens in pods are renewed", async () => {
    // given
    const seen: (string | undefined)[] = []
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization)
      response.end(JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }))
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    written("changing-token", "first\n")
    const kubeconfig = written(
      "kubeconfig",
      JSON.stringify({
        clusters: [{ name: "c", cluster: { server: url } }],
        users: [{ name: "u", user: { tokenFile: "changing-token" } }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "team" } }],
        "current-context": "x",
      }),
    )
    using cluster = connect({ kubeconfig })
    // when
    await cluster.client.get(ConfigMap, { name: "a", namespace: cluster.namespace })
    written("changing-token", "second\n")
    await cluster.client.get(ConfigMap, { name: "a", namespace: cluster.namespace })
    // then
    expect(cluster.namespace).toBe("team")
    expect(seen).toEqual(["Bearer first", "Bearer second"])
    server.close()
  })

  test("uses the service account of a pod, and fails outside of pods", () => {
    written("token", "t")
    written("ca.crt", "ca")
    written("namespace", "team\n")
    const at = (env: Readonly<Record<string, string>>, where = folder) => inClusterConfig(env, where)
    const inPod = { KUBERNETES_SERVICE_HOST: "10.43.0.1", KUBERNETES_SERVICE_PORT: "443" }
    expect(at(inPod)).toEqual({
      server: "https://10.43.0.1:443",
      ca: "ca",
      tokenFile: join(folder, "token"),
      namespace: "team",
    })
    expect(at({ ...inPod, KUBERNETES_SERVICE_HOST: "fd00::1" })?.server).toBe("https://[fd00::1]:443")
    expect(at({})).toBeUndefined()
    expect(at(inPod, join(folder, "none"))).toBeUndefined()
  })

  test("reports the kubeconfig that is missing", () => {
    expect(() => connect({ kubeconfig: join(folder, "none.yaml") })).toThrow("none.yaml")
  })
})

describe("runOperator", () => {
  type Lock = CustomObject<{ readonly holderIdentity?: string }>
  /** A kind of which the program knows no more than its name. */
  const Lock = customKind<Lock>({
    group: "coordination.k8s.io",
    version: "v1",
    kind: "Lease",
    plural: "leases",
    scope: "Namespaced",
  })

  test("reconciles a kind that is only declared, in a cluster of another process", async () => {
    // given a controller that writes down who holds what
    await using cluster = await startCluster({ clock: "real", components: { scheduler: false } })
    const { kubeconfig } = await cluster.listen()
    const holders = defineController<Lock>({
      name: "holders",
      reconciles: Lock,
      async reconcile(key, { client, informers }) {
        const { namespace, name } = splitKey(key)
        const holder = informers.of(Lock).get(key)?.spec.holderIdentity
        if (namespace !== "default" || holder === undefined) return
        const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { holder } }
        await client.patch(
          ConfigMap,
          { namespace, name },
          { type: "apply", body },
          { fieldManager: "holders", force: true },
        )
      },
    })
    using connection = connect({ kubeconfig })
    const end = new AbortController()
    const running = runOperator(connection, [holders], { signal: end.signal })
    // when
    await connection.client.create(Lock, {
      metadata: { name: "mine", namespace: "default" },
      spec: { holderIdentity: "me" },
    })
    // then
    await cluster.eventually(async () => (await cluster.find(ConfigMap, "mine"))?.data?.["holder"] === "me")
    end.abort()
    await running
    const missing = await connection.client
      .get(Lock, { name: "none", namespace: "default" })
      .catch((err: unknown) => err)
    expect(isNotFound(missing)).toBe(true)
  })

  test("ends when its signal is aborted, although it may not list its kinds", async () => {
    await using cluster = await startCluster()
    const end = new AbortController()
    const idle = defineController<ConfigMap>({ name: "idle", reconciles: ConfigMap, async reconcile() {} })
    const running = runOperator(cluster.contextFor("nobody"), [idle], { signal: end.signal })
    await cluster.advance("1m")
    end.abort()
    await running
  })

  test("fails when it loses its Lease", async () => {
    await using cluster = await startCluster()
    const idle = defineController<ConfigMap>({ name: "idle", reconciles: ConfigMap, async reconcile() {} })
    const outcome = runOperator(cluster.contextFor(), [idle], {
      leaderElection: { name: "lock", namespace: "default", identity: "mine" },
    }).catch((err: unknown) => String(err))
    await cluster.advance("5s")
    // when somebody takes it
    const lease = await cluster.get(Lock, "lock")
    await cluster.client.update(Lock, { ...lease, spec: { ...lease.spec, holderIdentity: "other" } })
    await cluster.advance("1m")
    // then
    expect(await outcome).toContain("Lost the lease default/lock")
  })
})
