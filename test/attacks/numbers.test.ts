/** Numbers that users write, as large as they may be: nobody's work or memory grows with them. */
import { expect, test } from "bun:test"
import { startCluster } from "../../components/cluster/testing/cluster.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"

const MOST = 2_147_483_647
const template = `{metadata: {labels: {app: x}}, spec: {containers: [{name: main, image: x}]}}`
const work = `{metadata: {labels: {app: x}}, spec: {restartPolicy: Never, containers: [{name: main, image: work}]}}`
const many = (text: string, count: number): string => Array<string>(count).fill(text).join(", ")

test.each([
  [
    "ReplicaSet",
    "apps/v1",
    `{replicas: ${MOST}, minReadySeconds: 1, selector: {matchLabels: {app: x}}, template: ${template}}`,
  ],
  ["ReplicationController", "v1", `{replicas: ${MOST}, selector: {app: x}, template: ${template}}`],
  [
    "Deployment",
    "apps/v1",
    `{replicas: ${MOST}, revisionHistoryLimit: ${MOST}, progressDeadlineSeconds: ${MOST}, minReadySeconds: ${MOST - 1},
      strategy: {rollingUpdate: {maxSurge: ${MOST}, maxUnavailable: ${MOST}}},
      selector: {matchLabels: {app: x}}, template: ${template}}`,
  ],
  [
    "StatefulSet",
    "apps/v1",
    `{replicas: ${MOST}, revisionHistoryLimit: ${MOST}, podManagementPolicy: Parallel, ordinals: {start: ${MOST}},
      updateStrategy: {rollingUpdate: {partition: ${MOST}, maxUnavailable: ${MOST}}},
      selector: {matchLabels: {app: x}}, template: ${template}}`,
  ],
  ["Job", "batch/v1", `{parallelism: ${MOST}, completions: ${MOST}, backoffLimit: ${MOST}, template: ${work}}`],
  [
    "Job",
    "batch/v1",
    `{parallelism: 100000, completions: ${MOST}, completionMode: Indexed, template: ${work},
      successPolicy: {rules: [${many(`{succeededIndexes: "0-${MOST - 1}", succeededCount: ${MOST}}`, 20)}]}}`,
  ],
  [
    "Job",
    "batch/v1",
    `{parallelism: 10000, completions: 100000, completionMode: Indexed, backoffLimitPerIndex: ${MOST},
      maxFailedIndexes: 100000, template: ${work}}`,
  ],
  [
    "CronJob",
    "batch/v1",
    `{schedule: "* * * * *", successfulJobsHistoryLimit: ${MOST}, failedJobsHistoryLimit: ${MOST},
      jobTemplate: {spec: {parallelism: ${MOST}, completions: ${MOST}, template: ${work}}}}`,
  ],
  [
    "HorizontalPodAutoscaler",
    "autoscaling/v2",
    `{minReplicas: ${MOST - 1}, maxReplicas: ${MOST}, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web},
      behavior: {scaleUp: {policies: [{type: Pods, value: ${MOST}, periodSeconds: 1800}]}}}`,
  ],
])("a %s of %s with the largest numbers makes as many pods as the quota allows", async (kind, apiVersion, spec) => {
  // given a namespace that may have five pods, and a Deployment and a budget there
  await using cluster = await startCluster({ nodes: 1, features: { MaxUnavailableStatefulSet: true } })
  await cluster.apply(`
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: pods, namespace: shop}, spec: {hard: {pods: "5"}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 1, selector: {matchLabels: {app: x}}, template: ${template}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: x, namespace: shop}
spec: {minAvailable: ${MOST}, selector: {matchLabels: {app: x}}}
`)
  await cluster.settle()
  // when
  await cluster.apply(`{apiVersion: ${apiVersion}, kind: ${kind}, metadata: {name: x, namespace: shop}, spec: ${spec}}`)
  await cluster.advance("3m")
  // then that is all, and others go on
  expect((await cluster.list(Pod)).filter(({ metadata }) => metadata.namespace === "shop")).toHaveLength(5)
  await cluster.apply(`{apiVersion: v1, kind: Pod, metadata: {name: other}, spec: {containers: [{name: a, image: a}]}}`)
  await cluster.settle()
  expect((await cluster.get(Pod, { name: "other", namespace: "default" })).status.phase).toBe("Running")
})
