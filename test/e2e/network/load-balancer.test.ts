/** Services of type LoadBalancer on a real node, in both modes of kube-proxy. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createServer } from "node:net"
import { once } from "node:events"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { InputOfResource } from "../../../pkg/apimachinery/resource.ts"
import { BUSYBOX, describeOnNode, startCluster, stay, WEB, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"

/** The address of a network namespace that plays a machine outside of the cluster. */
const OUTSIDE = "198.51.100.2"
const OUTSIDE_NETNS = "k3ts-outside"

describeOnNode("load balancers", () => {
  describe.each(["nftables", "iptables"])("with --proxy-mode %s", (mode) => {
    let cluster: Cluster
    let nodeIp: string
    const balancer = (name: string, spec: NonNullable<InputOfResource<typeof Service>["spec"]>) =>
      cluster.create(Service, {
        metadata: { name, namespace: "default" },
        spec: { type: "LoadBalancer", selector: { app: "web" }, ...spec },
      })
    const addressesOf = async (name: string) => {
      const { status } = await cluster.until(
        Service,
        name,
        (one) => (one.status.loadBalancer?.ingress ?? []).length > 0,
      )
      return status.loadBalancer!.ingress!.map(({ ip }) => ip)
    }
    /** Sends a request from the machine outside. Returns the name of the pod that answers; empty without an answer. */
    const outside = async (port: number) =>
      (
        await run("ip", ["netns", "exec", OUTSIDE_NETNS, "curl", "-s", "-m", "2", `http://${nodeIp}:${port}/`])
      ).out.trim()
    /** Resolves when the machine outside gets this answer; rules may still be on their way. */
    const outsideGets = async (port: number, wanted: string) => {
      const deadline = performance.now() + 10_000
      for (let got = await outside(port); got !== wanted; got = await outside(port))
        if (performance.now() > deadline) throw new Error(`${port} answers ${JSON.stringify(got)} and not ${wanted}`)
    }

    beforeAll(async () => {
      cluster = await startCluster({ flags: ["--proxy-mode", mode] })
      const pod = await cluster.runPod(
        "web",
        {
          containers: [
            {
              name: "c",
              image: WEB,
              command: stay("echo web > /www/index.html; httpd -p 80 -h /www"),
              readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 },
            },
          ],
        },
        { labels: { app: "web" } },
      )
      nodeIp = pod.status.hostIP!
      await machineOutside()
    }, 60_000)
    afterAll(async () => {
      await run("ip", ["netns", "delete", OUTSIDE_NETNS])
      await cluster?.[Symbol.asyncDispose]()
    }, 30_000)

    test("gets the node's address, and its port is open for machines outside and for pods", async () => {
      await balancer("open", { ports: [{ port: 18_001, targetPort: 80 }] })
      expect(await addressesOf("open")).toEqual([nodeIp])
      await outsideGets(18_001, "web")
      await cluster.runPod("client", { containers: [{ name: "c", image: BUSYBOX, command: stay() }] })
      expect((await cluster.kubectl.sh("client", `wget -q -O - http://${nodeIp}:18001/`)).trim()).toBe("web")
    }, 30_000)

    test("accepts only clients in the ranges of loadBalancerSourceRanges", async () => {
      await balancer("ranges", {
        ports: [{ port: 18_002, targetPort: 80 }],
        loadBalancerSourceRanges: ["203.0.113.0/24"],
      })
      await addressesOf("ranges")
      expect(await outside(18_002)).toBe("")
      await cluster.client.patch(
        Service,
        { namespace: "default", name: "ranges" },
        { type: "merge", body: { spec: { loadBalancerSourceRanges: [`${OUTSIDE}/32`] } } },
      )
      await outsideGets(18_002, "web")
    }, 30_000)

    test("keeps the client's address with externalTrafficPolicy Local, and answers on its health check port", async () => {
      const { spec } = await balancer("local", {
        selector: { app: "web" },
        externalTrafficPolicy: "Local",
        ports: [{ port: 18_003, targetPort: 80 }],
      })
      expect(await addressesOf("local")).toEqual([nodeIp])
      await outsideGets(18_003, "web")
      const connections = (await run("conntrack", ["-L", "-p", "tcp", "--orig-port-dst", "18003"])).out
      // With this route the pod's answers go to the client directly, not to an address of the node.
      expect(connections).toContain(`dst=${OUTSIDE}`)
      const health = await fetch(`http://${nodeIp}:${spec.healthCheckNodePort}/`)
      expect([health.status, await health.json()]).toMatchObject([200, { localEndpoints: 1 }])
    }, 30_000)

    test("frees its port when the Service is deleted", async () => {
      await cluster.client.delete(Service, { namespace: "default", name: "open" })
      await outsideGets(18_001, "")
      const server = createServer((socket) => socket.end("HTTP/1.0 200 OK\r\n\r\nmine")).listen(18_001, "0.0.0.0")
      await once(server, "listening")
      await outsideGets(18_001, "mine")
      server.close()
    }, 30_000)
  })
})

/** Makes a network namespace that a pair of interfaces connects to the node. */
async function machineOutside(): Promise<void> {
  const commands = `
    ip netns add ${OUTSIDE_NETNS}
    ip link add k3ts-out type veth peer name eth0 netns ${OUTSIDE_NETNS}
    ip address add 198.51.100.1/24 dev k3ts-out
    ip link set k3ts-out up
    ip -n ${OUTSIDE_NETNS} address add ${OUTSIDE}/24 dev eth0
    ip -n ${OUTSIDE_NETNS} link set eth0 up
    ip -n ${OUTSIDE_NETNS} link set lo up
    ip -n ${OUTSIDE_NETNS} route add default via 198.51.100.1`
  await run("sh", ["-ec", commands])
}
