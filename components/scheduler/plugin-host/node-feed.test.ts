import { expect, test } from "bun:test"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { NodeMirror } from "../../../pkg/scheduler-plugin/node-mirror.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Cache } from "../cache.ts"
import { nodeOf, podOf } from "../schedule-one.fixtures.ts"
import { MOST_NODES, NodeFeed, viewOf } from "./node-feed.ts"

/** Sends what has changed, as JSON. Returns the number of messages, and of nodes in them. */
function send(feed: NodeFeed, cache: Cache, mirror: NodeMirror) {
  let [messages, nodes] = [0, 0]
  for (let next = feed.next(cache.list); next !== undefined; next = feed.next(cache.list)) {
    messages++
    nodes += next.change.nodes.length
    mirror.apply(JSON.parse(JSON.stringify(next.change)) as typeof next.change)
  }
  return { messages, nodes }
}

test("a plugin sees the nodes as the scheduler does, whatever happens to them", () => {
  for (let seed = 1; seed <= 20; seed++) {
    // given
    const random = seededRandom(seed)
    const [cache, feed, mirror] = [new Cache(), new NodeFeed(), new NodeMirror()]
    const placed: Pod[] = []
    for (let step = 0; step < 150; step++) {
      // when nodes come, change and go, and pods are bound, change and end
      const name = `node-${Math.floor(random.next() * 8)}`
      const chance = random.next()
      if (chance < 0.25) cache.setNode(nodeOf(name, { labels: { step: `${Math.floor(random.next() * 3)}` } }))
      else if (chance < 0.3) cache.removeNode(name)
      else if (chance < 0.6) {
        const pod = podOf(`p-${step}`, {}, { node: name })
        placed.push(pod)
        if (random.next() < 0.5) cache.setPod(pod)
        else cache.assume({ ...pod, spec: { ...pod.spec, nodeName: undefined } } as unknown as Pod, name)
      } else if (chance < 0.8 && placed.length > 0) {
        const at = Math.floor(random.next() * placed.length)
        const { metadata, ...pod } = placed[at]!
        placed[at] = { ...pod, metadata: { ...metadata, labels: { step: `${step}` } } } as Pod
        cache.setPod(placed[at])
      } else if (placed.length > 0) cache.forget(placed.splice(0, 1)[0]!)
      // then
      if (random.next() < 0.4) continue
      send(feed, cache, mirror)
      const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
      const byName = new Map(mirror.list.map((view) => [view.name, view]))
      expect([...byName.keys()].toSorted()).toEqual(cache.list.map((info) => info.name).toSorted())
      for (const info of cache.list) {
        const { pods, ...rest } = viewOf(info)
        const { pods: seen, ...shown } = byName.get(info.name)!
        const inOrder = (list: readonly Pod[]) =>
          list.toSorted((a, b) => (a.metadata.uid! < b.metadata.uid! ? -1 : 1)).map(plain)
        expect(plain(shown)).toEqual(plain(rest))
        expect(inOrder(seen)).toEqual(inOrder(pods))
      }
    }
  }
})

test("a large cluster is sent in parts, and then only what has changed", () => {
  const [cache, feed, mirror] = [new Cache(), new NodeFeed(), new NodeMirror()]
  for (let i = 0; i < 250; i++) cache.setNode(nodeOf(`node-${i}`))
  expect(send(feed, cache, mirror)).toEqual({ messages: Math.ceil(250 / MOST_NODES), nodes: 250 })
  expect(send(feed, cache, mirror)).toEqual({ messages: 0, nodes: 0 })
  // A heartbeat is nothing that plugins see.
  cache.setNode(nodeOf("node-7"))
  cache.assume(podOf("p"), "node-3")
  expect(send(feed, cache, mirror).nodes).toBeLessThanOrEqual(2)
  expect(mirror.get("node-3")?.pods).toHaveLength(1)
})

test("a node that was deleted and created again has only the pods that are there", () => {
  // given a plugin that has seen two pods on a node
  const [cache, feed, mirror] = [new Cache(), new NodeFeed(), new NodeMirror()]
  const [stays, ends] = [podOf("stays", {}, { node: "a" }), podOf("ends", {}, { node: "a" })]
  cache.setNode(nodeOf("a"))
  for (const pod of [stays, ends]) cache.setPod(pod)
  send(feed, cache, mirror)
  // when the node comes again without one of them, and the plugin hears of nothing in between
  cache.removeNode("a")
  cache.forget(ends)
  cache.setNode(nodeOf("a", { labels: { again: "yes" } }))
  send(feed, cache, mirror)
  // then
  const { node, pods } = mirror.get("a")!
  expect(node.metadata.labels).toMatchObject({ again: "yes" })
  expect(pods.map(({ metadata }) => metadata.name)).toEqual(["stays"])
})
