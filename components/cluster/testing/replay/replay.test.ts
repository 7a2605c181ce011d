import { describe, expect, test } from "bun:test"
import { gunzipSync } from "node:zlib"
import { defineController } from "../../../../pkg/controller/controller.ts"
import type { ClusterParts } from "../cluster-parts.ts"
import { ConfigMap, Deployment, Node, Pod, startCluster, type Cluster } from "../testing.ts"
import { recordCluster } from "./record-cluster.ts"

const WEB = `
  apiVersion: apps/v1
  kind: Deployment
  metadata: { name: web, namespace: default }
  spec:
    replicas: 3
    selector: { matchLabels: { app: web } }
    template:
      metadata: { labels: { app: web } }
      spec: { containers: [{ name: web, image: "web:1" }] }`

test("a recording is played with its users, and controllers and scheduler do the same again", async () => {
  // given an incident: a Deployment is scaled, gets an image that cannot be pulled, and a pod is deleted
  await using cluster = await startCluster({
    nodes: 3,
    images: { "web:1": { startMs: 3000 }, "web:2": { pullError: "not found" } },
  })
  await cluster.apply(WEB)
  await cluster.advance("5m")
  await cluster.kubectl("scale deployment web --replicas=5")
  await cluster.advance("1m")
  await cluster.kubectl("set image deployment/web web=web:2")
  await cluster.advance("2m")
  const [pod] = await cluster.list(Pod, { phase: "Running" })
  await cluster.delete(Pod, pod!)
  await cluster.advance("2m")
  const file = await cluster.recording({ last: "6m" })
  const then = await cluster.list(Pod)

  // when it is played
  await using replay = await startCluster({ replay: file })
  expect(replay.now.toISOString()).toBe("2026-01-01T00:04:00.000Z")
  expect(await replay.list(Pod, { phase: "Running" })).toHaveLength(3)
  const difference = await replay.replay.ended()

  // then all is the same, also the names and nodes of pods
  expect(String(difference)).toBe("undefined")
  const essence = ({ metadata, spec }: Pod) => [metadata.name, metadata.uid, spec.nodeName]
  expect((await replay.list(Pod)).map(essence)).toEqual(then.map(essence))
  expect((await replay.get(Deployment, "web")).spec.replicas).toBe(5)
})

test("nodes that join in a recording join in its replay, also in one from the very beginning", async () => {
  // given a recording that begins before there is anything
  await using cluster = await startCluster({ nodes: [{ name: "first", capacity: { cpu: 3 } }] })
  await cluster.apply(WEB)
  await cluster.advance("1m")
  await cluster.addNode({ name: "second", capacity: { cpu: 5 } })
  await cluster.scale(Deployment, "web", 5)
  await cluster.advance("1m")
  const file = await cluster.recording({ last: "1h" })
  // when
  await using replay = await startCluster({ replay: file })
  // then
  expect(String(await replay.replay.ended())).toBe("undefined")
  expect([...replay.nodes].sort()).toEqual(["first", "second"])
  expect((await replay.get(Node, "second")).status.capacity?.["cpu"]).toBe("5")
  expect(await replay.list(Pod, { phase: "Running" })).toHaveLength(5)
})

test("the same recording and seed give the same run", async () => {
  const file = await incident()
  const run = async () => {
    await using cluster = await startCluster({ replay: { file, instead: [OPERATOR.user] }, seed: 7 })
    await cluster.run(operator(0), OPERATOR)
    const difference = await cluster.replay.ended()
    return [String(difference), ...cluster.history().map(String)]
  }
  const [first, second] = [await run(), await run()]
  expect(first.length).toBeGreaterThan(50)
  expect(second).toEqual(first)
})

/** An operator that keeps as many replicas as a ConfigMap says; its bug adds one. */
const operator = (bug: number) =>
  defineController<ConfigMap>({
    name: "sizes",
    reconciles: ConfigMap,
    concerns: ({ metadata }) => metadata.name === "size",
    reconcile: async (key, { client, informers }) => {
      const size = informers.of(ConfigMap).get(key)
      if (size === undefined) return
      const replicas = Number(size.data?.["replicas"]) + bug
      const web = await client.get(Deployment, { namespace: "default", name: "web" })
      if (web.spec.replicas !== replicas)
        await client.patch(
          Deployment,
          { namespace: "default", name: "web" },
          { type: "merge", body: { spec: { replicas } } },
        )
    },
  })

const OPERATOR = { user: "system:serviceaccount:shop:operator", groups: ["system:masters"] }

/** Records what an operator does with its bug. */
async function incident(): Promise<Uint8Array> {
  await using cluster = await startCluster({ nodes: 2 })
  await cluster.apply(WEB)
  await cluster.client.create(ConfigMap, { metadata: { name: "size" }, data: { replicas: "3" } })
  await cluster.advance("2m")
  await cluster.run(operator(1), OPERATOR)
  await cluster.advance("1m")
  await cluster
    .as("alice", ["system:masters"])
    .patch(ConfigMap, "size", { type: "merge", body: { data: { replicas: "1" } } })
  await cluster.advance("1m")
  return await cluster.recording({ last: "90s" })
}

describe("a controller in the place of the recorded one", () => {
  test("that does the same makes no difference", async () => {
    await using cluster = await startCluster({ replay: { file: await incident(), instead: [OPERATOR.user] } })
    await cluster.run(operator(1), OPERATOR)
    expect(await cluster.replay.ended()).toBeUndefined()
  })

  test("that does something else is told with its first write, and the rest of the cluster follows it", async () => {
    // given a recording of a bug
    const file = await incident()
    // when the mended controller runs instead
    await using cluster = await startCluster({ replay: { file, instead: [OPERATOR.user] } })
    await cluster.run(operator(0), OPERATOR)
    const difference = await cluster.replay.ended()
    // then the first thing that it does differently is told
    expect(String(difference)).toMatch(
      /^2026-01-01T00:02:30.000000Z: in the replay \(revision \d+\) system:serviceaccount:shop:operator updates Deployment default\/web, and not in the recording\n {2}spec.replicas: recorded 4, replayed 3$/,
    )
    expect((await cluster.get(Deployment, "web")).spec.replicas).toBe(1)
    expect(await running(cluster)).toBe(1)
  })
})

const running = async (cluster: Cluster): Promise<number> => (await cluster.list(Pod, { phase: "Running" })).length

test("a recording that watches have made is played as one of the history is", async () => {
  // given a cluster of which only watches are recorded, while it is changed
  await using cluster = await startCluster({ nodes: 3, images: { "web:1": { startMs: 3000 } } })
  await cluster.apply(WEB)
  await cluster.advance("2m")
  const { clock } = cluster.contextFor()
  const at = (ms: number, work: () => Promise<unknown>) => clock.setTimeout(() => void work(), ms)
  const alice = cluster.contextFor("alice", ["system:masters"]).client
  const web = { namespace: "default", name: "web" }
  at(20_000, () => alice.patch(Deployment, web, { type: "merge", body: { spec: { replicas: 4 } } }))
  at(40_000, async () =>
    alice.delete(Pod, { namespace: "default", name: (await cluster.list(Pod))[0]!.metadata.name! }),
  )
  at(60_000, () => alice.patch(Deployment, web, { type: "merge", body: { spec: { replicas: 2 } } }))
  const file = await recordCluster(partsOf(cluster), ["--last=0", "--for=90s"])
  const then = await cluster.list(Pod)
  // when
  await using replay = await startCluster({ replay: file })
  const difference = await replay.replay.ended()
  // then
  expect(String(difference)).toBe("undefined")
  expect(then).toHaveLength(2)
  expect((await replay.list(Pod)).map(({ metadata }) => metadata.name)).toEqual(
    then.map(({ metadata }) => metadata.name),
  )
})

const partsOf = (cluster: Cluster): ClusterParts => (cluster as unknown as { readonly parts: ClusterParts }).parts

test("an anonymised recording tells nothing of its cluster, and is played as well", async () => {
  // given a cluster with names, texts, images and secrets of a company
  await using cluster = await startCluster({ nodes: [{ name: "frankfurt-1" }, { name: "frankfurt-2" }] })
  await cluster.apply(COMPANY)
  await cluster.advance("2m")
  await cluster.as("robertson@globex.com", ["system:masters"]).patch(Deployment, "globex/checkout", {
    type: "merge",
    body: {
      spec: { template: { spec: { containers: [{ name: "cashdesk", image: "registry.globex.com/cashdesk:2" }] } } },
    },
  })
  await cluster.as("robertson@globex.com", ["system:masters"]).patch(Deployment, "globex/checkout", {
    type: "merge",
    body: { spec: { replicas: 4 } },
  })
  await cluster.advance("2m")
  const file = await recordCluster(partsOf(cluster), ["--last=3m", "--anonymise"])
  // then no word of it is in the file
  const text = unpacked(file)
  for (const word of [
    "globex",
    "checkout",
    "frankfurt",
    "cashdesk",
    "robertson",
    "payments",
    "hunter2",
    "aHVudGVyMg==",
    "10.42.",
    "10.43.",
  ])
    expect([word, text.toLowerCase().includes(word.toLowerCase())]).toEqual([word, false])
  // and it is played to the same end
  await using replay = await startCluster({ replay: file })
  expect(String(await replay.replay.ended())).toBe("undefined")
  const [web] = (await replay.list(Deployment)).filter(({ spec }) => spec.replicas === 4)
  expect(web?.status.readyReplicas).toBe(4)
})

const unpacked = (file: Uint8Array): string =>
  gunzipSync(file.subarray(file.indexOf(10) + 1)).toString() +
  Buffer.from(file.subarray(0, file.indexOf(10))).toString()

const COMPANY = `
apiVersion: v1
kind: Namespace
metadata: { name: globex }
---
apiVersion: v1
kind: Secret
metadata: { name: cashdesk-password, namespace: globex }
stringData: { password: hunter2 }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: checkout, namespace: globex, annotations: { globex.com/owner: payments team } }
data: { payments.yaml: "host: db.globex.com" }
---
apiVersion: v1
kind: Service
metadata: { name: checkout, namespace: globex }
spec: { selector: { globex.com/app: checkout }, ports: [{ port: 80 }] }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: checkout, namespace: globex, labels: { globex.com/app: checkout } }
spec:
  replicas: 2
  selector: { matchLabels: { globex.com/app: checkout } }
  template:
    metadata: { labels: { globex.com/app: checkout } }
    spec:
      containers:
        - name: cashdesk
          image: registry.globex.com/cashdesk:1
          args: ["--db=db.globex.com"]
          env: [{ name: TILL_OWNER, value: payments }, { name: PW, valueFrom: { secretKeyRef: { name: cashdesk-password, key: password } } }]
`

test("nodes are lost and return as recorded, containers crash and become unready as theirs did", async () => {
  // given a node that is lost and returns, one whose way is cut, a container that crashes, and one that is not ready
  let isWell = true
  await using cluster = await startCluster({
    nodes: 3,
    images: { "web:1": {}, "flaky:1": { http: () => new Response("", { status: isWell ? 200 : 503 }) } },
  })
  await cluster.apply([WEB, FLAKY])
  await cluster.advance("5m")
  const lost = await cluster.faults.nodeLost("node-0")
  await cluster.advance("8m")
  await lost.end()
  await cluster.advance("2m")
  const cut = await cluster.faults.nodePartitioned("node-1")
  await cluster.advance("3m")
  await cut.end()
  await cluster.advance("1m")
  const [pod] = await cluster.list(Pod, { labels: "app=web" })
  cluster.container(pod!)!.exit(3)
  isWell = false
  await cluster.advance("30s")
  isWell = true
  await cluster.advance("2m")
  const crashed = await cluster.get(Pod, pod!)
  const file = await cluster.recording({ last: "19m" })
  // when
  await using replay = await startCluster({ replay: file })
  const difference = await replay.replay.ended()
  // then controllers do the same, and the containers of the replay have done what the recorded ones had
  expect(String(difference)).toBe("undefined")
  const unknown = replay
    .history({ kind: "Node", author: NODE_CONTROLLER })
    .filter((entry) =>
      entry.diff().some(({ path, after }) => path === "status.conditions[Ready].status" && after === "Unknown"),
    )
  expect(unknown.map(({ object }) => object.metadata.name)).toEqual(["node-0", "node-1"])
  const again = await replay.get(Pod, pod!)
  const essence = ({ status }: Pod) =>
    (status.containerStatuses ?? []).map(({ restartCount, ready }) => [restartCount, ready])
  expect(essence(again)).toEqual(essence(crashed))
  expect(again.status.containerStatuses?.[0]?.lastState.terminated?.exitCode).toBe(3)
})

const NODE_CONTROLLER = "system:serviceaccount:kube-system:node-controller"

const FLAKY = `
  apiVersion: v1
  kind: Service
  metadata: { name: flaky, namespace: default }
  spec: { selector: { app: flaky }, ports: [{ port: 80 }] }
---
  apiVersion: apps/v1
  kind: Deployment
  metadata: { name: flaky, namespace: default }
  spec:
    replicas: 2
    selector: { matchLabels: { app: flaky } }
    template:
      metadata: { labels: { app: flaky } }
      spec:
        containers:
          - { name: flaky, image: "flaky:1", ports: [{ containerPort: 80 }], readinessProbe: { httpGet: { path: /ready, port: 80 }, periodSeconds: 2 } }`
