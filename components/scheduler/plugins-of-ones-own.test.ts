import { describe, expect, test } from "bun:test"
import { definePlugin, scaleDown } from "../../pkg/scheduler-plugin/scheduler.ts"
import { Event, Node, Pod, startCluster, type Cluster } from "../cluster/testing/testing.ts"

const podOf = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "web" }], ...spec },
})
const pod = (cluster: Cluster, name: string) => cluster.client.get(Pod, { name, namespace: "default" })
async function nodeOf(cluster: Cluster, name: string): Promise<string | undefined> {
  await cluster.advance("2s")
  return (await pod(cluster, name)).spec.nodeName
}
const condition = async (cluster: Cluster, name: string) =>
  (await pod(cluster, name)).status.conditions?.find(({ type }) => type === "PodScheduled")

describe("a plugin of one's own", () => {
  test("filters and scores nodes, by what is on them", async () => {
    // given a plugin that refuses red nodes, and prefers nodes with fewer pods of the same app
    const plugin = definePlugin({
      name: "Colours",
      weight: 1000,
      filter: (_pod, { node }) => (node.metadata.labels?.["colour"] === "red" ? "node(s) were red" : undefined),
      score: ({ metadata }, { pods }) =>
        pods.filter((other) => other.metadata.labels?.["app"] === metadata.labels?.["app"]).length,
      normalize: scaleDown,
    })
    await using cluster = await startCluster({
      nodes: [{ labels: { colour: "red" } }, {}, {}],
      schedulerPlugins: [plugin],
    })
    // when pods of one app come one after the other
    const nodes: string[] = []
    for (const name of ["a", "b", "c", "d"]) {
      await cluster.apply(podOf(name, {}, { labels: { app: "web" } }))
      nodes.push((await nodeOf(cluster, name)) ?? "none")
    }
    // then they alternate between the nodes that are not red
    expect(nodes.slice(0, 2).toSorted()).toEqual(["node-1", "node-2"])
    expect(nodes.slice(2).toSorted()).toEqual(["node-1", "node-2"])
    // and a pod that fits nowhere says why, with the plugin's reason
    await cluster.apply(podOf("red", { nodeSelector: { colour: "red" } }))
    await cluster.advance("1s")
    expect((await condition(cluster, "red"))?.message).toStartWith(
      "0/3 nodes are available: 1 node(s) were red, 2 node(s) didn't match Pod's node affinity/selector.",
    )
  })

  test("concerns the pods only that it selects", async () => {
    const asked: string[] = []
    const plugin = definePlugin({
      name: "Gpus",
      pods: { resources: ["example.com/gpu"], namespaces: ["default"] },
      filter({ metadata }) {
        asked.push(metadata.name ?? "")
        return "node(s) had no free slot"
      },
    })
    await using cluster = await startCluster({ nodes: 1, schedulerPlugins: [plugin] })
    await cluster.client.patch(
      Node,
      { name: "node-0" },
      {
        type: "merge",
        body: { status: { capacity: { "example.com/gpu": "4" }, allocatable: { "example.com/gpu": "4" } } },
      },
      { subresource: "status" },
    )
    const limits = { "example.com/gpu": "1" }
    await cluster.apply([
      podOf("plain"),
      podOf("gpu", { containers: [{ name: "c", image: "web", resources: { limits } }] }),
    ])
    expect(await nodeOf(cluster, "plain")).toBe("node-0")
    expect(await nodeOf(cluster, "gpu")).toBeUndefined()
    expect(new Set(asked)).toEqual(new Set(["gpu"]))
  })

  test.each(["cpu", "memory", "ephemeral-storage"])("concerns pods that request %s", async (resource) => {
    const plugin = definePlugin({ name: "Refuses", pods: { resources: [resource] }, filter: () => "no" })
    await using cluster = await startCluster({ nodes: 1, schedulerPlugins: [plugin] })
    const requests = { [resource]: "1" }
    await cluster.apply([
      podOf("plain"),
      podOf("asks", { containers: [{ name: "c", image: "web", resources: { requests } }] }),
    ])
    expect(await nodeOf(cluster, "plain")).toBe("node-0")
    expect(await nodeOf(cluster, "asks")).toBeUndefined()
  })

  test("is asked at every extension point, in the framework's order", async () => {
    // given
    const points: string[] = []
    const note = (point: string) => void points.push(point)
    const plugin = definePlugin<{ greeting: string }>({
      name: "Everywhere",
      preFilter: (_pod, { args, state }) => (state.set("greeting", args.greeting), note("preFilter")),
      filter: (_pod, _node, { state }) => note(`filter ${state.get("greeting")}`),
      preScore: () => note("preScore"),
      score: () => (note("score"), 1),
      reserve: (_pod, { name }) => note(`reserve ${name.slice(0, 4)}`),
      permit: () => note("permit"),
      preBind: () => note("preBind"),
      bind: () => (note("bind"), false),
      postBind: () => note("postBind"),
    })
    await using cluster = await startCluster({
      nodes: 2,
      schedulerPlugins: [plugin],
      schedulerConfig: {
        apiVersion: "kubescheduler.config.k8s.io/v1",
        kind: "KubeSchedulerConfiguration",
        profiles: [{ pluginConfig: [{ name: "Everywhere", args: { greeting: "hello" } }] }],
      },
    })
    // when
    await cluster.apply(podOf("p"))
    // then
    expect(await nodeOf(cluster, "p")).toStartWith("node-")
    expect(points).toEqual([
      "preFilter",
      "filter hello",
      "filter hello",
      "preScore",
      "score",
      "score",
      "reserve node",
      "permit",
      "preBind",
      "bind",
      "postBind",
    ])
  })

  test("holds pods back until their group is complete, and gives back what it kept when one is refused", async () => {
    // given a plugin that binds pods of a group together
    const waiting = new Map<string, () => void>()
    const kept: string[] = []
    const plugin = definePlugin({
      name: "Gangs",
      deadlines: { permit: "1m" },
      reserve: ({ metadata }) => void kept.push(metadata.name!),
      unreserve: ({ metadata }) => void kept.splice(kept.indexOf(metadata.name!), 1),
      permit: ({ metadata }) =>
        new Promise<void>((resolve) => {
          waiting.set(metadata.name!, resolve)
          if (waiting.size === 3) for (const bind of waiting.values()) bind()
        }),
    })
    await using cluster = await startCluster({ nodes: 1, schedulerPlugins: [plugin] })
    // when two of three are there
    await cluster.apply([podOf("a"), podOf("b")])
    expect([await nodeOf(cluster, "a"), kept.toSorted()]).toEqual([undefined, ["a", "b"]])
    // then they are bound with the third
    await cluster.apply(podOf("c"))
    expect(await nodeOf(cluster, "a")).toBe("node-0")
    // and one that waits in vain gives back what it has, and is tried again
    waiting.clear()
    await cluster.apply(podOf("alone"))
    expect([await nodeOf(cluster, "alone"), kept.includes("alone")]).toEqual([undefined, true])
    await cluster.advance("59s")
    expect(kept.filter((name) => name === "alone").length).toBeLessThan(2)
    await cluster.client.delete(Pod, { name: "alone", namespace: "default" })
    await cluster.advance("2m")
  })

  test("refuses a pod that has its node, which waits then for the events of the plugin", async () => {
    let isOpen = false
    const plugin = definePlugin({
      name: "Door",
      events: ["Node/UpdateLabel"],
      permit: () => (isOpen ? undefined : "the door is closed"),
    })
    await using cluster = await startCluster({ nodes: 1, schedulerPlugins: [plugin] })
    await cluster.apply(podOf("p"))
    expect(await nodeOf(cluster, "p")).toBeUndefined()
    expect(await condition(cluster, "p")).toMatchObject({ reason: "Unschedulable", message: "the door is closed" })
    isOpen = true
    await cluster.apply(podOf("other"))
    await cluster.advance("30s")
    expect((await pod(cluster, "p")).spec.nodeName).toBeUndefined()
    await cluster.kubectl("label node node-0 door=open")
    await cluster.advance("5s")
    expect((await pod(cluster, "p")).spec.nodeName).toBe("node-0")
  })

  test("binds pods itself, and is not believed where it has not", async () => {
    const plugin = definePlugin({ name: "Binder", bind: () => true })
    await using cluster = await startCluster({ nodes: 1, schedulerPlugins: [plugin] })
    await cluster.apply(podOf("p"))
    expect(await nodeOf(cluster, "p")).toBeUndefined()
  })

  test("nominates a node for a pod that fits nowhere", async () => {
    const seen: object[] = []
    const plugin = definePlugin({
      name: "Makes-Room",
      filter: (_pod, { name }) => (name === "node-0" ? { reason: "node(s) were full", unresolvable: true } : "no"),
      postFilter(_pod, refused) {
        seen.push(refused)
        return { nominate: "node-1" }
      },
    })
    await using cluster = await startCluster({ nodes: 2, schedulerPlugins: [plugin] })
    await cluster.apply(podOf("p"))
    await cluster.advance("1s")
    expect((await pod(cluster, "p")).status.nominatedNodeName).toBe("node-1")
    expect(seen[0]).toEqual({
      "node-0": { reason: "node(s) were full", unresolvable: true },
      "node-1": { reason: "no" },
    })
  })

  test("keeps pods from the queue, and lets them in when an event has changed its mind", async () => {
    let isOpen = false
    const asked: string[] = []
    const plugin = definePlugin({
      name: "Gate",
      events: ["Node/UpdateLabel"],
      pods: { labels: { gated: "yes" } },
      preEnqueue({ metadata }) {
        asked.push(metadata.name!)
        return isOpen ? undefined : "not yet"
      },
    })
    await using cluster = await startCluster({ nodes: 1, schedulerPlugins: [plugin] })
    await cluster.apply([podOf("gated", {}, { labels: { gated: "yes" } }), podOf("free")])
    expect([await nodeOf(cluster, "gated"), await nodeOf(cluster, "free")]).toEqual([undefined, "node-0"])
    isOpen = true
    await cluster.advance("1m")
    expect(asked).toEqual(["gated"])
    await cluster.kubectl("label node node-0 open=yes")
    await cluster.advance("3s")
    expect((await pod(cluster, "gated")).spec.nodeName).toBe("node-0")
  })

  test("is asked again about a pod that it refused while the event came that changed its mind", async () => {
    // given a plugin that thinks about a pod
    const thinking = Promise.withResolvers<string>()
    let asked = 0
    const plugin = definePlugin({
      name: "Gate",
      events: ["Node/UpdateLabel"],
      preEnqueue: () => (asked++ === 0 ? thinking.promise : undefined),
    })
    await using cluster = await startCluster({ nodes: 1, schedulerPlugins: [plugin] })
    await cluster.apply(podOf("p"))
    await cluster.advance("100ms")
    // when the event comes before its answer
    await cluster.kubectl("label node node-0 open=yes")
    await cluster.advance("100ms")
    expect(asked).toBe(1)
    thinking.resolve("not yet")
    // then
    await cluster.advance("3s")
    expect((await pod(cluster, "p")).spec.nodeName).toBe("node-0")
  })

  test("orders the queue", async () => {
    const order: string[] = []
    const plugin = definePlugin({
      name: "Shortest-First",
      queueSort: ({ metadata }) => Number(metadata.annotations?.["minutes"] ?? 0),
      filter({ metadata }) {
        if (!order.includes(metadata.name!)) order.push(metadata.name!)
      },
    })
    await using cluster = await startCluster({ nodes: 1, schedulerPlugins: [plugin] })
    {
      await using _down = await cluster.faults.crashed("scheduler")
      await cluster.apply([
        podOf("long", {}, { annotations: { minutes: "60" } }),
        podOf("short", {}, { annotations: { minutes: "1" } }),
        podOf("medium", {}, { annotations: { minutes: "5" } }),
      ])
    }
    await cluster.advance("2s")
    expect(order).toEqual(["short", "medium", "long"])
  })

  test("says which events help a pod that it has refused", async () => {
    let hasRoom = false
    const hints: string[] = []
    let tries = 0
    const plugin = definePlugin({
      name: "Hinting",
      events: ["Node/UpdateLabel"],
      filter() {
        tries++
        return hasRoom ? undefined : "no room"
      },
      queueingHint(_pod, { event, object }) {
        const { labels } = (object as Node).metadata
        hints.push(`${event} ${JSON.stringify(labels?.["room"])}`)
        return labels?.["room"] === "yes"
      },
    })
    await using cluster = await startCluster({ nodes: 1, schedulerPlugins: [plugin] })
    await cluster.apply(podOf("p"))
    await cluster.advance("2s")
    const before = tries
    hasRoom = true
    await cluster.kubectl("label node node-0 room=no")
    await cluster.advance("20s")
    expect([tries, hints]).toEqual([before, ['Node/UpdateLabel "no"']])
    await cluster.kubectl("label node node-0 --overwrite room=yes")
    await cluster.advance("5s")
    expect((await pod(cluster, "p")).spec.nodeName).toBe("node-0")
  })

  test("keeps no cluster from its end while a pod waits for it", async () => {
    const plugin = definePlugin({ name: "Waits", unreserve() {}, reserve() {}, permit: () => new Promise(() => {}) })
    const cluster = await startCluster({ nodes: 1, schedulerPlugins: [plugin] })
    await cluster.apply(podOf("p"))
    await cluster.advance("1s")
    const before = await cluster.client.get(Pod, { name: "p", namespace: "default" })
    await cluster.stop()
    expect(before.spec.nodeName).toBeUndefined()
  })

  test("that throws or never answers fails the pods that need it with its name, and no others", async () => {
    const plugin = definePlugin({
      name: "Broken",
      pods: { labels: { needs: "broken" } },
      filter({ metadata }) {
        if (metadata.name === "hangs") return new Promise<undefined>(() => {})
        throw new Error("no such colour")
      },
    })
    await using cluster = await startCluster({ nodes: 1, schedulerPlugins: [plugin] })
    await cluster.apply([
      podOf("hangs", {}, { labels: { needs: "broken" } }),
      podOf("throws", {}, { labels: { needs: "broken" } }),
      podOf("fine"),
    ])
    expect(await nodeOf(cluster, "fine")).toBe("node-0")
    expect(await condition(cluster, "hangs")).toMatchObject({
      reason: "SchedulerError",
      message: "plugin Broken: filter has not answered within 1s",
    })
    expect((await condition(cluster, "throws"))?.message).toBe("plugin Broken: filter failed: no such colour")
    const events = await cluster.list(Event)
    expect(events.filter(({ involvedObject: { name } }) => name === "throws").map(({ reason }) => reason)).toContain(
      "FailedScheduling",
    )
  })

  test("that is ignorable, or only fails to score, keeps no pod from its node", async () => {
    const fails = (): never => {
      throw new Error("no")
    }
    const plugins = [
      definePlugin({ name: "Ignorable", ignorable: true, filter: fails, reserve: fails, preBind: fails }),
      definePlugin({ name: "Scores", score: () => Number.NaN }),
    ]
    await using cluster = await startCluster({ nodes: 2, schedulerPlugins: plugins })
    await cluster.apply(podOf("p"))
    expect(await nodeOf(cluster, "p")).toStartWith("node-")
  })
})

test.each([
  [{ name: "x" }, "the plugin does nothing: it needs one of preEnqueue"],
  [{ name: "a b", filter() {} }, "name must be letters, digits and hyphens"],
  [{ name: "x", filters() {} }, "filters is nothing that a plugin can have; did you mean filter?"],
  [{ name: "x", filter: 1 }, "filter must be a function"],
  [
    { name: "x", filter() {}, deadlines: { filter: "1h" } },
    'deadlines.filter must be a duration up to 15m, as in "500ms"',
  ],
  [{ name: "x", filter() {}, events: ["Node/Gone"] }, 'events: "Node/Gone" is none of Node/Add'],
])("startCluster refuses the plugin %p: %s", async (plugin, message) => {
  await expect(startCluster({ schedulerPlugins: [plugin as never] })).rejects.toThrow(
    `Cannot use schedulerPlugins: ${message}`,
  )
})
