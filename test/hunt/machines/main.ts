/**
 * `npm run hunt -- --machines`: three servers with an etcd of three members and two agents, each on a machine of its own
 * (namespaces, root). Agents are reached through every server, the server that leads is killed, an agent is cut off
 * while a pod of a StatefulSet on it is deleted. Prints how long each took; ends with 1 where something is wrong.
 */
import { mkdtempSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startAgent, type TestAgent } from "../../harness/agent.ts"
import { BUSYBOX } from "../../harness/cluster.ts"
import { Kubectl } from "../../harness/kubectl.ts"
import type { Machine } from "../../harness/machine.ts"
import { startThreeServers, type Place } from "../../harness/three-servers.ts"

/** The time for which the pod of a disconnected agent is observed, in milliseconds: longer than until its eviction. */
const CUT_OFF_MS = 75_000
const AGENTS = ["agent-0", "agent-1"]

const home = mkdtempSync(join(tmpdir(), "k3ts-kubectl-"))
const problems: string[] = []
const check = (what: string, isRight: boolean) => {
  if (!isRight) problems.push(what)
}

class Through {
  readonly #kubectl: Kubectl
  readonly #server: string

  constructor({ machine }: Place) {
    this.#kubectl = new Kubectl({ kubeconfig: join(machine.dataDir, "k3ts.yaml"), home })
    this.#server = `https://${machine.address}:6443`
  }

  /** Runs kubectl and returns its output. @throws Error with the errors of kubectl */
  async run(words: string, input?: object): Promise<string> {
    const args = ["--server", this.#server, "--request-timeout=30s", ...words.split(" ")]
    const { code, out, err } = await this.#kubectl.run(
      args,
      input === undefined ? {} : { input: JSON.stringify(input) },
    )
    if (code !== 0) throw new Error(`kubectl ${words} ended with ${code}: ${err}`)
    return out
  }
}

async function timed(what: string, mostMs: number, work: () => Promise<unknown>): Promise<void> {
  const from = performance.now()
  await work()
  const ms = Math.round(performance.now() - from)
  process.stdout.write(`${what}: ${ms} ms\n`)
  check(`${what} took ${ms} ms, and not ${mostMs}`, ms <= mostMs)
}

const labels = { app: "db" }
const sleeper = { name: "main", image: BUSYBOX, command: ["sh", "-c", "echo I am $HOSTNAME; exec sleep 98765"] }
const STATEFUL_SET = {
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "db" },
  spec: {
    replicas: 2,
    serviceName: "db",
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [sleeper],
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: labels } },
            ],
          },
        },
      },
    },
  },
}
const DEPLOYMENT = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "after" },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "after" } },
    template: {
      metadata: { labels: { app: "after" } },
      spec: { terminationGracePeriodSeconds: 1, containers: [{ ...sleeper, command: ["sleep", "3600"] }] },
    },
  },
}

/** Returns the number of the StatefulSet's pods that run on a machine, whether or not the API knows them. */
const running = async (machine: Machine): Promise<number> =>
  Number((await machine.run("pgrep", "-fc", "^sleep 98765")).out.trim())

async function untilTrue(what: string, mostMs: number, isTrue: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + mostMs
  while (!(await isTrue().catch(() => false))) {
    if (performance.now() > until) throw new Error(`${what}: not within ${mostMs} ms`)
    await Bun.sleep(100)
  }
}

async function pods(through: Through): Promise<readonly { name: string; uid: string; node: string }[]> {
  const out = await through.run(
    "get pods -l app=db -o jsonpath={range.items[*]}{.metadata.name}{'\\t'}{.metadata.uid}{'\\t'}{.spec.nodeName}{'\\n'}{end}",
  )
  return out
    .trim()
    .split("\n")
    .map((line) => {
      const [name = "", uid = "", node = ""] = line.split("\t")
      return { name, uid, node }
    })
}

async function hunt(): Promise<void> {
  await using cluster = await startThreeServers()
  const { places, machines } = cluster
  const throughs = places.map((place) => new Through(place))
  const token = readFileSync(join(places[0]!.machine.dataDir, "server/agent-token"), "utf8").trim()
  const agents: TestAgent[] = []
  const nodes: Machine[] = []
  try {
    for (const [i, name] of AGENTS.entries()) {
      const machine = await machines.add(name)
      nodes.push(machine)
      agents.push(startAgent({ machine, server: `https://${places[i]!.machine.address}:6443`, token }))
    }
    await timed("two agents join, and are ready at a third server", 60_000, () =>
      untilTrue("agents are ready", 60_000, async () => {
        await throughs[2]!.run(`wait --for=condition=Ready --timeout=20s node/${AGENTS[0]} node/${AGENTS[1]}`)
        return true
      }),
    )
    await throughs[0]!.run("apply -f -", STATEFUL_SET)
    await throughs[1]!.run("rollout status statefulset/db --timeout=90s")
    await timed("logs and commands of two pods through three servers", 60_000, async () => {
      for (const [i, through] of throughs.entries())
        for (const pod of ["db-0", "db-1"]) {
          check(`logs of ${pod} through server ${i}`, (await through.run(`logs ${pod}`)) === `I am ${pod}\n`)
          check(`exec in ${pod} through server ${i}`, (await through.run(`exec ${pod} -- hostname`)) === `${pod}\n`)
        }
    })

    const holder = await throughs[0]!.run(
      "-n kube-system get lease kube-controller-manager -o jsonpath={.spec.holderIdentity}",
    )
    const leader = places.findIndex(({ machine }) => holder.startsWith(`${machine.name}_`))
    const [one, two] = throughs.filter((_, i) => i !== leader) as [Through, Through]
    await places[leader]!.server.kill()
    await timed("a Deployment runs after the server that led was killed", 15_000, async () => {
      await one.run("apply -f -", DEPLOYMENT)
      await untilTrue(
        "the Deployment runs",
        60_000,
        async () => (await two.run("get deployment after -o jsonpath={.status.availableReplicas}")) === "1",
      )
    })
    await timed("logs and commands of two pods after that", 30_000, async () => {
      for (const pod of ["db-0", "db-1"])
        await untilTrue(`logs of ${pod}`, 30_000, async () => (await one.run(`logs ${pod}`)) === `I am ${pod}\n`)
      check("exec after the kill", (await two.run("exec db-0 -- hostname")) === "db-0\n")
    })
    places[leader]!.server.start()
    await cluster.untilReady()

    const before = await pods(one)
    const lost = before.find(({ node }) => node === AGENTS[1])!
    const [near, far] = nodes as [Machine, Machine]
    await far.plug(false)
    await one.run(`delete pod ${lost.name} --wait=false`)
    await one.run("delete deployment after")
    const until = performance.now() + CUT_OFF_MS
    while (performance.now() < until) {
      check(`one pod of the StatefulSet runs on ${near.name}`, (await running(near)) === 1)
      check(`one pod of the StatefulSet runs on ${far.name}, which is cut off`, (await running(far)) === 1)
      const uids = (await pods(two)).filter(({ name }) => name === lost.name).map(({ uid }) => uid)
      check(`${lost.name} is not replaced while nobody knows whether it runs`, uids.join() === lost.uid)
      await Bun.sleep(2000)
    }
    await far.plug(true)
    await timed(`${lost.name} is replaced when its agent is back`, 60_000, () =>
      untilTrue("it is replaced", 60_000, async () => {
        check("never two on one machine", (await running(near)) <= 1 && (await running(far)) <= 1)
        const now = (await pods(two)).find(({ name }) => name === lost.name)
        return now !== undefined && now.uid !== lost.uid && (await running(far)) === 1
      }),
    )
    check("two pods run in the end", (await running(near)) + (await running(far)) === 2)
  } catch (err) {
    problems.push(`${String(err)}\n${agents.map((agent) => agent.output().slice(-1500)).join("\n---\n")}`)
  } finally {
    for (const agent of agents) await agent[Symbol.asyncDispose]()
  }
}

await hunt()
for (const problem of new Set(problems)) process.stdout.write(`wrong: ${problem}\n`)
process.stdout.write(`${problems.length === 0 ? "passed" : "failed"}\n`)
process.exit(problems.length === 0 ? 0 : 1)
