import { describe, expect, test } from "bun:test"
import { EndpointSlice, NetworkPolicy, Node, Pod, Service, startCluster, type Cluster, type From } from "../testing.ts"
import { named, namespaceOf, outcome, podOf, serviceOf } from "./traffic.fixtures.ts"

const text = async (cluster: Cluster, url: string, from?: From) =>
  outcome(cluster.fetch(url, from === undefined ? {} : { from }))

describe("a name in the URL of fetch", () => {
  test("is looked up as the sender's resolver does", async () => {
    // given Services of two namespaces, one headless, and two names elsewhere
    await using cluster = await startCluster({ nodes: 2, images: { named } })
    await cluster.apply([
      namespaceOf("team"),
      podOf("web", "named"),
      serviceOf("web"),
      podOf("db", "named", { namespace: "team", hostname: "db-0", subdomain: "db" }),
      serviceOf("db", { clusterIP: "None" }, "team"),
      serviceOf(
        "alias",
        { type: "ExternalName", externalName: "web.default.svc.cluster.local", selector: null },
        "team",
      ),
      serviceOf("far", { type: "ExternalName", externalName: "db.example.com", selector: null }, "team"),
    ])
    await cluster.settle()
    const inTeam = { namespace: "team" }
    // then
    for (const [url, from, answer] of [
      ["http://web/", undefined, "web"],
      ["http://web/", inTeam, "ENOTFOUND"],
      ["http://web.default/", inTeam, "web"],
      ["http://web.default.svc.cluster.local/", inTeam, "web"],
      ["http://web.default.svc.cluster.local./", inTeam, "web"],
      ["http://db:8080/", inTeam, "db"],
      ["http://db-0.db:8080/", inTeam, "db"],
      ["http://alias/", inTeam, "web"],
      ["http://far/", inTeam, "ENOTFOUND"],
      ["http://nothing.example.com/", undefined, "ENOTFOUND"],
      ["http://web/", { node: "node-0" }, "ENOTFOUND"],
      ["http://web.default.svc/", { ip: "203.0.113.7" }, "ENOTFOUND"],
    ] as const)
      expect([url, from, await text(cluster, url, from)]).toEqual([url, from, answer])
  })

  test("of a pod that runs is looked up by its own settings", async () => {
    await using cluster = await startCluster({ nodes: 1, images: { named } })
    await cluster.apply([
      namespaceOf("team"),
      podOf("web", "named", { namespace: "team" }),
      serviceOf("web", {}, "team"),
      podOf("usual", "named", { namespace: "team" }),
      podOf("node-like", "named", { namespace: "team", dnsPolicy: "Default" }),
      podOf("own", "named", {
        dnsPolicy: "None",
        dnsConfig: { nameservers: ["10.43.0.10"], searches: ["team.svc.cluster.local"] },
      }),
    ])
    await cluster.settle()
    expect(await text(cluster, "http://web/", "team/usual")).toBe("web")
    expect(await text(cluster, "http://web/", "team/node-like")).toBe("ENOTFOUND")
    expect(await text(cluster, "http://web/", "own")).toBe("web")
    expect(await text(cluster, "http://localhost:8080/", "own")).toBe("own")
  })
})

describe("a Service", () => {
  test("without endpoints refuses connections, and one with local endpoints only drops those of other nodes", async () => {
    await using cluster = await startCluster({ nodes: 2, images: { named } })
    await cluster.apply([
      podOf("web", "named", { nodeName: "node-1" }),
      serviceOf("web", { internalTrafficPolicy: "Local" }),
      serviceOf("none"),
    ])
    await cluster.settle()
    expect(await text(cluster, "http://none/")).toBe("ECONNREFUSED")
    expect(await text(cluster, "http://web.default.svc.cluster.local/", { node: "node-0" })).toBe("ENOTFOUND")
    const { spec } = await cluster.get(Service, "web")
    expect(await text(cluster, `http://${spec.clusterIP}/`, { node: "node-1" })).toBe("web")
    expect(await text(cluster, `http://${spec.clusterIP}/`, { node: "node-0" })).toBe("ETIMEDOUT")
  })

  test("is reached from outside by the ports of nodes, not by its own address", async () => {
    await using cluster = await startCluster({ nodes: 2, images: { named } })
    await cluster.apply([
      podOf("web", "named", { nodeName: "node-1" }),
      serviceOf("web", { type: "NodePort", ports: [{ port: 80, targetPort: "http", nodePort: 30_080 }] }),
      podOf("near", "named", { nodeName: "node-1" }),
      serviceOf("near", {
        type: "NodePort",
        externalTrafficPolicy: "Local",
        ports: [{ port: 80, targetPort: "http", nodePort: 30_081 }],
      }),
    ])
    await cluster.settle()
    const outside = { ip: "203.0.113.7" }
    const [first, second] = (await cluster.list(Node)).map(
      ({ status }) => status.addresses!.find(({ type }) => type === "InternalIP")!.address,
    )
    expect(await text(cluster, `http://${first}:30080/`, outside)).toBe("web")
    expect(await text(cluster, `http://${first}:30081/`, outside)).toBe("ETIMEDOUT")
    expect(await text(cluster, `http://${second}:30081/`, outside)).toBe("near")
    expect(await text(cluster, `http://${first}:30081/`)).toBe("near")
    const { spec } = await cluster.get(Service, "web")
    expect(await text(cluster, `http://${spec.clusterIP}/`, outside)).toBe("ETIMEDOUT")
    const { status } = await cluster.get(Pod, "web")
    expect(await text(cluster, `http://${status.podIP}:8080/`, outside)).toBe("ETIMEDOUT")
  })

  test("with session affinity keeps a client at one pod", async () => {
    await using cluster = await startCluster({ nodes: 1, images: { named } })
    await cluster.apply([
      ...[0, 1, 2, 3].map((i) => ({
        ...podOf(`web-${i}`, "named"),
        metadata: { name: `web-${i}`, labels: { app: "web" } },
      })),
      serviceOf("web", { sessionAffinity: "ClientIP" }),
    ])
    await cluster.settle()
    const answers = new Set<string>()
    for (let i = 0; i < 10; i++) answers.add(await text(cluster, "http://web/"))
    expect(answers.size).toBe(1)
  })
})

describe("NetworkPolicies", () => {
  const policyOf = (name: string, spec: object) => ({
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name },
    spec,
  })

  test("decide who reaches a pod, by the pods and labels that fetch sends from", async () => {
    // given a pod that only those of another namespace may reach, at one port
    await using cluster = await startCluster({ nodes: 2, images: { named } })
    await cluster.apply([
      namespaceOf("team", { team: "shop" }),
      podOf("web", "named", { nodeName: "node-1" }),
      serviceOf("web"),
      podOf("client", "named", { namespace: "team" }),
      podOf("other", "named"),
      policyOf("web", {
        podSelector: { matchLabels: { app: "web" } },
        ingress: [
          {
            from: [
              { namespaceSelector: { matchLabels: { team: "shop" } }, podSelector: { matchLabels: { app: "client" } } },
            ],
            ports: [{ port: "http" }],
          },
        ],
      }),
    ])
    await cluster.settle()
    const url = "http://web.default.svc.cluster.local/"
    const { status } = await cluster.get(Pod, "web")
    // then
    expect(await text(cluster, url, "team/client")).toBe("web")
    expect(await text(cluster, url, { namespace: "team", labels: { app: "client" } })).toBe("web")
    expect(await text(cluster, url, { namespace: "team" })).toBe("ETIMEDOUT")
    expect(await text(cluster, url, "other")).toBe("ETIMEDOUT")
    expect(await text(cluster, url)).toBe("ETIMEDOUT")
    expect(await text(cluster, `http://${status.podIP}:9090/`, "team/client")).toBe("ETIMEDOUT")
    // and its node reaches it always, as for probes, and others by their addresses
    expect(await text(cluster, `http://${status.podIP}:8080/`, { node: "node-1" })).toBe("web")
    expect(await text(cluster, `http://${status.podIP}:8080/`, { node: "node-0" })).toBe("ETIMEDOUT")
    expect(await text(cluster, "http://localhost:8080/", "default/web")).toBe("web")
    // and the error says why
    const err = await cluster.fetch(url, { timeout: "5s" }).catch((cause: Error) => cause)
    expect(String(err)).toContain("(no rule of NetworkPolicy default/web allows this ingress)")
    // and without the policy all reach it
    await cluster.delete(NetworkPolicy, "web")
    expect(await text(cluster, url, "other")).toBe("web")
  })

  test("for what a pod sends also keep it from DNS", async () => {
    await using cluster = await startCluster({ nodes: 1, images: { named } })
    const to = [{ podSelector: { matchLabels: { app: "web" } } }]
    await cluster.apply([
      podOf("web", "named"),
      serviceOf("web"),
      podOf("client", "named"),
      policyOf("client", {
        podSelector: { matchLabels: { app: "client" } },
        policyTypes: ["Egress"],
        egress: [{ to }],
      }),
    ])
    await cluster.settle()
    const { spec } = await cluster.get(Service, "web")
    // then
    expect(await text(cluster, `http://${spec.clusterIP}/`, "client")).toBe("web")
    expect(await text(cluster, "http://web/", "client")).toBe("EAI_AGAIN")
    // when the usual rule for DNS is added
    const dns = {
      to: [{ namespaceSelector: {}, podSelector: { matchLabels: { "k8s-app": "kube-dns" } } }],
      ports: [{ port: 53, protocol: "UDP" }],
    }
    await cluster.client.patch(NetworkPolicy, "client", { type: "merge", body: { spec: { egress: [{ to }, dns] } } })
    expect(await text(cluster, "http://web/", "client")).toBe("web")
  })
})

describe("the fault endpointsLag", () => {
  const start = async () => {
    const cluster = await startCluster({ nodes: 2, images: { named } })
    await cluster.apply([podOf("web", "named"), serviceOf("web")])
    await cluster.settle()
    return cluster
  }
  const ready = (cluster: Cluster) =>
    cluster.eventually(
      EndpointSlice,
      { labels: "kubernetes.io/service-name=web" },
      ([slice]) => slice!.endpoints?.[0]?.conditions?.ready === true,
    )

  test("keeps connections of one node going to a pod that has ended, and not longer than it says", async () => {
    await using cluster = await start()
    const { spec } = await cluster.get(Service, "web")
    const url = `http://${spec.clusterIP}/`
    const [slow, quick] = [{ node: "node-0" }, { node: "node-1" }]
    // when the pod is replaced while one node hears of it late
    await using _lag = await cluster.faults.endpointsLag("node-0", "3s")
    await cluster.delete(Pod, "web")
    await cluster.apply(podOf("web", "named"))
    await ready(cluster)
    // then
    expect(await text(cluster, url, quick)).toBe("web")
    expect(await text(cluster, url, slow)).toBe("ECONNREFUSED")
    await cluster.advance("2900ms")
    expect(await text(cluster, url, slow)).toBe("ECONNREFUSED")
    await cluster.advance("200ms")
    expect(await text(cluster, url, slow)).toBe("web")
  })

  test("concerns all nodes without a name, and its end tells them all", async () => {
    await using cluster = await start()
    const lag = await cluster.faults.endpointsLag("1h")
    await cluster.apply([podOf("late", "named"), serviceOf("late")])
    await cluster.settle()
    expect(await text(cluster, "http://web/")).toBe("web")
    expect(await text(cluster, "http://late/")).toBe("ENOTFOUND")
    await cluster.client.patch(Service, "web", { type: "merge", body: { metadata: { labels: { touched: "yes" } } } })
    await lag.end()
    expect(await text(cluster, "http://late/")).toBe("late")
    expect(await text(cluster, "http://web/")).toBe("web")
  })

  test("has a node that is partitioned see nothing new until it is back", async () => {
    await using cluster = await start()
    const cut = await cluster.faults.nodePartitioned("node-0")
    await cluster.apply(serviceOf("twin", { selector: { app: "web" }, clusterIP: "10.43.7.8" }))
    await cluster.settle()
    expect(await text(cluster, "http://10.43.7.8/", { node: "node-0" })).toBe("ETIMEDOUT")
    await cut.end()
    expect(await text(cluster, "http://10.43.7.8/", { node: "node-0" })).toBe("web")
  })
})

describe("fetch refuses", () => {
  test.each([
    [{ form: "web" }, 'fetch has no option "form"; did you mean from?'],
    [{ from: { nod: "node-0" } }, 'from has no option "nod"; did you mean node?'],
    [{ from: { node: "node-1" } }, 'There is no node "node-1" to send from; did you mean node-0?'],
    [{ from: "wep" }, "There is no pod default/wep to send from; did you mean web?"],
    [{ from: { namespace: "defaul" } }, 'There is no namespace "defaul" to send from; did you mean default?'],
    [{ from: { ip: "outside" } }, 'Cannot send from ip "outside": expected an address such as "203.0.113.7"'],
    [{ from: "waits" }, "Cannot send from pod default/waits: it is Pending, not Running"],
  ])("%j", async (options, message) => {
    await using cluster = await startCluster({ nodes: 1, images: { named } })
    await cluster.apply([podOf("web", "named"), podOf("waits", "named", { nodeSelector: { none: "such" } })])
    const err = await cluster.fetch("http://web/", options as { from: From }).catch((cause: Error) => cause)
    expect(String(err)).toContain(message)
  })
})
