import { readdirSync, readFileSync } from "node:fs"
import { startCluster, BUSYBOX, type Cluster } from "../../harness/cluster.ts"
import type { Kubectl } from "../../harness/kubectl.ts"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Benchmark, Figure } from "../figure.ts"

const DEPLOYMENTS = 2
const REPLICAS = 4
/** A round begins so often; two hours of it are 3,800 pods. */
const ROUND_MS = 15_000
/** How long the node is left alone before it is measured. */
const IDLE_MS = 180_000
/** Rounds before the first measurement: what the first pod of a node leaves for good is not counted. */
const WARM_ROUNDS = 4
/** A soak goes on where something else keeps the machine busy for a while. */
const LIMIT_MS = 300_000
/** More descriptors or threads than before by these: connections that happen to be open when they are counted. */
const SLACK = 10

/** It writes 20 lines a second, and answers to HTTP. */
const SCRIPT = `httpd -p 8080 -h /etc; while :; do echo "$RANDOM a line of the log"; sleep 0.05; done`
const PAYLOAD = "0123456789abcdef".repeat(65_536)

/**
 * What a real node holds before and after a time in which pods come and go beside followed logs, commands and
 * forwarded ports, a part of them cut off: `npm run bench -- node-soak 120`, in minutes. It takes eight minutes more.
 */
export const nodeSoak = (minutes: number): Benchmark => ({
  name: "node-soak",
  needs: () => (process.getuid?.() === 0 ? undefined : "needs root"),
  async *run(): AsyncIterable<Figure> {
    await using cluster = await startCluster({ limitMs: LIMIT_MS })
    for (let round = 0; round < WARM_ROUNDS; round++) await pods(cluster, `warm-${round}`)
    await Bun.sleep(IDLE_MS)
    const before = held(cluster)
    const end = performance.now() + minutes * 60_000
    let rounds = 0
    for (; performance.now() < end; rounds++) {
      const next = performance.now() + ROUND_MS
      await pods(cluster, `soak-${rounds}`)
      await Bun.sleep(Math.max(0, next - performance.now()))
    }
    await Bun.sleep(IDLE_MS)
    const after = held(cluster)
    console.error(`(${rounds} rounds: ${rounds * DEPLOYMENTS * REPLICAS} pods, ${rounds * DEPLOYMENTS * 4} streams)`)
    const pairs = [
      ["descriptors of the server", "descriptors", before.server.descriptors, after.server.descriptors],
      ["threads of the server", "threads", before.server.threads, after.server.threads],
      ["descriptors of containerd", "descriptors", before.containerd.descriptors, after.containerd.descriptors],
      ["threads of containerd", "threads", before.containerd.threads, after.containerd.threads],
    ] as const
    for (const [name, unit, was, is] of pairs) {
      yield { name: `${name} at rest`, unit, value: was, better: "less" }
      yield { name: `${name} after ${minutes} minutes`, unit, value: is, goal: was + SLACK, better: "less" }
    }
    yield { name: "memory of the server at rest", unit: "MB", value: before.mb, better: "less" }
    yield {
      name: `memory of the server after ${minutes} minutes`,
      unit: "MB",
      value: after.mb,
      goal: 1.3 * before.mb,
      better: "less",
    }
  },
})

/** Deployments become ready, their pods are used in each way in which streams are, and they are deleted. */
async function pods(cluster: Cluster, round: string): Promise<void> {
  const names = Array.from({ length: DEPLOYMENTS }, (_, i) => `${round}-${i}`)
  await Promise.all(names.map((name) => used(cluster, name)))
}

async function used(cluster: Cluster, name: string): Promise<void> {
  const { client, kubectl } = cluster
  await client.create(Deployment, {
    metadata: { namespace: "default", name },
    spec: {
      replicas: REPLICAS,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [
            {
              name: "main",
              image: BUSYBOX,
              command: ["sh", "-c", SCRIPT],
              readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  })
  await cluster.until(Deployment, name, ({ status }) => status.readyReplicas === REPLICAS)
  const { items } = await client.list(Pod, { namespace: "default", labelSelector: `app=${name}` })
  const names = items.map(({ metadata }) => metadata.name!)
  const [first, second] = names as [string, string]
  // Followed until the pod is gone.
  const followed = kubectl.run(["logs", "-f", first])
  await Promise.all([echoed(kubectl, first), cutOff(kubectl, second), forwarded(kubectl, second)])
  await client.delete(Deployment, { namespace: "default", name })
  for (const pod of names) await cluster.gone(Pod, pod)
  await followed
}

async function echoed(kubectl: Kubectl, pod: string): Promise<void> {
  const { out, code, err } = await kubectl.run(["exec", "-i", pod, "--", "cat"], { input: PAYLOAD })
  if (code !== 0 || out !== PAYLOAD) throw new Error(`exec ended with ${code} and ${out.length} bytes: ${err}`)
}

/** A command whose client is killed while it still writes. */
async function cutOff(kubectl: Kubectl, pod: string): Promise<void> {
  const child = Bun.spawn([kubectl.path, "exec", pod, "--", "yes"], {
    env: kubectl.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  })
  const reader = child.stdout.getReader()
  await reader.read()
  child.kill("SIGKILL")
  await child.exited
}

async function forwarded(kubectl: Kubectl, pod: string): Promise<void> {
  await using forward = await kubectl.portForward(`pod/${pod}`, 8080)
  for (let i = 0; i < 5; i++) {
    const answer = await fetch(`http://127.0.0.1:${forward.port}/passwd`, { keepalive: false })
    const text = await answer.text()
    if (!answer.ok || !text.startsWith("root:")) throw new Error(`the port answered ${answer.status}: ${text}`)
  }
}

interface Held {
  readonly descriptors: number
  readonly threads: number
}

function held({ server }: Cluster): { readonly server: Held; readonly containerd: Held; readonly mb: number } {
  const containerd = childrenOf(server.pid).find((pid) => nameOf(pid) === "containerd")
  if (containerd === undefined) throw new Error("containerd is no child of the server")
  return { server: heldBy(server.pid), containerd: heldBy(containerd), mb: server.residentMb() }
}

const heldBy = (pid: number): Held => ({
  descriptors: readdirSync(`/proc/${pid}/fd`).length,
  threads: readdirSync(`/proc/${pid}/task`).length,
})
const nameOf = (pid: number): string => readFileSync(`/proc/${pid}/comm`, "utf8").trim()
const childrenOf = (pid: number): readonly number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  )
