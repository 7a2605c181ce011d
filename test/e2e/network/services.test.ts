/** Services, as used by pods and by the machine. */
import { beforeAll, describe, expect, test } from "bun:test"
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { createServer, type AddressInfo } from "node:net"
import { networkInterfaces } from "node:os"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { describeOnNode, WEB, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"
import { until } from "../../harness/until.ts"
import { CLIENT, webPods } from "./web-pods.ts"

/** An address that no device has, from the range for documentation. */
const EXTERNAL = "203.0.113.77"

const bridgeAddress = () => networkInterfaces()["cni0"]!.find(({ family }) => family === "IPv4")!.address

describeOnNode("Services", () => {
  const { started, pods, names, inside, wget, curl, service, rules, whoAnswers } = webPods()
  let cluster: Cluster
  let nodeIp: string
  beforeAll(() => void ({ cluster, nodeIp } = started()))
  /** Returns the milliseconds that a command takes, so that "at once" is as long as this machine needs for others. */
  const timeOf = async (args: readonly string[]) => {
    const began = performance.now()
    await cluster.kubectl.run(args)
    return performance.now() - began
  }

  describe("a Service", () => {
    test("spreads requests to its address over its pods, from pods and from the machine, also for named ports", async () => {
      const { spec } = await service("web", {
        ports: [
          { name: "one", port: 80, targetPort: "http" },
          { name: "two", port: 8080, targetPort: 80 },
        ],
      })
      await rules("default/web:two -> ")
      expect(await whoAnswers(() => curl(spec.clusterIP!), 40)).toEqual(new Set(names))
      expect(await whoAnswers(() => curl(`${spec.clusterIP}:8080`), 40)).toEqual(new Set(names))
      const answers = (await inside(`for i in $(seq 40); do timeout 5 wget -q -O - http://${spec.clusterIP}/; done`))
        .trim()
        .split("\n")
      expect(new Set(answers)).toEqual(new Set(names))
    })

    test("follows its pods: a pod that is no longer ready gets no request", async () => {
      const { spec } = await service("follow", {})
      await rules("default/follow -> ")
      await cluster.kubectl.ok("label pod a app=off --overwrite")
      await rules(`default/follow -> ${pods.get("a")}`, false)
      expect(await whoAnswers(() => curl(spec.clusterIP!), 20)).toEqual(new Set(["b"]))
      await cluster.kubectl.ok("label pod a app=web --overwrite")
      await rules(`default/follow -> ${pods.get("a")}`)
    })

    test("refuses connections at once when it has no pods", async () => {
      const { spec } = await service("empty", { selector: { app: "nobody" } })
      await rules("default/empty has no endpoints")
      const usual = await timeOf(["exec", CLIENT, "--", "true"])
      const began = performance.now()
      expect(
        (await cluster.kubectl.run(["exec", CLIENT, "--", "wget", "-q", "-O", "-", `http://${spec.clusterIP}/`])).err,
      ).toContain("Connection refused")
      expect(performance.now() - began).toBeLessThan(3000 + 3 * usual)
    })

    test("refuses connections to a port that it does not have at once, from pods and from the machine", async () => {
      const { spec } = await service("one-port", {})
      await rules("default/one-port -> ")
      const usual = await timeOf(["exec", CLIENT, "--", "true"])
      const began = performance.now()
      const url = `http://${spec.clusterIP}:81/`
      expect((await cluster.kubectl.run(["exec", CLIENT, "--", "wget", "-q", "-O", "-", url])).err).toContain(
        "Connection refused",
      )
      expect((await run("curl", ["-sS", "-m", "5", url])).err).toMatch(/refused|Could not connect|Couldn't connect/i)
      expect(performance.now() - began).toBeLessThan(5000 + 3 * usual)
    })

    test("appears in the program's metrics", async () => {
      const { out } = await cluster.kubectl.run(["get", "--raw", "/metrics"])
      expect(out).toMatch(/^kubeproxy_sync_proxy_rules_duration_seconds_count\{ip_family="IPv4"\} [1-9]/m)
      expect(out).toMatch(/^kubeproxy_network_programming_duration_seconds_count\{ip_family="IPv4"\} [1-9]/m)
    })

    test("connects a pod to itself", async () => {
      const { spec } = await service("self", { selector: { name: "a" } })
      await rules("default/self -> ")
      expect(await cluster.kubectl.sh("a", `timeout 5 wget -q -O - http://${spec.clusterIP}/`)).toBe("a\n")
    })

    test("of type NodePort answers at the machine's addresses", async () => {
      const { spec } = await service("node-port", { type: "NodePort", ports: [{ port: 80, nodePort: 30_080 }] })
      await rules("default/node-port -> ")
      for (const address of [nodeIp, "127.0.0.1"])
        expect(names as readonly string[]).toContain((await curl(`${address}:30080`)).trim())
      expect(names as readonly string[]).toContain((await wget(`${nodeIp}:30080`)).trim())
      expect(names as readonly string[]).toContain((await curl(spec.clusterIP!)).trim())
    })

    test("with externalTrafficPolicy Local answers at the machine's addresses too", async () => {
      await service("local", {
        type: "NodePort",
        externalTrafficPolicy: "Local",
        ports: [{ port: 80, nodePort: 30_081 }],
      })
      await rules("default/local -> ")
      expect(names as readonly string[]).toContain((await curl(`${nodeIp}:30081`)).trim())
      expect(names as readonly string[]).toContain((await wget(`${nodeIp}:30081`)).trim())
    })

    test("with externalIPs answers at these addresses", async () => {
      await service("external", { externalIPs: [EXTERNAL] })
      await rules("default/external -> ")
      expect(names as readonly string[]).toContain((await curl(EXTERNAL)).trim())
      expect(names as readonly string[]).toContain((await wget(EXTERNAL)).trim())
    })

    test("takes nothing from the node or the cluster by its external addresses, and Events say why", async () => {
      // given a Service that names the node, the cluster's API and its DNS
      const { port } = cluster.server
      const taken = [nodeIp, "10.43.0.1", "10.43.0.10"]
      const ports = [port, 443, 53].map((each) => ({ name: `p${each}`, port: each, targetPort: 80 }))
      await service("thief", { externalIPs: taken, ports })
      await rules("default/thief:p443 -> ")
      // then each is reached as before, from the node and from pods
      for (const address of [`${nodeIp}:${port}`, "10.43.0.1:443"]) {
        expect((await run("curl", ["-sk", "-m", "5", `https://${address}/version`])).out).toContain("gitVersion")
        expect(await inside(`timeout 5 wget -q -O - http://${address}/ 2>&1 || true`)).not.toMatch(/^[ab]$/m)
      }
      expect(await inside("nslookup -type=a kubernetes.default.svc.cluster.local")).toContain("10.43.0.1")
      const told =
        (ip: string) =>
        ({ involvedObject, reason, message = "" }: Event) =>
          involvedObject.name === "thief" && reason === "ExternalIPIgnored" && message.startsWith(`${ip} of`)
      for (const ip of taken) await until(cluster.client, Event, { namespace: "default" }, told(ip), 10_000)
    })

    test("leaves the API server and the kubelet their ports, whatever host ports a pod that is bound here has", async () => {
      // given a pod that is not scheduled but bound to the node, and one that waits for a node
      const thief = (hostPort: number, nodeName?: string) => ({
        containers: [{ name: "c", image: WEB, ports: [{ containerPort: 80, hostPort }] }],
        ...(nodeName === undefined ? {} : { nodeName }),
      })
      const { nodeName } = (await cluster.pod("a")).spec
      await cluster.createPod("bound", thief(cluster.server.port, nodeName))
      await cluster.createPod("waits", thief(10_250))
      // then
      const bound = await cluster.pod("bound", ({ status }) => status.phase === "Failed")
      expect(bound.status.message).toContain(`${cluster.server.port}/TCP belongs to the API server`)
      const waits = await cluster.pod("waits", ({ status }) => (status.conditions ?? []).length > 0)
      expect(waits.status.conditions?.[0]?.message).toContain("listen on the requested host port 10250/TCP themselves")
    })

    test("with session affinity leads a client to the same pod each time", async () => {
      const { spec } = await service("sticky", { sessionAffinity: "ClientIP" })
      await rules("default/sticky -> ")
      // given a client whose first request has chosen its pod; several first requests at once could choose several pods
      const first = (await curl(spec.clusterIP!)).trim()
      expect(names as readonly string[]).toContain(first)
      expect(await whoAnswers(() => curl(spec.clusterIP!), 20)).toEqual(new Set([first]))
    })

    test("works for UDP, from pods and from the machine", async () => {
      // given a DNS server in this process that answers every query with "no such name"
      const server = createSocket("udp4").bind(0, bridgeAddress())
      await once(server, "listening")
      const askers: string[] = []
      server.on("message", (question, { address, port }) => {
        askers.push(address)
        server.send(
          Buffer.concat([question.subarray(0, 2), Buffer.from([0x81, 0x83]), question.subarray(4)]),
          port,
          address,
        )
      })
      const { spec } = await cluster.create(Service, {
        metadata: { name: "udp", namespace: "default" },
        spec: { ports: [{ port: 53, protocol: "UDP" }] },
      })
      await cluster.create(EndpointSlice, {
        metadata: { name: "udp-1", namespace: "default", labels: { "kubernetes.io/service-name": "udp" } },
        addressType: "IPv4",
        endpoints: [{ addresses: [bridgeAddress()] }],
        ports: [{ port: server.address().port, protocol: "UDP" }],
      })
      await rules("default/udp -> ")
      // when a pod and the machine query the Service's address
      expect(
        (await cluster.kubectl.run(["exec", CLIENT, "--", "nslookup", "-type=a", "nowhere.example.", spec.clusterIP!]))
          .out,
      ).toContain("can't find nowhere.example.: NXDOMAIN")
      expect((await run("/bin/busybox", ["nslookup", "-type=a", "nowhere.example.", spec.clusterIP!])).out).toContain(
        "NXDOMAIN",
      )
      // then the server has seen the pod's own address
      expect(askers).toContain(pods.get(CLIENT)!)
      server.close()
    })

    test("moves a UDP flow to another endpoint when its endpoint is gone", async () => {
      // given two servers in this process, and a Service that leads to the first
      const servers = await Promise.all(
        ["one", "two"].map(async (name) => {
          const server = createSocket("udp4").bind(0, bridgeAddress())
          await once(server, "listening")
          return server.on("message", (_question, { address, port }) => server.send(name, port, address))
        }),
      )
      const { spec } = await cluster.create(Service, {
        metadata: { name: "moved", namespace: "default" },
        spec: { ports: [{ port: 99, protocol: "UDP" }] },
      })
      const slice = await cluster.create(EndpointSlice, {
        metadata: { name: "moved-1", namespace: "default", labels: { "kubernetes.io/service-name": "moved" } },
        addressType: "IPv4",
        endpoints: [{ addresses: [bridgeAddress()] }],
        ports: [{ port: servers[0]!.address().port, protocol: "UDP" }],
      })
      await rules("default/moved -> ")
      // when the same socket sends before and after the endpoint has changed
      const client = createSocket("udp4").bind(0)
      await once(client, "listening")
      const ask = async (): Promise<string> => {
        const answered = once(client, "message") as Promise<[Buffer]>
        client.send("who", 99, spec.clusterIP)
        return (await answered)[0].toString()
      }
      expect(await ask()).toBe("one")
      await cluster.client.update(EndpointSlice, {
        ...slice,
        ports: [{ port: servers[1]!.address().port, protocol: "UDP" }],
      })
      await rules(`${bridgeAddress()}:${servers[1]!.address().port}`)
      while (
        (await run("conntrack", ["-L", "-p", "udp", "--orig-dst", spec.clusterIP!])).out.includes(
          `sport=${servers[0]!.address().port} `,
        )
      )
        await Bun.sleep(20)
      expect(await ask()).toBe("two")
      for (const socket of [client, ...servers]) socket.close()
    })

    test("with internalTrafficPolicy Local leads to pods on this node", async () => {
      const { spec } = await service("inner", { internalTrafficPolicy: "Local" })
      await rules("default/inner -> ")
      expect(names as readonly string[]).toContain((await wget(spec.clusterIP!)).trim())
    })

    test("without a selector leads to the addresses of its EndpointSlice", async () => {
      const { spec } = await cluster.create(Service, {
        metadata: { name: "by-hand", namespace: "default" },
        spec: { ports: [{ port: 80 }] },
      })
      await cluster.create(EndpointSlice, {
        metadata: { name: "by-hand-1", namespace: "default", labels: { "kubernetes.io/service-name": "by-hand" } },
        addressType: "IPv4",
        endpoints: [{ addresses: [pods.get("b")!] }],
        ports: [{ port: 80 }],
      })
      await rules("default/by-hand -> ")
      expect(await curl(spec.clusterIP!)).toBe("b\n")
    })

    test("named kubernetes leads to the API server", async () => {
      expect(await inside("nc -w 3 kubernetes.default 443 < /dev/null && echo open")).toBe("open\n")
    })

    test("answers every request during a rolling update whose pods end gracefully", async () => {
      const container = (version: string) => ({
        name: "c",
        image: `k3ts.local/web:${version}`,
        readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 },
        lifecycle: { preStop: { sleep: { seconds: 1 } } },
      })
      const template = (version: string) => ({
        metadata: { labels: { app: "rolled" } },
        spec: { containers: [container(version)] },
      })
      await cluster.create(Deployment, {
        metadata: { name: "rolled", namespace: "default" },
        spec: { replicas: 2, selector: { matchLabels: { app: "rolled" } }, template: template("1") },
      })
      const { spec } = await service("rolled", { selector: { app: "rolled" } })
      await cluster.kubectl.ok("rollout status deploy/rolled --timeout=30s")
      await rules("default/rolled -> ")
      const failed: string[] = []
      let rolling = true
      const asking = (async () => {
        while (rolling) {
          const { code, err } = await run("curl", ["-sS", "-m", "3", `http://${spec.clusterIP}`])
          if (code !== 0) failed.push(err)
        }
      })()
      await cluster.kubectl.ok("set image deploy/rolled c=k3ts.local/web:2")
      await cluster.kubectl.ok("rollout status deploy/rolled --timeout=30s")
      rolling = false
      await asking
      expect(failed).toEqual([])
      expect(await curl(spec.clusterIP!)).toContain("k3ts web 2")
    })
  })

  test("pods reach each other, the machine, and themselves, at their own addresses", async () => {
    expect(await wget(pods.get("a")!)).toBe("a\n")
    expect(await curl(pods.get("b")!)).toBe("b\n")
    expect(await cluster.kubectl.sh("a", `timeout 5 wget -q -O - http://${pods.get("a")}/`)).toBe("a\n")
    const server = createServer((socket) => void socket.end(`${socket.remoteAddress}`)).listen(0, bridgeAddress())
    await once(server, "listening")
    expect(await inside(`nc -w 3 ${bridgeAddress()} ${(server.address() as AddressInfo).port} < /dev/null`)).toContain(
      pods.get(CLIENT)!,
    )
    server.close()
  })

  test("kube-proxy answers for its health and its mode on loopback, and at no other address", async () => {
    // given a pod in the machine's network. Source: kubernetes test/e2e/network/networking.go, "kube-proxy urls"
    const urls = ["localhost:10256/healthz", "localhost:10256/livez", "localhost:10249/proxyMode"]
    const command = ["sh", "-c", urls.map((url) => `wget -q -O - http://${url} && echo`).join(" && ")]
    const said = (await cluster.output("proxy-urls", { command }, { hostNetwork: true })).trim().split("\n")
    // then
    expect(JSON.parse(said[0]!)).toMatchObject({ nodeEligible: true, healthy: true, status: { IPv4: {} } })
    expect(said[0]).toContain("lastUpdated")
    expect(said[1]).toContain('"healthy":true')
    expect(said[2]).toMatch(/^(nftables|iptables)$/)
    expect((await run("curl", ["-si", "-m", "3", "http://localhost:10256/healthz"])).out).toContain("200 OK")
    expect((await run("curl", ["-s", "-m", "3", "http://localhost:10249/metrics"])).out).toMatch(
      /^kubeproxy_proxy_healthz_total\{code="200"\} [1-9]/m,
    )
    for (const port of [10_256, 10_249])
      expect((await run("curl", ["-s", "-m", "1", `http://${nodeIp}:${port}/healthz`])).code).not.toBe(0)
  })

  test("a host port leads to its pod", async () => {
    await cluster.runPod("host-port", {
      containers: [
        {
          name: "c",
          image: WEB,
          ports: [{ containerPort: 80, hostPort: 31_999 }],
          readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 },
        },
      ],
    })
    for (const address of [nodeIp, "127.0.0.1"]) expect(await curl(`${address}:31999`)).toContain("k3ts web 1")
    await cluster.kubectl.ok("delete pod host-port --grace-period=1")
    expect((await run("curl", ["-s", "-m", "1", `http://127.0.0.1:31999`])).code).not.toBe(0)
  })
})
