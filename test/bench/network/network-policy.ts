import { execFileSync } from "node:child_process"
import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { NetworkPolicy } from "../../../pkg/api/networking/v1/networkpolicy.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { hostIn, type Host } from "../../../pkg/netfilter/host.ts"
import { startCluster } from "../../../components/cluster/testing/cluster.ts"
import { createNetworkPolicy } from "../../../components/network-policy/network-policy.ts"
import { median, type Benchmark, type Figure } from "../figure.ts"

const PODS = 1000
const ROUNDS = 7
const NETNS = `k3ts-policy-bench-${process.pid}`
const has = (program: string) => Bun.which(program, { PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` }) !== null

/** NetworkPolicies over a thousand pods, in a network namespace of its own: from the write to the kernel's rules. */
export const networkPolicy: Benchmark = {
  name: "network-policy",
  needs: () => (process.getuid?.() === 0 && has("ip") && has("nft") ? undefined : "needs root, ip and nft"),
  async *run() {
    execFileSync("ip", ["netns", "add", NETNS])
    try {
      yield* measure(hostIn(NETNS))
    } finally {
      execFileSync("ip", ["netns", "delete", NETNS])
    }
  },
}

async function* measure(host: Host): AsyncIterable<Figure> {
  await using cluster = await startCluster({
    clock: "real",
    history: "none",
    components: { scheduler: false, controllers: false },
    admission: { disabled: ["ServiceAccount"] },
  })
  const { client } = cluster
  const component = createNetworkPolicy(cluster.contextFor("bench", ["system:masters"]), {
    nodeName: "node-0",
    families: ["IPv4"],
    bridge: "cni0",
    host,
  })
  await component.start(new AbortController().signal)
  await client.create(Namespace, { metadata: { name: "x" } })
  for (let i = 0; i < PODS; i++) {
    const pod = await client.create(Pod, podObject(i))
    const body = { status: { phase: "Running", podIP: address(i) } }
    await client.patch(Pod, pod.metadata, { type: "merge", body }, { subresource: "status" })
  }
  const inForce = async (change: () => Promise<unknown>): Promise<number> => {
    const began = performance.now()
    await change()
    await new Promise((resolve) => setImmediate(resolve))
    await component.inForce()
    return performance.now() - began
  }
  const policy = (name: string) => ({
    metadata: { name, namespace: "x" },
    spec: {
      podSelector: {},
      ingress: [{ from: [{ podSelector: { matchLabels: { half: "0" } } }], ports: [{ port: "http" }, { port: 443 }] }],
    },
  })
  const write = (name: string) => inForce(() => client.create(NetworkPolicy, policy(name)))
  yield figure("the first policy over 1,000 pods, written → in force", await write("first"), 200)
  const times: number[] = []
  for (let i = 0; i < ROUNDS; i++) times.push(await write(`more-${i}`))
  yield figure("one more policy over 1,000 pods, written → in force", median(times), 200)
  // Raw: the same number of elements, as text from nobody.
  const elements = Array.from({ length: PODS }, (_, i) => `${address(i)} : drop`).join(", ")
  const raw: number[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const began = performance.now()
    await host.feed(
      "nft",
      ["-f", "-"],
      `table inet raw {\nmap m { type ipv4_addr : verdict; elements = { ${elements} }; }\n}\ndelete table inet raw\n`,
    )
    raw.push(performance.now() - began)
  }
  yield figure("a map of 1,000 elements by nft alone", median(raw))
  const starts: number[] = []
  for (let i = PODS; i < PODS + ROUNDS; i++) {
    const pod = decodeObject(Pod, podObject(i)).object
    starts.push(await inForce(() => component.admit(pod, [address(i)])))
  }
  yield figure("a pod that starts waits for its policies, of 1,000 pods", median(starts), 50)
  await component.stop()
}

const figure = (name: string, value: number, goal?: number): Figure => ({
  name,
  unit: "ms",
  value,
  goal,
  better: "less",
})
const address = (i: number) => `10.42.${Math.floor(i / 250)}.${(i % 250) + 2}`
const podObject = (i: number) => ({
  metadata: { name: `pod-${i}`, namespace: "x", labels: { half: String(i % 2) } },
  spec: {
    nodeName: "node-0",
    containers: [{ name: "c", image: "pause", ports: [{ name: "http", containerPort: 8080 }] }],
  },
})
