import { expect, test } from "bun:test"
import { ControllerRevision } from "../../pkg/api/apps/v1/controllerrevision.ts"
import { DaemonSet } from "../../pkg/api/apps/v1/daemonset.ts"
import { StatefulSet } from "../../pkg/api/apps/v1/statefulset.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { RawJson } from "../../pkg/apimachinery/json/raw-json.ts"
import { startCluster } from "../cluster/testing/testing.ts"

const NAME = { name: "agent", namespace: "default" }
const labels = { app: "agent" }
const SPEC = {
  selector: { matchLabels: labels },
  template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "agent:1", args: ["a<b"] }] } },
}
/**
 * The data that upstream's controllers write for the template. Kubernetes before 1.34 added `"creationTimestamp":null,`
 * to the metadata.
 */
const data = (metadata = "") =>
  String.raw`{"spec":{"template":{"$patch":"replace","metadata":{${metadata}"labels":{"app":"agent"}},"spec":{"containers":[{"args":["a\u003cb"],"image":"agent:1","imagePullPolicy":"IfNotPresent","name":"main","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}}`

test("the data of revisions, and the names of StatefulSets' revisions, are the same as upstream's byte for byte", async () => {
  await using cluster = await startCluster({ nodes: 1 })
  await cluster.client.create(DaemonSet, { metadata: NAME, spec: SPEC })
  await cluster.client.create(StatefulSet, { metadata: { ...NAME, name: "db" }, spec: { ...SPEC, serviceName: "db" } })
  await cluster.settle()

  const { items } = await cluster.client.list(ControllerRevision)
  expect(items.map((revision) => revision.data?.text)).toEqual([data(), data()])
  expect(items.map(({ metadata }) => metadata.name)).toContain("db-6ccb64bb4d")
})

test("a revision that an older Kubernetes wrote counts as the current one, so no pod is replaced", async () => {
  // given a cluster whose database came from Kubernetes 1.30
  await using cluster = await startCluster({ nodes: 1 })
  await cluster.client.create(ControllerRevision, {
    metadata: { ...NAME, labels: { ...labels, "controller-revision-hash": "older" } },
    data: RawJson.from(data('"creationTimestamp":null,')),
    revision: 1,
  })

  // when its DaemonSet is looked after
  await cluster.client.create(DaemonSet, { metadata: NAME, spec: SPEC })
  await cluster.settle()

  // then there is no other revision, and pods are of that one
  expect((await cluster.client.list(ControllerRevision)).items.map(({ metadata }) => metadata.name)).toEqual(["agent"])
  const [pod] = await cluster.list(Pod, { labels: "app=agent" })
  expect(pod?.metadata.labels?.["controller-revision-hash"]).toBe("older")
})
