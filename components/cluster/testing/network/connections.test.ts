import { describe, expect, test } from "bun:test"
import { Pod, startCluster, type Cluster, type ImageBehaviour } from "../testing.ts"
import { namespaceOf, outcome, podOf, serviceOf } from "./traffic.fixtures.ts"

/** An image that sends a line each second, five in all, and says when its client has left. */
const lines = (left: string[] = []): ImageBehaviour => ({
  http: (_request, container) => {
    let sent = 0
    return new Response(
      new ReadableStream<Uint8Array>({
        async pull(controller) {
          await container.sleep(1000)
          controller.enqueue(new TextEncoder().encode(`${++sent}\n`))
          if (sent === 5) controller.close()
        },
        cancel: () => void left.push(container.pod.name),
      }),
    )
  },
})

/** A cluster whose pod `feed` streams, on node-1. */
async function start(image: ImageBehaviour): Promise<Cluster> {
  const cluster = await startCluster({ nodes: 2, images: { feed: image } })
  await cluster.apply([
    podOf("feed", "feed", { nodeName: "node-1", terminationGracePeriodSeconds: 30 }),
    serviceOf("feed"),
  ])
  await cluster.settle()
  return cluster
}

/** Reads a body to its end. Returns what came, and the code of the error that ended it. */
async function read(response: Response): Promise<string> {
  let all = ""
  try {
    for await (const part of response.body as unknown as AsyncIterable<Uint8Array>)
      all += new TextDecoder().decode(part)
    return all
  } catch (err) {
    return `${all}${(err as { readonly code?: string }).code}`
  }
}

describe("a body that is streamed", () => {
  test("arrives in the cluster's time, also when the test only reads", async () => {
    await using cluster = await start(lines())
    const began = cluster.now
    const response = await cluster.fetch("http://feed/")
    expect(cluster.now).toEqual(began)
    expect(await response.text()).toBe("1\n2\n3\n4\n5\n")
    expect(cluster.now.getTime() - began.getTime()).toBe(5000)
  })

  test("is reset when its pod ends", async () => {
    await using cluster = await start(lines())
    const response = await cluster.fetch("http://feed/")
    await cluster.advance("2500ms")
    await cluster.delete(Pod, "feed")
    expect(await read(response)).toBe("1\n2\nECONNRESET")
  })

  test("is reset when its container is killed", async () => {
    await using cluster = await start({ ...lines(), memoryBytes: 1 })
    const response = await cluster.fetch("http://feed/")
    await cluster.advance("1500ms")
    cluster.container("feed")!.exit(1)
    expect(await read(response)).toBe("1\nECONNRESET")
  })

  test("stops without a word when its node is lost, until the client gives up", async () => {
    await using cluster = await start(lines())
    const response = await cluster.fetch("http://feed/")
    await cluster.advance("1500ms")
    await using _lost = await cluster.faults.nodeLost("node-1")
    const began = cluster.now
    expect(await read(response)).toBe("1\nETIMEDOUT")
    expect(cluster.now.getTime() - began.getTime()).toBe(30_000)
  })

  test("goes on where a node was cut off for a short time", async () => {
    await using cluster = await start(lines())
    const response = await cluster.fetch("http://feed/")
    const cut = await cluster.faults.nodePartitioned("node-1")
    await cluster.advance("3500ms")
    await cut.end()
    expect(await read(response)).toBe("1\n2\n3\n4\n5\n")
  })

  test("ends for the image when the client leaves", async () => {
    const left: string[] = []
    await using cluster = await start(lines(left))
    const response = await cluster.fetch("http://feed/")
    await response.body!.cancel()
    await cluster.advance("10s")
    expect(left).toEqual(["feed"])
  })
})

describe("a request that waits for its answer", () => {
  const slow: ImageBehaviour = {
    http: async (_request, container) => {
      await container.sleep(10_000)
      return new Response("done")
    },
  }

  test("is reset when the pod ends, and fails with the client's timeout when the node is lost", async () => {
    await using cluster = await start(slow)
    const first = outcome(cluster.fetch("http://feed/"))
    await cluster.delete(Pod, "feed")
    expect(await first).toBe("ECONNRESET")
    await cluster.apply(podOf("feed", "feed", { nodeName: "node-1" }))
    await cluster.advance("10s")
    const second = outcome(cluster.fetch("http://feed/", { timeout: "7s" }))
    await using _lost = await cluster.faults.nodeLost("node-1")
    expect(await second).toBe("ETIMEDOUT")
  })

  test("is answered by a pod that drains, which takes no new one and then ends with 0", async () => {
    await using cluster = await start({ ...slow, onStop: "drain" })
    const first = outcome(cluster.fetch("http://feed/"))
    await cluster.advance("1s")
    const { status } = await cluster.get(Pod, "feed")
    const container = cluster.container("feed")!
    // when
    await cluster.delete(Pod, "feed")
    expect(await outcome(cluster.fetch(`http://${status.podIP}:8080/`))).toBe("ECONNREFUSED")
    expect(await first).toBe("done")
    await cluster.settle()
    expect([container.running, container.exitCode]).toEqual([false, 0])
  })

  test("ends with its signal", async () => {
    await using cluster = await start(slow)
    const leaving = new AbortController()
    const answer = outcome(cluster.fetch("http://feed/", { signal: leaving.signal }))
    await cluster.advance("1s")
    leaving.abort(new Error("enough"))
    expect(await answer).toBe("enough")
  })
})

describe("a container", () => {
  test("sends requests to others, as its pod", async () => {
    // given a pod that asks another each second and logs the answer
    await using cluster = await startCluster({
      nodes: 2,
      images: {
        web: {
          http: (request, { pod }) =>
            new Response(`${pod.name} got ${request.method} ${new URL(request.url).pathname}`),
        },
        asking: {
          async run(container) {
            container.log((await container.lookup("web")).join())
            for (;;) {
              container.log(await outcome(container.fetch("http://web/items", { method: "POST", body: "one" })))
              await container.sleep(1000)
            }
          },
        },
      },
    })
    await cluster.apply([
      namespaceOf("team"),
      podOf("web", "web", { namespace: "team" }),
      serviceOf("web", { clusterIP: "10.43.7.7" }, "team"),
    ])
    await cluster.settle()
    await cluster.apply(podOf("asking", "asking", { namespace: "team" }))
    await cluster.advance("1500ms")
    // then
    const logs = async () => (await cluster.logs("team/asking")).trimEnd().split("\n")
    expect(await logs()).toEqual(["10.43.7.7", "web got POST /items", "web got POST /items"])
    // and a NetworkPolicy for its pod keeps it from the other
    await cluster.apply({
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "none", namespace: "team" },
      spec: { podSelector: { matchLabels: { app: "web" } }, policyTypes: ["Ingress"] },
    })
    await cluster.advance("32s")
    expect((await logs()).at(-1)).toBe("ETIMEDOUT")
  })

  test("that ends gives up its requests", async () => {
    const seen: string[] = []
    await using cluster = await startCluster({
      nodes: 1,
      images: {
        feed: lines(seen),
        asking: { run: async (container) => void seen.push(await read(await container.fetch("http://feed/"))) },
      },
    })
    await cluster.apply([podOf("feed", "feed"), serviceOf("feed")])
    await cluster.apply(podOf("asking", "asking", { restartPolicy: "Never" }))
    await cluster.advance("2500ms")
    cluster.container("asking")!.exit(1)
    await cluster.advance("10s")
    expect(seen.toSorted()).toEqual(["1\n2\nundefined", "feed"])
  })

  test("is probed by its kubelet also while the node is cut off", async () => {
    // given a pod with a liveness probe
    await using cluster = await startCluster({ nodes: 1 })
    const livenessProbe = { httpGet: { port: 8080 }, periodSeconds: 5, failureThreshold: 1 }
    await cluster.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web" },
      spec: { containers: [{ name: "main", image: "web", livenessProbe }] },
    })
    await cluster.advance("10s")
    // when
    await using cut = await cluster.faults.nodePartitioned("node-0")
    await cluster.advance("1m")
    await cut.end()
    await cluster.advance("10s")
    // then
    expect((await cluster.get(Pod, "web")).status.containerStatuses![0]!.restartCount).toBe(0)
  })
})
