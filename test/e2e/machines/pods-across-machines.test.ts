/** Pods, Services and names on two machines, in clusters of both address families. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { FAMILIES, joinHostPort } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { agentToken, startAgent, type TestAgent } from "../../harness/agent.ts"
import { BUSYBOX, describeOnMachines, startCluster, stay, WEB, type Cluster } from "../../harness/cluster.ts"
import { startMachines, type Machine, type Machines } from "../../harness/machine.ts"

describeOnMachines("on two machines", () => {
  let machines: Machines
  let [a, b] = [] as Machine[] as [Machine, Machine]
  let cluster: Cluster
  let agent: TestAgent
  const address = () => `https://${a.address}:6443`
  beforeAll(async () => {
    machines = await startMachines()
    a = await machines.add("server")
    b = await machines.add("agent")
    const ranges = ["--cluster-cidr", "10.42.0.0/16,fd42::/56", "--service-cidr", "10.43.0.0/16,fd43::/112"]
    cluster = await startCluster({ machine: a, flags: ranges })
    const usual = ["--kubelet-arg", "root-dir=/var/lib/kubelet"]
    agent = startAgent({ machine: b, server: address(), token: agentToken(cluster.server), flags: usual })
    await cluster.until(Node, "agent", ({ status }) =>
      status.conditions!.some(({ type, status: is }) => type === "Ready" && is === "True"),
    )
    for (const nodeName of ["server", "agent"])
      await cluster.runPod(`from-${nodeName}`, {
        nodeName,
        containers: [{ name: "c", image: BUSYBOX, command: stay() }],
      })
    await cluster.runPod(
      "web",
      { nodeName: "agent", containers: [{ name: "c", image: WEB }] },
      { labels: { app: "web" } },
    )
    await cluster.client.create(Service, {
      metadata: { name: "web", namespace: "default" },
      spec: {
        type: "NodePort",
        selector: { app: "web" },
        ipFamilyPolicy: "RequireDualStack",
        ports: [{ port: 80, nodePort: 30_080, targetPort: 80 }],
      },
    })
  }, 90_000)
  afterAll(async () => {
    await agent?.[Symbol.asyncDispose]()
    await cluster?.[Symbol.asyncDispose]()
    await machines?.[Symbol.asyncDispose]()
  }, 30_000)

  const ips = async (pod: string) => (await cluster.pod(pod)).status.podIPs!.map(({ ip }) => ip!)
  /** Repeats a request from a pod until a server answers. */
  const gets = (pod: string, host: string, port: number) =>
    cluster.kubectl.sh(pod, `until wget -T 1 -qO- http://${joinHostPort(host, port)}/ 2>/dev/null; do :; done`)
  const machineGets = (machine: Machine, host: string, port: number) =>
    machine.sh(`until curl -gs -m 1 http://${joinHostPort(host, port)}/; do :; done`)

  test("pods reach each other in both families, with packets that are small enough for the network between the machines", async () => {
    for (const ip of await ips("web")) {
      expect(await gets("from-server", ip, 80)).toContain("k3ts web")
      await cluster.kubectl.sh("from-server", `ping -c 1 -W 5 -s 1400 ${ip}`)
    }
    const nodes = (await cluster.client.list(Node)).items.map(({ metadata }) => metadata.annotations!)
    expect(new Set(nodes.map((each) => each["flannel.alpha.coreos.com/public-ip"]))).toEqual(
      new Set([a.address, b.address]),
    )
    const routes = await b.sh(
      "for pod in $(find /run -path '*netns/cni-*'); do nsenter --net=$pod ip route show default; done",
    )
    expect(routes).toContain("mtu 1450")
  }, 60_000)

  test("logs, the kubelet's folder and containerd's socket are where charts look for them, on an agent too", async () => {
    for (const [machine, pod] of [
      [a, "from-server"],
      [b, "web"],
    ] as const) {
      const { metadata, status } = await cluster.pod(pod)
      const id = status.containerStatuses![0]!.containerID!.replace("containerd://", "")
      expect(await machine.sh(`realpath /var/log/containers/${pod}_default_c-${id}.log`)).toBe(
        `/var/log/pods/default_${pod}_${metadata.uid}/c/0.log\n`,
      )
      expect(await machine.sh("readlink /run/k3s/containerd/containerd.sock /run/containerd/containerd.sock")).toBe(
        "/run/k3ts/containerd/containerd.sock\n".repeat(2),
      )
    }
    // where nothing of them is measured by node exporter, which leaves this folder out
    const { uid } = (await cluster.pod("web")).metadata
    expect(await b.sh(`ls -d /var/lib/kubelet/pods/${uid}`)).toContain(uid!)
    expect(await b.sh(`grep -c ${b.dataDir}/agent/kubelet /proc/self/mountinfo || true`)).toBe("0\n")
  })

  test("new connections in both families are answered at the first try while pods come and go on both machines", async () => {
    for (const nodeName of ["server", "agent"]) {
      // given another port of the machine's bridge
      const name = `brief-${nodeName}`
      await cluster.runPod(name, { nodeName, containers: [{ name: "c", image: BUSYBOX, command: stay() }] })
      const askOnce = async () => {
        for (const ip of await ips("web"))
          expect(await cluster.kubectl.sh("from-server", `wget -T 5 -qO- http://${joinHostPort(ip, 80)}/`)).toContain(
            "k3ts web",
          )
      }
      // when, then
      await askOnce()
      await cluster.kubectl.ok(`delete pod ${name} --grace-period=0 --force`)
      await askOnce()
    }
  }, 60_000)

  test("a Service is reached by its name, its addresses and the ports of both machines", async () => {
    for (const pod of ["from-server", "from-agent"]) expect(await gets(pod, "web", 80)).toContain("k3ts web")
    const { spec } = await cluster.client.get(Service, { namespace: "default", name: "web" })
    for (const ip of spec.clusterIPs!) for (const machine of [a, b]) await machineGets(machine, ip, 80)
    for (const family of FAMILIES)
      for (const machine of [a, b]) await machineGets(a, family === "IPv4" ? machine.address : machine.address6, 30_080)
  }, 60_000)

  test("host ports take neither an agent's kubelet nor its way to the server", async () => {
    // given pods that are bound to the agent
    const onPort = (hostPort: number) => ({
      nodeName: "agent",
      containers: [{ name: "c", image: WEB, ports: [{ containerPort: 80, hostPort }] }],
    })
    await cluster.createPod("on-10250", onPort(10_250))
    await cluster.runPod("on-6443", onPort(6443))
    // then the port of its kubelet is not given away, and the server's is that of another machine
    const { status } = await cluster.pod("on-10250", ({ status: { phase } }) => phase === "Failed")
    expect(status.message).toContain("10250/TCP belongs to the kubelet")
    expect(await machineGets(b, b.address, 6443)).toContain("k3ts web")
    expect(await b.sh(`curl -sk -m 5 ${address()}/version`)).toContain("gitVersion")
    expect(await cluster.kubectl.sh("from-agent", "echo fine")).toBe("fine\n")
    await cluster.kubectl.ok("delete pod on-6443 on-10250 --grace-period=0 --force")
  }, 60_000)

  test("a machine that starts again with another address is reached there", async () => {
    // given the new address of the agent's machine
    const other = b.address.replace(/\d+$/, "77")
    await b.sh(`ip addr add ${other}/24 dev $(ip -o -4 addr show to ${b.address} | awk '{ print $2 }')`)
    // when the agent starts with it
    await agent.kill("SIGTERM")
    agent = startAgent({ machine: b, server: address(), flags: ["--node-ip", `${other},${b.address6}`] })
    await cluster.until(
      Node,
      "agent",
      ({ metadata }) => metadata.annotations?.["flannel.alpha.coreos.com/public-ip"] === other,
    )
    // then
    await a.sh(`until bridge fdb show dev k3ts-vxlan | grep -q 'dst ${other} '; do sleep 0.1; done`)
    const [web] = await ips("web")
    expect(await gets("from-server", web!, 80)).toContain("k3ts web")
  }, 60_000)
})
