import { describe, expect, test } from "bun:test"
import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { startCluster, type Cluster } from "../cluster.ts"
import type { ClusterOptions } from "../options/options.ts"
import { readObjects } from "../snapshot.ts"
import { startFork } from "./fork.ts"

const forkOf = async (cluster: Cluster, options: ClusterOptions = {}): Promise<Cluster> =>
  (await startFork(await readObjects(await cluster.snapshot()), { seed: 2, ...options })).cluster

const deployment = (name: string, replicas: number, container: object) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: "default" },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: "main", image: name, ...container }] },
    },
  },
})

const READY_AT_80 = { readinessProbe: { httpGet: { path: "/ready", port: 80 }, periodSeconds: 5 } }

describe("in a copy", () => {
  test("pods go on: with their addresses and containers, and no write", async () => {
    // given pods that have started slowly, one of them with an init container and a token
    await using cluster = await startCluster({ nodes: 2, images: { web: { startMs: 9000, listensAfterMs: 30_000 } } })
    await cluster.apply([
      deployment("web", 3, READY_AT_80),
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "two-steps", namespace: "default" },
        spec: {
          initContainers: [{ name: "first", image: "first" }],
          containers: [{ name: "main", image: "second" }],
        },
      },
    ])
    cluster.setImage("first", { runsMs: 1000 })
    await cluster.advance("5m")
    const before = await cluster.list(Pod)
    // when
    await using copy = await forkOf(cluster)
    await copy.advance("10m")
    // then
    const withUid = ({ metadata: { uid }, ...pod }: Pod) => ({ ...pod, metadata: { uid } })
    expect((await copy.list(Pod)).map(withUid)).toEqual(before.map(withUid))
    expect(copy.history({ kind: "Pod" })).toEqual([])
  })

  test("a container that crashes again and again keeps its count and crashes on", async () => {
    // given
    await using cluster = await startCluster({ nodes: 1, images: { web: { runsMs: 1000, exitCode: 3 } } })
    await cluster.apply([deployment("web", 1, {})])
    await cluster.advance("30m")
    const restarts = (pods: readonly Pod[]) => pods[0]!.status.containerStatuses![0]!.restartCount
    const before = restarts(await cluster.list(Pod))
    // when
    await using copy = await forkOf(cluster)
    await copy.advance("1s")
    // then
    expect(restarts(await copy.list(Pod))).toBeGreaterThanOrEqual(before)
    await copy.advance("20m")
    expect(restarts(await copy.list(Pod))).toBeGreaterThan(before)
  })

  test.each([
    ["HTTP", { httpGet: { path: "/ready", port: 80 } }],
    ["a command", { exec: { command: ["cat", "/ready"] } }],
    ["TCP", { tcpSocket: { port: 80 } }],
    ["gRPC", { grpc: { port: 80 } }],
  ])("a container that has not become ready by %s does not, nor do new ones of its image", async (_, probe) => {
    // given a container that only its readiness probe finds unwell
    await using cluster = await startCluster({
      nodes: 1,
      images: {
        web: {
          http: () => new Response("", { status: 500 }),
          exec: () => 1,
          grpc: () => "NOT_SERVING",
          ...("tcpSocket" in probe ? { listensAfterMs: 1e12 } : {}),
        },
      },
    })
    await cluster.apply([deployment("web", 1, { readinessProbe: probe })])
    await cluster.advance("10m")
    // when there is one more in a copy
    await using copy = await forkOf(cluster)
    await copy.kubectl("scale deployment web --replicas 2")
    await copy.advance("10m")
    // then
    const ready = (await copy.list(Pod)).map(({ status }) => status.containerStatuses![0]!.ready)
    expect(ready).toEqual([false, false])
  })

  test("a container runs on whose command would end in a simulation, and its probe by a command succeeds", async () => {
    // given a container that runs a program which nobody knows
    const container = {
      image: "busybox:1",
      command: ["sh", "-c", "sleep 20; httpd -f"],
      readinessProbe: { exec: { command: ["cat", "/tmp/ready"] } },
    }
    await using cluster = await startCluster({ nodes: 1, images: { busybox: { ignoresCommand: true, startMs: 3000 } } })
    await cluster.apply([deployment("web", 2, container)])
    await cluster.advance("5m")
    // when there is one more in a copy
    await using copy = await forkOf(cluster)
    await copy.kubectl("scale deployment web --replicas 3")
    await copy.advance("10m")
    // then
    const states = (await copy.list(Pod)).map(({ status }) => status.containerStatuses![0]!)
    expect(states.map(({ ready, restartCount }) => [ready, restartCount])).toEqual([
      [true, 0],
      [true, 0],
      [true, 0],
    ])
  })

  test("a node that is not heard of is not heard of", async () => {
    // given
    await using cluster = await startCluster({ nodes: 2 })
    await cluster.faults.nodeLost("node-1")
    await cluster.advance("5m")
    // when
    await using copy = await forkOf(cluster)
    await copy.advance("10m")
    // then
    const states = (await copy.list(Node)).map(
      ({ status }) => status.conditions?.find(({ type }) => type === "Ready")?.status,
    )
    expect(states).toEqual(["True", "Unknown"])
  })

  test("a node has what it had for pods, and its images", async () => {
    // given a node that keeps a part for itself and has an image that no registry gives any more
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.kubectl("run old --image private:1")
    await cluster.advance("10s")
    const content = await readObjects(await cluster.snapshot())
    const objects = content.objects.map((object) => {
      if (!object.key.startsWith(Node.prefix)) return object
      const node = JSON.parse(Buffer.from(object.value).toString()) as Node
      const allocatable = { ...node.status.allocatable, cpu: "5500m", memory: "20Gi", "ephemeral-storage": "70Gi" }
      const conditions = node.status.conditions!.map((one) =>
        one.type === "Ready" ? { ...one, status: "False", message: "no network" } : one,
      )
      return {
        ...object,
        value: Buffer.from(JSON.stringify({ ...node, status: { ...node.status, allocatable, conditions } })),
      }
    })
    // when
    const { cluster: copy } = await startFork({ ...content, objects }, { images: { private: { pullError: "gone" } } })
    await copy.advance("2m")
    await copy.kubectl([
      "run",
      "new",
      "--image=private:1",
      "--image-pull-policy=IfNotPresent",
      `--overrides={"spec":{"nodeName":"node-0"}}`,
    ])
    await copy.advance("1m")
    // then
    const { status } = (await copy.list(Node))[0]!
    expect(status.allocatable).toMatchObject({ cpu: "5500m", memory: "20Gi", "ephemeral-storage": "70Gi" })
    expect(status.conditions?.find(({ type }) => type === "Ready")).toMatchObject({
      status: "False",
      reason: "KubeletNotReady",
    })
    expect((await copy.get(Pod, "new")).status.phase).toBe("Running")
    await copy.stop()
  })
})
