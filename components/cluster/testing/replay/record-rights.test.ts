import { expect, test } from "bun:test"
import { readRecording } from "../../../../pkg/replay/recording-reader.ts"
import type { ClusterParts } from "../cluster-parts.ts"
import { ConfigMap, Deployment, Pod, startCluster, type Cluster } from "../testing.ts"
import { recordCluster } from "./record-cluster.ts"

const partsOf = (cluster: Cluster): ClusterParts => (cluster as unknown as { readonly parts: ClusterParts }).parts

/** Two namespaces; vera may read what the role view has in one of them. */
const SHOP = `
{ apiVersion: v1, kind: Namespace, metadata: { name: shop } }
---
{ apiVersion: v1, kind: Namespace, metadata: { name: vault } }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: vera, namespace: shop }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: vera }]
---
{ apiVersion: v1, kind: Secret, metadata: { name: password, namespace: shop }, stringData: { word: sesame } }
---
{ apiVersion: v1, kind: ConfigMap, metadata: { name: hidden, namespace: vault }, data: { place: "under the mat" } }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: shop }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
        - name: web
          image: web
          env: [{ name: WORD, valueFrom: { secretKeyRef: { name: password, key: word } } }]`

test("a recording has what its user may read, and names the rest; its pods run all the same", async () => {
  // given writes that the user may read, and some that she may not
  await using cluster = await startCluster({ nodes: 2 })
  await cluster.apply(SHOP)
  await cluster.advance("2m")
  const admin = cluster.as("root", ["system:masters"])
  await admin.patch(Deployment, "shop/web", { type: "merge", body: { spec: { replicas: 3 } } })
  await admin.patch(ConfigMap, "vault/hidden", { type: "merge", body: { data: { place: "in the shed" } } })
  await cluster.kubectl(["patch", "secret", "password", "-n", "shop", "-p", `{"stringData":{"word":"mellon"}}`])
  await cluster.advance("1m")
  // when she records the namespace
  const file = await recordCluster(partsOf(cluster), ["--last=2m", "--namespace=shop", "--as=vera"])
  const { objects, writes, end } = await readRecording(file)
  // then no Secret, and nothing of another namespace is there
  const all = JSON.stringify([objects, writes])
  for (const word of ["sesame", "c2VzYW1l", "mellon", "bWVsbG9u", "the mat", "the shed"])
    expect(all).not.toContain(word)
  expect(new Set([...objects, ...writes].map(({ object }) => object.metadata.namespace))).toEqual(new Set(["shop"]))
  expect(end.left).toContain("secrets: you may not list them")
  expect(end.left).toContain("nodes: you may not list them")
  expect(writes.some(({ user, resource }) => user === "root" && resource === "deployments")).toBe(true)
  // and it is played: nodes, namespace and Secret are made up
  await using replay = await startCluster({ replay: file })
  expect(replay.replay.left).toContain("secrets: 1 that were named are made up")
  expect(String(await replay.replay.ended())).toBe("undefined")
  expect(await replay.list(Pod, { namespace: "shop", phase: "Running" })).toHaveLength(3)
})

test("who may list and not watch is told that what happens is missing", async () => {
  // given a user with the right to list ConfigMaps, and no other
  await using cluster = await startCluster()
  await cluster.apply(LISTER)
  // when what happens is watched
  const file = await recordCluster(partsOf(cluster), ["--last=0", "--for=5s", "--as=lara"])
  // then
  const { end, objects } = await readRecording(file)
  expect(objects.some(({ resource }) => resource === "configmaps")).toBe(true)
  expect(end.left).toContain("configmaps: you may not watch them")
})

const LISTER = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: lister }
rules: [{ apiGroups: [""], resources: [configmaps], verbs: [list] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: lara }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: lister }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: lara }]`

test("who may list nothing gets an error, and no file", async () => {
  await using cluster = await startCluster()
  const message = await recordCluster(partsOf(cluster), ["--as=nobody"]).then(
    () => "recorded",
    (err: Error) => err.message,
  )
  expect(message).toBe("Cannot record the cluster: error: this server keeps no history that you may read")
})

test("a span that is longer than the history begins where that does", async () => {
  await using cluster = await startCluster()
  await cluster.advance("1m")
  const { head } = await readRecording(await recordCluster(partsOf(cluster), ["--last=48h"]))
  expect(Date.parse(head.begin)).toBeLessThanOrEqual(cluster.now.getTime())
})

test("a file of somebody else beside the recording is not written to, and a span that no reader takes is refused", async () => {
  // given a file with the name that a recording could have while it is written
  await using cluster = await startCluster()
  const files = { "incident.k3ts.part": "theirs" }
  // when
  const recorded = await cluster.kubectl("record -o incident.k3ts --last 1m", { files })
  const refused = await cluster.kubectl("record -o other.k3ts --last 700h --for 100h", { files })
  // then
  expect(recorded.code).toBe(0)
  expect(Object.keys(recorded.files).sort()).toEqual(["incident.k3ts", "incident.k3ts.part"])
  expect(recorded.files["incident.k3ts.part"]).toBe("theirs")
  expect(refused.stderr).toContain("--last and --for are together at most 744h0m0s")
  expect(Object.keys(refused.files)).toEqual(["incident.k3ts.part"])
})
