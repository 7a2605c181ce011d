import { expect, test } from "bun:test"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { silent, type Logger } from "../../pkg/log/log.ts"
import { startCluster } from "../cluster/testing/testing.ts"

const containers = [{ name: "c", image: "i" }]
const labels = { app: "a" }
const selector = { matchLabels: labels }
const template = { metadata: { labels }, spec: { containers, terminationGracePeriodSeconds: 5 } }
const object = (apiVersion: string, kind: string, spec: object) => ({
  apiVersion,
  kind,
  metadata: { name: kind.toLowerCase(), namespace: "going" },
  spec,
})

test.each([1, 2, 3])("no controller logs errors about the objects of a deleted namespace (seed %d)", async (seed) => {
  // given a namespace in which every controller has something to do
  const lines: string[] = []
  const tell: Logger["warn"] = (message, fields) => void lines.push(`${message} ${JSON.stringify(fields)}`)
  const log: Logger = {
    ...silent,
    warn: tell,
    error: tell,
    child: (own) => ({ ...log, warn: (message, fields) => tell(message, { ...own, ...fields }) }),
  }
  await using cluster = await startCluster({ nodes: 2, seed, log })
  await cluster.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "going" } },
    object("apps/v1", "Deployment", { replicas: 3, selector, template }),
    object("apps/v1", "StatefulSet", {
      replicas: 3,
      serviceName: "s",
      selector: { matchLabels: { app: "s" } },
      template: { ...template, metadata: { labels: { app: "s" } } },
    }),
    object("apps/v1", "DaemonSet", {
      selector: { matchLabels: { app: "d" } },
      template: { ...template, metadata: { labels: { app: "d" } } },
    }),
    object("v1", "ReplicationController", {
      replicas: 2,
      selector: { app: "r" },
      template: { ...template, metadata: { labels: { app: "r" } } },
    }),
    object("batch/v1", "Job", {
      parallelism: 2,
      completions: 9,
      template: { spec: { ...template.spec, restartPolicy: "Never" } },
    }),
    object("batch/v1", "CronJob", {
      schedule: "* * * * *",
      jobTemplate: { spec: { template: { spec: { ...template.spec, restartPolicy: "Never" } } } },
    }),
    object("v1", "Service", { selector: labels, ports: [{ port: 80 }] }),
    object("policy/v1", "PodDisruptionBudget", { minAvailable: 1, selector }),
    object("v1", "ResourceQuota", { hard: { pods: "50" } }),
  ])
  await cluster.advance("90s")
  // when it is deleted
  lines.length = 0
  await cluster.client.delete(Namespace, { name: "going" })
  await cluster.advance("10m")
  // then it has gone, without a word
  expect((await cluster.list(Namespace)).map(({ metadata }) => metadata.name)).not.toContain("going")
  expect(lines).toEqual([])
})
