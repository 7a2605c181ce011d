/** A snapshot restored on the same machine: the pods keep running. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { hostname, tmpdir } from "node:os"
import { join } from "node:path"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isPodReady } from "../../../pkg/pods/pod-state.ts"
import { BUSYBOX, describeOnNode, startCluster, stay, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"
import { EXECUTABLE, startServer, uninstallArgs, type TestServer } from "../../harness/server.ts"

describeOnNode("a node whose cluster is restored", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "k3ts-restored-"))
  let cluster: Cluster
  let server: TestServer
  const k3ts = async (...args: readonly string[]) => {
    const { code, out, err } = await run(EXECUTABLE, [...args, "--config", "/dev/null", "--data-dir", dataDir])
    if (code !== 0) throw new Error(`k3ts ${args.join(" ")} failed: ${err}`)
    return out
  }
  const podsOf = async (app: string) =>
    (await cluster.client.list(Pod, { namespace: "default", labelSelector: `app=${app}` })).items
  /** Returns the differences if there are other pods or containers than before. */
  const identities = async (app: string) =>
    (await podsOf(app))
      .map(({ metadata, status }) => ({
        uid: metadata.uid,
        ip: status.podIP,
        containers: status.containerStatuses?.map(({ containerID, restartCount }) => ({ containerID, restartCount })),
      }))
      .sort((a, b) => (a.uid! < b.uid! ? -1 : 1))
  const deploy = async (app: string, replicas: number) => {
    const template = {
      metadata: { labels: { app } },
      spec: { containers: [{ name: "c", image: BUSYBOX, command: stay() }], terminationGracePeriodSeconds: 1 },
    }
    await cluster.create(Deployment, {
      metadata: { name: app, namespace: "default" },
      spec: { replicas, selector: { matchLabels: { app } }, template },
    })
    await cluster.kubectl.ok(`rollout status deploy/${app} --timeout=30s`)
  }

  beforeAll(async () => {
    cluster = await startCluster({ dataDir })
    server = cluster.server
  }, 60_000)
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    await cluster?.[Symbol.asyncDispose]()
    await run(EXECUTABLE, uninstallArgs(dataDir))
    rmSync(dataDir, { recursive: true, force: true })
  })

  test("adopts the pods of the snapshot, ends those that were created later, and starts those that were deleted later", async () => {
    // given pods and a snapshot, after which some pods are replaced by others
    await deploy("stays", 2)
    await deploy("comes-back", 1)
    await cluster.create(ConfigMap, { metadata: { name: "promised", namespace: "default" }, data: { a: "b" } })
    const before = await identities("stays")
    const file = new URL((await k3ts("snapshot", "save")).trim()).pathname
    await cluster.kubectl.ok("delete deploy comes-back --wait")
    await deploy("too-late", 1)

    // when all data of the server are deleted, and the snapshot is restored
    await server.kill("SIGKILL")
    rmSync(join(dataDir, "server"), { recursive: true })
    await k3ts("snapshot", "restore", file)
    const restoredAt = Date.now()
    server = await startServer({ agent: true, dataDir, port: cluster.server.port })

    // then the old kubeconfig works, and objects and running containers are the same ones
    await cluster.until(Node, hostname().toLowerCase(), ({ status }) =>
      (status.conditions ?? []).some(
        ({ type, status, lastHeartbeatTime }) =>
          type === "Ready" && status === "True" && Date.parse(lastHeartbeatTime ?? "") >= restoredAt - 1000,
      ),
    )
    const [again] = await podsOf("comes-back")
    await cluster.until(Pod, again!.metadata.name!, isPodReady)
    expect(await identities("stays")).toEqual(before)
    expect((await cluster.client.get(ConfigMap, { namespace: "default", name: "promised" })).data).toEqual({ a: "b" })
    expect(await podsOf("too-late")).toEqual([])
    await cluster.runPod("new", { containers: [{ name: "c", image: BUSYBOX, command: stay() }] })
    expect(await cluster.kubectl.sh("new", "echo works")).toBe("works\n")
  }, 120_000)
})
