/**
 * StatefulSets, DaemonSets and Deployments whose pods fail or change, with real containers. After statefulset.go,
 * daemon_set.go and deployment.go of test/e2e/apps.
 */
import { expect } from "bun:test"
import { BUSYBOX, WEB, stay } from "../../harness/cluster.ts"
import type { Loose } from "../cluster.ts"
import { running } from "../workloads/workload-cluster.ts"
import { isReady, type PodInput, type TestNamespace } from "./namespace.ts"
import { describeStandIns } from "./stand-in.ts"

const podsOf = (ns: TestNamespace, app = "app") => `${ns.path}/pods?labelSelector=app%3D${app}`
const template = (ns: TestNamespace, pod: PodInput, app = "app") => {
  const { spec } = ns.podOf("", pod)
  return { metadata: { labels: { app } }, spec }
}

describeStandIns("workloads", (standIn) => {
  const sets = (ns: TestNamespace) => `${ns.at("apps/v1")}/statefulsets`
  /** Creates a StatefulSet of web servers, which are ready while they have their page. */
  const createSet = async (ns: TestNamespace, spec: object = {}) => {
    await ns.create("services", "test", {
      spec: { clusterIP: "None", selector: { app: "app" }, ports: [{ port: 80 }] },
    })
    return ns.cluster.post(sets(ns), {
      metadata: { name: "ss" },
      spec: {
        serviceName: "test",
        replicas: 3,
        selector: { matchLabels: { app: "app" } },
        template: template(ns, {
          restartPolicy: "Always",
          containers: [
            {
              image: WEB,
              readinessProbe: { httpGet: { path: "/index.html", port: 80 }, periodSeconds: 1, failureThreshold: 1 },
            },
          ],
        }),
        ...spec,
      },
    })
  }
  const untilSet = (ns: TestNamespace, wanted: (status: Loose["status"]) => boolean) =>
    ns.cluster.until(`${sets(ns)}/ss`, (set) => set !== undefined && wanted(set.status))
  const scale = (ns: TestNamespace, replicas: number) =>
    ns.cluster.patch(`${sets(ns)}/ss/scale`, "merge", { spec: { replicas } })
  const breakProbe = (ns: TestNamespace, pod: string) => ns.sh(pod, "mv -v /www/index.html /tmp/")
  const mendProbe = (ns: TestNamespace, pod: string) => ns.sh(pod, "mv -v /tmp/index.html /www/")
  const untilReady = (ns: TestNamespace, pod: string, ready: boolean) =>
    ns.untilPod(pod, (found) => found !== undefined && isReady(found) === ready)
  const names = (pods: readonly Loose[]) => pods.map(({ metadata }) => metadata.name).toSorted()

  standIn(
    "StatefulSet Basic StatefulSet functionality Scaling should happen in predictable order and halt if any stateful pod is unhealthy",
    async (ns) => {
      const watch = await ns.cluster.watch(podsOf(ns))
      await createSet(ns, { replicas: 1 })
      await untilSet(ns, ({ readyReplicas }) => readyReplicas === 1)
      // given a pod that is not ready, then scaling up waits
      await breakProbe(ns, "ss-0")
      await untilReady(ns, "ss-0", false)
      await scale(ns, 3)
      await Bun.sleep(5000)
      expect(names((await ns.cluster.get(podsOf(ns))).items)).toEqual(["ss-0"])
      await mendProbe(ns, "ss-0")
      await untilSet(ns, ({ readyReplicas }) => readyReplicas === 3)
      // and scaling down waits when no pod is ready
      const all = ["ss-0", "ss-1", "ss-2"]
      await Promise.all(all.map((pod) => breakProbe(ns, pod)))
      await Promise.all(all.map((pod) => untilReady(ns, pod, false)))
      await scale(ns, 0)
      await Bun.sleep(5000)
      expect(names((await ns.cluster.get(podsOf(ns))).items)).toEqual(all)
      await Promise.all(all.map((pod) => mendProbe(ns, pod)))
      await untilSet(ns, ({ replicas }) => replicas === 0)
      const order = (type: string) =>
        watch.events.filter((event) => event.type === type).map(({ object }) => object.metadata.name)
      await watch.until(() => order("DELETED").length === 3)
      expect([order("ADDED"), order("DELETED")]).toEqual([
        ["ss-0", "ss-1", "ss-2"],
        ["ss-2", "ss-1", "ss-0"],
      ])
      watch.close()
    },
  )

  standIn(
    "StatefulSet Basic StatefulSet functionality Burst scaling should run to completion even with unhealthy pods",
    async (ns) => {
      await createSet(ns, { replicas: 1, podManagementPolicy: "Parallel" })
      await untilSet(ns, ({ readyReplicas }) => readyReplicas === 1)
      await breakProbe(ns, "ss-0")
      await untilReady(ns, "ss-0", false)
      await scale(ns, 3)
      await Promise.all(["ss-1", "ss-2"].map((pod) => untilReady(ns, pod, true)))
      await mendProbe(ns, "ss-0")
      await untilSet(ns, ({ readyReplicas }) => readyReplicas === 3)
      await breakProbe(ns, "ss-0")
      await untilReady(ns, "ss-0", false)
      await scale(ns, 0)
      await untilSet(ns, ({ replicas }) => replicas === 0)
      await ns.cluster.untilList(podsOf(ns), (pods) => pods.length === 0)
    },
  )

  standIn("StatefulSet Basic StatefulSet functionality Should recreate evicted statefulset", async (ns) => {
    // given a pod with the host port that the StatefulSet's pod needs on this node
    const [node] = (await ns.cluster.get("/api/v1/nodes")).items
    const container = { image: WEB, ports: [{ containerPort: 80, hostPort: 21_017 }] }
    await ns.runPod("holder", { nodeName: node!.metadata.name, containers: [container] })
    const watch = await ns.cluster.watch(podsOf(ns))
    await createSet(ns, {
      replicas: 1,
      template: template(ns, { restartPolicy: "Always", nodeName: node!.metadata.name, containers: [container] }),
    })
    // then it fails, and is created again
    await watch.until((events) => {
      const first = events.find(({ object }) => object.status.phase === "Failed")
      return first !== undefined && events.some(({ type }) => type === "DELETED")
    })
    watch.close()
    await ns.cluster.delete(`${ns.path}/pods/holder`)
    await ns.untilPod("ss-0", isReady)
  })

  const images = async (ns: TestNamespace) =>
    (await ns.cluster.get(podsOf(ns))).items
      .toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name))
      .map(({ spec }) => (spec["containers"] as { image: string }[])[0]!.image)
  const setImage = (ns: TestNamespace, image: string, more: object = {}) =>
    ns.cluster.patch(`${sets(ns)}/ss`, "strategic", {
      spec: { ...more, template: { spec: { containers: [{ name: "c", image }] } } },
    })
  const WEB_2 = WEB.replace(/:1$/, ":2")
  const partition = (ns: TestNamespace, count: number) =>
    ns.cluster.patch(`${sets(ns)}/ss`, "merge", {
      spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: count } } },
    })
  const settled = (ns: TestNamespace, revision: string) =>
    untilSet(
      ns,
      (status) =>
        status["currentRevision"] === revision &&
        status["updateRevision"] === revision &&
        status.readyReplicas === 3 &&
        status["currentReplicas"] === 3,
    )

  standIn(
    "StatefulSet Basic StatefulSet functionality should perform rolling updates and roll backs of template modifications",
    async (ns) => {
      await createSet(ns)
      const { status: first } = await untilSet(ns, ({ readyReplicas }) => readyReplicas === 3)
      expect(first["currentRevision"]).toBe(first["updateRevision"])
      // an update waits for a pod that is not ready
      await breakProbe(ns, "ss-1")
      await untilReady(ns, "ss-1", false)
      const watch = await ns.cluster.watch(podsOf(ns))
      await setImage(ns, WEB_2)
      const { status: updating } = await untilSet(ns, (status) => status["updateRevision"] !== first["updateRevision"])
      await Bun.sleep(3000)
      expect(await images(ns)).toEqual([WEB, WEB, WEB])
      await mendProbe(ns, "ss-1")
      const second = updating["updateRevision"] as string
      await settled(ns, second)
      expect(await images(ns)).toEqual([WEB_2, WEB_2, WEB_2])
      const deleted = watch.events.filter(({ type }) => type === "DELETED").map(({ object }) => object.metadata.name)
      expect(deleted).toEqual(["ss-2", "ss-1", "ss-0"])
      watch.close()
      // and back to the first revision
      await breakProbe(ns, "ss-1")
      await untilReady(ns, "ss-1", false)
      await setImage(ns, WEB)
      await mendProbe(ns, "ss-1")
      await settled(ns, first["currentRevision"] as string)
      expect(await images(ns)).toEqual([WEB, WEB, WEB])
    },
  )

  standIn(
    "StatefulSet Basic StatefulSet functionality should perform canary updates and phased rolling updates of template modifications",
    async (ns) => {
      await createSet(ns, { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 3 } } })
      const { status: first } = await untilSet(ns, ({ readyReplicas }) => readyReplicas === 3)
      // no pod below the partition is updated
      await setImage(ns, WEB_2)
      const { status: next } = await untilSet(ns, (status) => status["updateRevision"] !== first["updateRevision"])
      expect(await images(ns)).toEqual([WEB, WEB, WEB])
      // then one pod is updated, and keeps its revision when pods are created again
      await partition(ns, 2)
      await untilSet(ns, (status) => status["updatedReplicas"] === 1 && status.readyReplicas === 3)
      expect(await images(ns)).toEqual([WEB, WEB, WEB_2])
      for (const pod of ["ss-0", "ss-2"]) {
        const { uid } = (await ns.cluster.get(`${ns.path}/pods/${pod}`)).metadata
        await ns.cluster.delete(`${ns.path}/pods/${pod}`)
        await ns.untilPod(pod, (found) => isReady(found) && found!.metadata.uid !== uid)
      }
      expect(await images(ns)).toEqual([WEB, WEB, WEB_2])
      // then one pod after the other
      await partition(ns, 1)
      await untilSet(ns, (status) => status["updatedReplicas"] === 2 && status.readyReplicas === 3)
      expect(await images(ns)).toEqual([WEB, WEB_2, WEB_2])
      await partition(ns, 0)
      await settled(ns, next["updateRevision"] as string)
      expect(await images(ns)).toEqual([WEB_2, WEB_2, WEB_2])
    },
  )

  standIn("Daemon set should rollback without unnecessary restarts", async (ns) => {
    // Upstream needs two nodes to interrupt a rollout. With one node the test checks the same: a pod that the bad
    // template has not replaced is not restarted by the rollback.
    const path = `${ns.at("apps/v1")}/daemonsets`
    await ns.cluster.post(path, {
      metadata: { name: "ds" },
      spec: {
        selector: { matchLabels: { app: "app" } },
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        template: template(ns, { restartPolicy: "Always", containers: [{ image: WEB }] }),
      },
    })
    const good = (found: Loose | undefined) =>
      found?.status["numberReady"] === 1 && found.status.observedGeneration === found.metadata.generation
    await ns.cluster.until(`${path}/ds`, good)
    const [before] = (await ns.cluster.get(podsOf(ns))).items
    const setDaemonImage = (image: string) =>
      ns.cluster.patch(`${path}/ds`, "strategic", {
        spec: { template: { spec: { containers: [{ name: "c", image }] } } },
      })
    await setDaemonImage("foo:non-existent")
    await ns.cluster.untilList(podsOf(ns), (pods) => pods.some(({ spec }) => JSON.stringify(spec).includes("foo:non")))
    await setDaemonImage(WEB)
    await ns.cluster.untilList(podsOf(ns), running(1))
    await ns.cluster.until(`${path}/ds`, (found) => good(found) && found!.status["updatedNumberScheduled"] === 1)
    const [after] = (await ns.cluster.get(podsOf(ns))).items
    expect(after!.metadata.uid).toBe(before!.metadata.uid)
    expect((after!.status["containerStatuses"] as { restartCount: number }[])[0]!.restartCount).toBe(0)
  })

  standIn("Deployment deployment should support proportional scaling", async (ns) => {
    const deployments = `${ns.at("apps/v1")}/deployments`
    await ns.cluster.post(deployments, {
      metadata: { name: "web" },
      spec: {
        replicas: 10,
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } },
        selector: { matchLabels: { app: "app" } },
        template: template(ns, { restartPolicy: "Always", containers: [{ image: BUSYBOX, command: stay() }] }),
      },
    })
    await ns.cluster.until(`${deployments}/web`, (found) => found?.status.availableReplicas === 10)
    const replicaSets = async () =>
      (await ns.cluster.get(`${ns.at("apps/v1")}/replicasets`)).items.map(({ spec }) => ({
        bad: JSON.stringify(spec).includes("webserver:404"),
        replicas: spec.replicas,
      }))
    const untilSets = (wanted: { readonly good: number; readonly bad: number }) =>
      ns.cluster.untilList(`${ns.at("apps/v1")}/replicasets`, (found) => {
        const of = (bad: boolean) =>
          found.find(({ spec }) => JSON.stringify(spec).includes("webserver:404") === bad)?.spec.replicas
        return of(false) === wanted.good && of(true) === wanted.bad
      })
    // given a rollout that cannot continue: 10 + maxSurge pods, of which 10 - maxUnavailable are available
    await ns.cluster.patch(`${deployments}/web`, "strategic", {
      spec: { template: { spec: { containers: [{ name: "c", image: "webserver:404" }] } } },
    })
    await untilSets({ good: 8, bad: 5 })
    await ns.cluster.until(`${deployments}/web`, (found) => found?.status.availableReplicas === 8)
    // when it is scaled to 30, then both ReplicaSets get their share of the 20 new pods
    await ns.cluster.patch(`${deployments}/web/scale`, "merge", { spec: { replicas: 30 } })
    await untilSets({ good: 20, bad: 13 })
    expect(await replicaSets()).toHaveLength(2)
  })
})
