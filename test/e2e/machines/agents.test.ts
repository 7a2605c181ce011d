/** Nodes on machines of their own: how they join, and how they work without a server. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { connect } from "node:tls"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { agentToken, startAgent, type TestAgent } from "../../harness/agent.ts"
import { BUSYBOX, describeOnMachines, startCluster, stay, type Cluster } from "../../harness/cluster.ts"
import { startMachines, type Machine, type Machines } from "../../harness/machine.ts"

/** The names and addresses in the certificate of the kubelet at an address. */
const alternativeNames = (host: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port: 10250, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().subjectaltname ?? "")
      socket.destroy()
    })
    socket.once("error", reject)
  })

describeOnMachines("an agent", () => {
  let machines: Machines
  let [a, b] = [] as Machine[] as [Machine, Machine]
  let cluster: Cluster
  let agent: TestAgent
  beforeAll(async () => {
    machines = await startMachines()
    a = await machines.add("server")
    b = await machines.add("agent")
    cluster = await startCluster({ machine: a })
  }, 60_000)
  afterAll(async () => {
    await agent?.[Symbol.asyncDispose]()
    await cluster?.[Symbol.asyncDispose]()
    await machines?.[Symbol.asyncDispose]()
  }, 30_000)
  const address = () => `https://${a.address}:6443`
  const isReady = ({ status }: Node) =>
    status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
  const onAgent = (name: string) =>
    cluster.runPod(name, { nodeName: "agent", containers: [{ name: "c", image: BUSYBOX, command: stay() }] })

  test("is refused with a wrong token, and refuses a server whose CA the token does not name", async () => {
    const [hash, user] = agentToken(cluster.server).split("::") as [string, string]
    for (const [token, complaint] of [
      [`${hash}::node:00000000000000000000000000000000`, "the token is not valid"],
      [`K10${"0".repeat(64)}::${user}`, "its CA is not the one that the token names"],
    ] as const) {
      await using refused = startAgent({ machine: b, server: address(), token })
      expect(await refused.ended()).toBe(1)
      expect(refused.output()).toContain(complaint)
    }
    expect((await cluster.client.list(Node)).items.map(({ metadata }) => metadata.name)).toEqual(["server"])
  })

  test("joins with a token, and its node runs pods, as the server's node does", async () => {
    agent = startAgent({ machine: b, server: address(), token: agentToken(cluster.server) })
    const node = await cluster.until(Node, "agent", isReady)
    expect(node.status.addresses).toContainEqual({ type: "InternalIP", address: b.address })
    expect(node.spec.podCIDRs).toEqual(["10.42.1.0/24"])
    await cluster.client.create(Deployment, {
      metadata: { name: "spread", namespace: "default" },
      spec: {
        replicas: 4,
        selector: { matchLabels: { app: "spread" } },
        template: {
          metadata: { labels: { app: "spread" } },
          spec: { containers: [{ name: "c", image: BUSYBOX, command: stay() }] },
        },
      },
    })
    await cluster.until(Deployment, "spread", ({ status }) => status.availableReplicas === 4)
    const { items } = await cluster.client.list(Pod, { namespace: "default", labelSelector: "app=spread" })
    expect(new Set(items.map(({ spec }) => spec.nodeName))).toEqual(new Set(["server", "agent"]))
    // and its kube-proxy says how it is, on loopback only
    expect(await b.sh("curl -s -m 3 http://localhost:10256/healthz")).toContain('"nodeEligible":true,"healthy":true')
    expect(await b.sh("ss -Hltn 'sport = :10256 or sport = :10249' | awk '{ print $4 }' | sort")).toBe(
      "127.0.0.1:10249\n127.0.0.1:10256\n",
    )
    // which has had the kernel keep connections that one side has closed for an hour
    expect(await b.sh("cat /proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait")).toBe("3600\n")
  }, 60_000)

  test("gives logs and metrics and runs commands in pods, through its tunnel and directly", async () => {
    // given a kubelet that the server cannot reach directly, and a pod on its node
    await agent.kill("SIGTERM")
    const flags = ["--kubelet-port", "0", "--kube-proxy-arg=healthz-bind-address=0.0.0.0"]
    agent = startAgent({ machine: b, server: address(), flags })
    const name = "speaks"
    const command = ["sh", "-c", "echo hello from $(hostname); exec sleep 3600"]
    await cluster.runPod(name, { nodeName: "agent", containers: [{ name: "c", image: BUSYBOX, command }] })
    const spoken = async () => {
      const { out, err, code } = await cluster.kubectl.run(["exec", name, "--", "sh", "-c", "echo out; exit 3"])
      return [(await cluster.kubectl.run(["logs", name])).out, out, code, err.includes("exit code 3")]
    }
    // then
    const wants = [`hello from ${name}\n`, "out\n", 3, true]
    expect(await spoken()).toEqual(wants)
    const summary = await cluster.kubectl.run(["get", "--raw", "/api/v1/nodes/agent/proxy/stats/summary"])
    expect((JSON.parse(summary.out) as { node: { nodeName: string } }).node.nodeName).toBe("agent")
    // and kube-proxy tells its health where it was told to
    expect(await a.sh(`curl -s -m 3 http://${b.address}:10256/livez`)).toContain('"healthy":true')
    // when there is no tunnel, but a port
    expect(await b.sh("ss -Hltn 'sport = :10250'")).toBe("")
    await agent.kill("SIGTERM")
    agent = startAgent({ machine: b, server: address() })
    while (!agent.output().includes("The kubelet listens")) await Bun.sleep(20)
    // then
    expect(await spoken()).toEqual(wants)
  }, 60_000)

  test("with the node name of another machine is refused", async () => {
    const c = await machines.add("agent-2")
    await using second = startAgent({
      machine: c,
      server: address(),
      token: agentToken(cluster.server),
      flags: ["--node-name", "agent"],
    })
    expect(await second.ended()).toBe(1)
    expect(second.output()).toContain("the name agent belongs to another machine")
    await using beside = startAgent({
      machine: c,
      server: address(),
      token: agentToken(cluster.server),
      flags: ["--node-name", "server"],
    })
    expect(await beside.ended()).toBe(1)
    expect(beside.output()).toContain("the name server belongs to another machine")
  }, 30_000)

  test("that starts again while no server answers keeps its pods, and takes new ones when the server is back", async () => {
    // given a pod, and a server that is cut off
    const before = await onAgent("kept")
    const processes = () => b.sh("pgrep -f '[s]leep 3600' | sort")
    const running = await processes()
    await machines.cut(a, b)
    // when the agent is killed and starts without a token
    await agent.kill("SIGKILL")
    agent = startAgent({ machine: b, server: address() })
    const said = ["containerd is ready", "No server answers: the node starts with its last configuration"]
    while (!said.every((text) => agent.output().includes(text))) await Bun.sleep(20)
    // then the processes of its pod keep running
    expect(await processes()).toBe(running)
    // and when the server is back, the pod is the same, and new pods start
    await machines.heal()
    await onAgent("later")
    const { metadata, status } = await cluster.pod("kept")
    expect(metadata.uid).toBe(before.metadata.uid)
    expect(status.containerStatuses?.[0]?.containerID).toBe(before.status.containerStatuses![0]!.containerID!)
    expect(await processes()).toContain(running.trim().split("\n")[0]!)
  }, 90_000)

  test("whose machine gets another address is followed without a restart", async () => {
    // when
    const [before, after] = [b.address, b.address.replace(/\d+$/, "77")]
    const readdress = `ip addr del ${before}/24 dev eth0 && ip addr add ${after}/24 dev eth0`
    await b.sh(`${readdress} && ip route add default via ${machines.lan.gateway.address}`)
    // then its Node has it, and the other nodes send there what is for its pods
    await cluster.until(
      Node,
      "agent",
      ({ metadata, status }) =>
        metadata.annotations?.["flannel.alpha.coreos.com/public-ip"] === after &&
        status.addresses?.some(({ type, address }) => type === "InternalIP" && address === after) === true,
    )
    const forwarding = () => a.sh("bridge fdb show dev k3ts-vxlan")
    while (!(await forwarding()).includes(`dst ${after} `)) await Bun.sleep(50)
    expect(await forwarding()).not.toContain(`dst ${before} `)
    // and its kubelet has a certificate for it
    while (!(await alternativeNames(after)).includes(after)) await Bun.sleep(50)
    // and its pods are reached
    await onAgent("moved")
    expect((await cluster.kubectl.run(["exec", "moved", "--", "echo", "here"])).out).toBe("here\n")
    expect((await cluster.pod("moved")).status.hostIP).toBe(after)
  }, 90_000)
})
