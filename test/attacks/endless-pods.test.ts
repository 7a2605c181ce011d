import { expect, test } from "bun:test"
import { Pod, startCluster } from "../../components/cluster/testing/testing.ts"

const MOST = 2_147_483_647
const template = "{metadata: {labels: {app: x}}, spec: {containers: [{name: a, image: a}]}}"
const jobTemplate = "{spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}"

test.each([
  ["ReplicaSet", "apps/v1", `{replicas: ${MOST}, selector: {matchLabels: {app: x}}, template: ${template}}`],
  [
    "StatefulSet",
    "apps/v1",
    `{replicas: ${MOST}, podManagementPolicy: Parallel, serviceName: x, selector: {matchLabels: {app: x}}, template: ${template}}`,
  ],
  ["Job", "batch/v1", `{parallelism: ${MOST}, template: ${jobTemplate}}`],
])(
  "a %s of %s with billions of pods is slowed down when five thousand of them do not start",
  async (kind, apiVersion, spec) => {
    // given a cluster without room
    await using cluster = await startCluster({ components: { scheduler: false, kubelet: false } })
    // when
    await cluster.apply(`{apiVersion: ${apiVersion}, kind: ${kind}, metadata: {name: x}, spec: ${spec}}`)
    await cluster.settle()
    // then
    const { length } = await cluster.list(Pod, { namespace: "default" })
    expect(length).toBeGreaterThan(5000)
    expect(length).toBeLessThan(6000)
  },
  30_000,
)
