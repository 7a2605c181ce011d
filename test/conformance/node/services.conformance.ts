/**
 * Services, and traffic to pods. After test/e2e/network/service.go, endpointslice.go and hostport.go, and
 * test/e2e/common/network/networking.go.
 */
import { expect } from "bun:test"
import type { Loose } from "../cluster.ts"
import { until, type TestNamespace } from "./namespace.ts"
import { dial, runNetexec, untilAnswered, untilEndpoints, type Target } from "./network.ts"
import { netexec, programVolumes } from "./programs/programs.ts"
import { describeStandIns } from "./stand-in.ts"

const labels = { app: "server" }
const CLIENT = "client"
interface Port {
  readonly name: string
  readonly port: number
  readonly nodePort?: number
}
const portsOf = (service: Loose) => service.spec["ports"] as readonly Port[]
const nodeAddress = (pod: Loose) => pod.status["hostIP"] as string
const createService = (ns: TestNamespace, name: string, spec: object) => ns.create("services", name, { spec })

/**
 * Sends requests to the Service's address, its name and its node port, if any, until exactly these pods answer.
 */
async function expectReachable(
  ns: TestNamespace,
  service: Loose,
  pods: readonly string[],
  node: string,
): Promise<void> {
  const { clusterIP } = service.spec
  for (const { port, nodePort } of portsOf(service)) {
    if (clusterIP !== undefined) await untilAnswered(ns, CLIENT, { host: clusterIP, port }, pods)
    await untilAnswered(ns, CLIENT, { host: service.metadata.name, port }, pods)
    if (nodePort !== undefined) await untilAnswered(ns, CLIENT, { host: node, port: nodePort }, pods)
  }
}
const update = async (ns: TestNamespace, name: string, change: object) => {
  const now = await ns.cluster.get(`${ns.path}/services/${name}`)
  return ns.cluster.put(`${ns.path}/services/${name}`, { ...now, spec: { ...now.spec, ...change } })
}
const http = [{ name: "http", port: 80, protocol: "TCP", targetPort: 8080 }]
const withoutAddress = {
  clusterIP: undefined,
  clusterIPs: undefined,
  ports: undefined,
  ipFamilies: undefined,
  ipFamilyPolicy: undefined,
  internalTrafficPolicy: undefined,
  externalTrafficPolicy: undefined,
}

describeStandIns(
  "Services",
  (standIn, alone) => {
    standIn("Services should serve a basic endpoint from pods", async (ns) => {
      const service = await createService(ns, "endpoint-test2", {
        selector: labels,
        ports: [{ name: "http", port: 80, targetPort: 80 }],
      })
      await untilEndpoints(ns, "endpoint-test2", [])
      const run = (name: string) => runNetexec(ns, name, { labels, env: { HTTP_PORT: "80" } })
      const [client] = [await runNetexec(ns, CLIENT), await run("pod1")]
      await untilEndpoints(ns, "endpoint-test2", ["pod1:80"])
      await expectReachable(ns, service, ["pod1"], nodeAddress(client))
      await run("pod2")
      await untilEndpoints(ns, "endpoint-test2", ["pod1:80", "pod2:80"])
      await expectReachable(ns, service, ["pod1", "pod2"], nodeAddress(client))
      await ns.cluster.delete(`${ns.path}/pods/pod1`)
      await untilEndpoints(ns, "endpoint-test2", ["pod2:80"])
      await expectReachable(ns, service, ["pod2"], nodeAddress(client))
      await ns.cluster.delete(`${ns.path}/pods/pod2`)
      await untilEndpoints(ns, "endpoint-test2", [])
    })

    standIn("Services should serve multiport endpoints from pods", async (ns) => {
      const service = await createService(ns, "multi", {
        selector: labels,
        ports: [
          { name: "portname1", port: 80, targetPort: "svc1" },
          { name: "portname2", port: 81, targetPort: "svc2" },
        ],
      })
      await untilEndpoints(ns, "multi", [])
      const run = (name: string, portName: string, port: number) =>
        runNetexec(ns, name, {
          labels,
          env: { HTTP_PORT: String(port) },
          ports: [{ name: portName, containerPort: port }],
        })
      await run("pod1", "svc1", 100)
      await untilEndpoints(ns, "multi", ["pod1:100"])
      await run("pod2", "svc2", 101)
      await untilEndpoints(ns, "multi", ["pod1:100", "pod2:101"])
      await runNetexec(ns, CLIENT)
      for (const [port, name] of [
        [80, "pod1"],
        [81, "pod2"],
      ] as const)
        await untilAnswered(ns, CLIENT, { host: service.spec.clusterIP!, port }, [name])
      await ns.cluster.delete(`${ns.path}/pods/pod1`)
      await untilEndpoints(ns, "multi", ["pod2:101"])
      await ns.cluster.delete(`${ns.path}/pods/pod2`)
      await untilEndpoints(ns, "multi", [])
    })

    /** Creates two pods that the selector matches, and one that sends requests. */
    const runPods = async (ns: TestNamespace) => {
      const [client] = await Promise.all([
        runNetexec(ns, CLIENT),
        ...["one", "two"].map((name) => runNetexec(ns, name, { labels })),
      ])
      return client
    }

    standIn("Services should be able to create a functioning NodePort service", async (ns) => {
      const service = await createService(ns, "nodeport-test", { type: "NodePort", selector: labels, ports: http })
      const client = await runPods(ns)
      expect(portsOf(service)[0]!.nodePort).toBeGreaterThanOrEqual(30_000)
      await expectReachable(ns, service, ["one", "two"], nodeAddress(client))
    })

    for (const [title, type] of [
      ["Services should be able to change the type from ExternalName to ClusterIP", "ClusterIP"],
      ["Services should be able to change the type from ExternalName to NodePort", "NodePort"],
    ] as const)
      standIn(title, async (ns) => {
        const external = await createService(ns, "external", { type: "ExternalName", externalName: "foo.example.com" })
        expect(external.spec.clusterIP ?? "").toBe("")
        const service = await update(ns, "external", { type, externalName: "", selector: labels, ports: http })
        expect([service.spec.clusterIP === undefined, portsOf(service)[0]!.nodePort === undefined]).toEqual([
          false,
          type === "ClusterIP",
        ])
        const client = await runPods(ns)
        await expectReachable(ns, service, ["one", "two"], nodeAddress(client))
      })

    for (const [title, type] of [
      ["Services should be able to change the type from ClusterIP to ExternalName", "ClusterIP"],
      ["Services should be able to change the type from NodePort to ExternalName", "NodePort"],
    ] as const)
      standIn(title, async (ns) => {
        await createService(ns, "service", { type, selector: { app: "nobody" }, ports: http })
        // A DNS name has no ports: its target must answer on the requested port.
        await createService(ns, "externalsvc", { selector: labels, ports: http })
        const externalName = `externalsvc.${ns.name}.svc.cluster.local`
        const changed = await update(ns, "service", { ...withoutAddress, type: "ExternalName", externalName })
        expect(changed.spec.clusterIP ?? "").toBe("")
        expect((portsOf(changed) ?? []).every(({ nodePort }) => nodePort === undefined)).toBe(true)
        await runPods(ns)
        await untilAnswered(ns, CLIENT, { host: "service", port: 80 }, ["one", "two"])
      })

    /** Whether all connections of one client reach the same pod. */
    const isSticky = (answers: readonly string[]) => answers.length === 15 && new Set(answers).size === 1
    const untilSticky = (ns: TestNamespace, target: Target, wanted: boolean) =>
      until(
        `${wanted ? "one pod" : "several pods"} at ${target.host}:${target.port}`,
        async () => {
          // one after the other: of several first requests at the same time each may reach another pod
          const answers: string[] = []
          for (let i = 0; i < 15; i++) answers.push(...(await dial(ns, CLIENT, target)))
          return answers
        },
        (answers) => answers.length === 15 && isSticky(answers) === wanted,
      )
    for (const [title, type, switches] of [
      ["Services should have session affinity work for service with type clusterIP", "ClusterIP", false],
      ["Services should be able to switch session affinity for service with type clusterIP", "ClusterIP", true],
      ["Services should have session affinity work for NodePort service", "NodePort", false],
      ["Services should be able to switch session affinity for NodePort service", "NodePort", true],
    ] as const)
      standIn(title, async (ns) => {
        const service = await createService(ns, "affinity", {
          type,
          selector: labels,
          ports: http,
          sessionAffinity: switches ? "None" : "ClientIP",
        })
        const [client] = await Promise.all([runPods(ns), runNetexec(ns, "three", { labels })])
        const target =
          type === "ClusterIP"
            ? { host: service.spec.clusterIP!, port: 80 }
            : { host: nodeAddress(client), port: portsOf(service)[0]!.nodePort! }
        await untilAnswered(ns, CLIENT, switches ? target : { ...target, tries: 1, request: "echo?msg=up" }, [
          ...(switches ? ["one", "two", "three"] : ["up"]),
        ])
        if (switches) {
          await untilSticky(ns, target, false)
          await update(ns, "affinity", { sessionAffinity: "ClientIP" })
          await untilSticky(ns, target, true)
          await update(ns, "affinity", { sessionAffinity: "None", sessionAffinityConfig: undefined })
          await untilSticky(ns, target, false)
        } else {
          await untilSticky(ns, target, true)
          await update(ns, "affinity", { sessionAffinity: "None", sessionAffinityConfig: undefined })
          await untilSticky(ns, target, false)
        }
      })

    standIn("Services should serve endpoints on same port and different protocols", async (ns) => {
      const tcp = { name: "tcp-port", port: 80, targetPort: 80, protocol: "TCP" }
      const udp = { name: "udp-port", port: 80, targetPort: 80, protocol: "UDP" }
      const service = await createService(ns, "multiprotocol", { selector: labels, ports: [tcp, udp] })
      await Promise.all([
        runNetexec(ns, CLIENT),
        runNetexec(ns, "pod1", { labels, env: { HTTP_PORT: "80", UDP_PORT: "80" } }),
      ])
      await untilEndpoints(ns, "multiprotocol", ["pod1:80", "pod1:80"])
      const at = (protocol: "http" | "udp"): Target => ({ host: service.spec.clusterIP!, port: 80, protocol })
      const answers = (protocol: "http" | "udp") => untilAnswered(ns, CLIENT, at(protocol), ["pod1"])
      const silent = (protocol: "http" | "udp") =>
        until(
          `no answer to ${protocol}`,
          () => dial(ns, CLIENT, at(protocol)),
          (found) => found.length === 0,
        )
      await answers("http")
      await answers("udp")
      const onlyTcp = await update(ns, "multiprotocol", { ports: [tcp] })
      expect(Number(onlyTcp.metadata.resourceVersion)).toBeGreaterThan(Number(service.metadata.resourceVersion))
      await answers("http")
      await silent("udp")
      await update(ns, "multiprotocol", { ports: [udp] })
      await answers("udp")
      await silent("http")
    })

    const slice = (ns: TestNamespace, service: string, endpoints: readonly string[], ports: object) =>
      ns.cluster.post(`${ns.at("discovery.k8s.io/v1")}/endpointslices`, {
        metadata: {
          generateName: "e2e-custom-slice",
          labels: {
            "kubernetes.io/service-name": service,
            "endpointslice.kubernetes.io/managed-by": `e2e-test${ns.name}`,
          },
        },
        addressType: "IPv4",
        endpoints: endpoints.map((address) => ({ addresses: [address], conditions: { ready: true } })),
        ports,
      })
    const twoPorts = {
      ports: [
        { name: "port80", port: 80, protocol: "TCP" },
        { name: "port81", port: 81, protocol: "TCP" },
      ],
    }
    const ip = (pod: Loose) => pod.status["podIP"] as string

    standIn(
      "EndpointSlice should support a Service with multiple endpoint IPs specified in multiple EndpointSlices",
      async (ns) => {
        const service = await createService(ns, "custom", twoPorts)
        const env = { HTTP_PORT: "8090" }
        const [one, two] = await Promise.all([
          runNetexec(ns, "one", { env }),
          runNetexec(ns, "two", { env }),
          runNetexec(ns, CLIENT),
        ])
        await slice(ns, "custom", [ip(one)], [{ name: "port80", port: 8090, protocol: "TCP" }])
        await slice(ns, "custom", [ip(two)], [{ name: "port81", port: 8090, protocol: "TCP" }])
        await untilAnswered(ns, CLIENT, { host: service.spec.clusterIP!, port: 80 }, ["one"])
        await untilAnswered(ns, CLIENT, { host: service.spec.clusterIP!, port: 81 }, ["two"])
      },
    )

    standIn(
      "EndpointSlice should support a Service with multiple ports specified in multiple EndpointSlices",
      async (ns) => {
        // given a pod with two containers that answer on two ports
        const service = await createService(ns, "custom", twoPorts)
        const [pod] = await Promise.all([
          ns.runPod("both", {
            volumes: programVolumes,
            containers: [netexec({ HTTP_PORT: "8090" }), netexec({ HTTP_PORT: "9090", UDP_PORT: "8082" })],
          }),
          runNetexec(ns, CLIENT),
        ])
        await slice(ns, "custom", [ip(pod)], [{ name: "port80", port: 8090, protocol: "TCP" }])
        await slice(ns, "custom", [ip(pod)], [{ name: "port81", port: 9090, protocol: "TCP" }])
        await untilAnswered(ns, CLIENT, { host: service.spec.clusterIP!, port: 80 }, ["both"])
        await untilAnswered(ns, CLIENT, { host: service.spec.clusterIP!, port: 81 }, ["both"])
      },
    )

    for (const [title, protocol, from] of [
      ["Networking Granular Checks: Pods should function for intra-pod communication: http", "http", "pod"],
      ["Networking Granular Checks: Pods should function for intra-pod communication: udp", "udp", "pod"],
      ["Networking Granular Checks: Pods should function for node-pod communication: http", "http", "node"],
      ["Networking Granular Checks: Pods should function for node-pod communication: udp", "udp", "node"],
    ] as const)
      standIn(title, async (ns) => {
        const through = from === "pod" ? 8080 : protocol === "http" ? 18_080 : 18_082
        const env = { HTTP_PORT: String(through), UDP_PORT: String(through === 8080 ? 8081 : through + 1) }
        const [one, two] = await Promise.all([
          runNetexec(ns, "netserver-0"),
          runNetexec(ns, "netserver-1"),
          runNetexec(ns, CLIENT, { env, ...(from === "node" ? { hostNetwork: true } : {}) }),
        ])
        const port = protocol === "http" ? 8080 : 8081
        for (const [pod, name] of [
          [one, "netserver-0"],
          [two, "netserver-1"],
        ] as const)
          await untilAnswered(ns, CLIENT, { host: ip(pod), port, protocol, through }, [name])
      })

    alone(
      "HostPort validates that there is no conflict between pods with same hostPort but different hostIP and protocol",
      async (ns) => {
        const HOST_PORT = 54_323
        const [node] = (await ns.cluster.get("/api/v1/nodes")).items
        const addresses = node!.status["addresses"] as { type: string; address: string }[]
        const nodeIp = addresses.find(({ type }) => type === "InternalIP")!.address
        const run = (name: string, hostIP: string, protocol: "TCP" | "UDP") =>
          ns.runPod(name, {
            nodeName: node!.metadata.name,
            volumes: programVolumes,
            containers: [
              {
                ...netexec(protocol === "TCP" ? {} : { HTTP_PORT: "8008", UDP_PORT: "8080" }),
                ports: [{ hostPort: HOST_PORT, containerPort: 8080, protocol, hostIP }],
              },
            ],
          })
        await run("pod1", "127.0.0.1", "TCP")
        await run("pod2", nodeIp, "TCP")
        await run("pod3", nodeIp, "UDP")
        const through = 18_084
        await runNetexec(ns, CLIENT, { hostNetwork: true, env: { HTTP_PORT: String(through), UDP_PORT: "18085" } })
        for (const [host, protocol, name] of [
          ["127.0.0.1", "http", "pod1"],
          [nodeIp, "http", "pod2"],
          [nodeIp, "udp", "pod3"],
        ] as const)
          await untilAnswered(ns, CLIENT, { host, port: HOST_PORT, protocol, through }, [name])
      },
    )

    for (const [title, plural, group] of [
      ["ReplicaSet should serve a basic image on each replica with a public image", "replicasets", "apps/v1"],
      [
        "ReplicationController should serve a basic image on each replica with a public image",
        "replicationcontrollers",
        "",
      ],
    ] as const)
      standIn(title, async (ns) => {
        const path = group === "" ? `${ns.path}/${plural}` : `${ns.at(group)}/${plural}`
        const { spec } = ns.podOf("", { restartPolicy: "Always", volumes: programVolumes, containers: [netexec()] })
        await ns.cluster.post(path, {
          metadata: { name: "basic" },
          spec: {
            replicas: 2,
            selector: group === "" ? { name: "basic" } : { matchLabels: { name: "basic" } },
            template: { metadata: { labels: { name: "basic" } }, spec },
          },
        })
        await ns.cluster.until(`${path}/basic`, (found) => found?.status.readyReplicas === 2)
        const pods = (await ns.cluster.get(`${ns.path}/pods?labelSelector=name%3Dbasic`)).items
        expect(pods).toHaveLength(2)
        for (const { metadata } of pods)
          expect((await ns.cluster.send("GET", `${ns.path}/pods/${metadata.name}:8080/proxy/hostname`)).text).toBe(
            metadata.name,
          )
      })
  },
  { width: 3 },
)
