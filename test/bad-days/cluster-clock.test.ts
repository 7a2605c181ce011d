import { expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import { CronJob } from "../../pkg/api/batch/v1/cronjob.ts"
import { Job } from "../../pkg/api/batch/v1/job.ts"
import { Deployment } from "../../pkg/api/apps/v1/deployment.ts"
import { Lease } from "../../pkg/api/coordination/v1/lease.ts"
import { Event } from "../../pkg/api/core/v1/event/event.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"

const uids = async (cluster: Cluster) =>
  (await cluster.list(Pod, { namespace: "default" }))
    .filter(({ metadata }) => metadata.labels?.["app"] === "web")
    .map(({ metadata }) => metadata.uid!)
    .toSorted()

test.each(["1h", "-1h", "3d", "-3d", "40d", "-40d"])(
  "a cluster whose wall clock is set by %s keeps its nodes, pods, leases and schedules",
  async (by) => {
    // given pods of a Deployment on two nodes, one that crashes again and again, and a CronJob of each five minutes
    await using cluster = await startCluster({
      nodes: 2,
      images: { job: { run: async () => 0 }, crash: { run: async () => 1 } },
    })
    const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "web" }] } }
    await cluster.client.create(Deployment, {
      metadata: { name: "web", namespace: "default" },
      spec: { replicas: 4, selector: { matchLabels: { app: "web" } }, template },
    })
    await cluster.client.create(CronJob, {
      metadata: { name: "tick", namespace: "default" },
      spec: {
        schedule: "*/5 * * * *",
        startingDeadlineSeconds: 300,
        jobTemplate: {
          spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "job" }] } } },
        },
      },
    })
    await cluster.client.create(Pod, {
      metadata: { name: "crash", namespace: "default" },
      spec: { containers: [{ name: "c", image: "crash" }] },
    })
    await cluster.advance("10m")
    await cluster.client.create(Job, {
      metadata: { name: "failing", namespace: "default" },
      spec: {
        backoffLimit: 4,
        template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "crash" }] } },
      },
    })
    await cluster.advance("20s")
    const before = await uids(cluster)
    expect(before).toHaveLength(4)
    const restarts = async () => (await cluster.get(Pod, "crash")).status.containerStatuses![0]!.restartCount
    const restartedBefore = await restarts()
    const jobsBefore = (await cluster.list(Job, { namespace: "default" })).map(({ metadata }) => metadata.uid!)
    // when the clock is set, and half an hour passes
    await cluster.faults.clockJump(by)
    await cluster.advance("30m")
    // then no node was doubted and no pod replaced
    for (const { spec, status } of await cluster.list(Node)) {
      expect(status.conditions!.find(({ type }) => type === "Ready")!.status).toBe("True")
      expect(spec.taints ?? []).toEqual([])
    }
    expect(await uids(cluster)).toEqual(before)
    const events = await cluster.list(Event, { namespace: "default" })
    expect(events.map(({ reason }) => reason)).not.toContain("NodeNotReady")
    expect(events.map(({ reason }) => reason)).not.toContain("TaintManagerEviction")
    // and leases are renewed by the new clock
    for (const lease of await cluster.list(Lease, { namespace: "kube-node-lease" }))
      expect(Math.abs(Date.parse(lease.spec.renewTime!) - cluster.now.getTime())).toBeLessThan(15_000)
    // and the container that crashes is started again at its back-off of five minutes, no more and no less
    const restarted = (await restarts()) - restartedBefore
    expect(restarted).toBeGreaterThanOrEqual(4)
    expect(restarted).toBeLessThanOrEqual(8)
    // and a Job whose pods fail is tried on until it gives up
    const { status } = await cluster.get(Job, "failing")
    expect(status.conditions?.find(({ type }) => type === "Failed")?.reason).toBe("BackoffLimitExceeded")
    expect(status.failed).toBe(5)
    // and the CronJob goes on, forward at once, and backward when its time has come again; it makes up for nothing
    const jobs = (await cluster.list(Job, { namespace: "default" })).filter(
      ({ metadata }) => !jobsBefore.includes(metadata.uid!),
    )
    expect(jobs.length).toBeLessThanOrEqual(8)
    if (!by.startsWith("-")) expect(jobs.length).toBeGreaterThanOrEqual(3)
    // and what is new works
    await cluster.client.create(Pod, { metadata: { name: "new", namespace: "default" }, spec: template.spec })
    await cluster.advance("1m")
    expect((await cluster.get(Pod, "new")).status.phase).toBe("Running")
  },
)
