import { readFileSync } from "node:fs"
import { Agent } from "node:https"
import { join } from "node:path"
import { startMachines, type Machine, type Machines } from "./machine.ts"
import { EXECUTABLE, send } from "./server.ts"
import { Supervised } from "./machine/supervised.ts"

const PLACES = [0, 1, 2]
const TOKEN = "hunted-by-seeds"
const START_MS = 60_000

/** A machine with a member of etcd and a server over all members. */
export interface Place {
  readonly machine: Machine
  readonly etcd: Supervised
  readonly server: Supervised
  readonly etcdUrl: string
}

/** Three machines that are the servers of a cluster. Disposing it ends and removes all. */
export interface ThreeServers extends AsyncDisposable {
  readonly machines: Machines
  readonly places: readonly Place[]
  /** The administrator's token. */
  readonly token: string
  /** Resolves when every server is ready. @throws Error with the end of its log when one is not in time */
  untilReady(): Promise<void>
}

/** @param disabled the parts that do not run, as `--disable` names them */
export async function startThreeServers(disabled: readonly string[] = []): Promise<ThreeServers> {
  const machines = await startMachines()
  const places: Place[] = []
  const untilReady = async () => {
    for (const place of places) await ready(place)
  }
  const dispose = async () => {
    for (const { server, etcd } of places) await Promise.all([server.kill(), etcd.kill()])
    await machines[Symbol.asyncDispose]()
  }
  try {
    const hosts: Machine[] = []
    for (const place of PLACES) hosts.push(await machines.add(`m${place}`))
    const urlOf = ({ address }: Machine, port: number) => `http://${address}:${port}`
    const members = hosts.map((machine) => `${machine.name}=${urlOf(machine, 2380)}`).join(",")
    const endpoints = hosts.map((machine) => urlOf(machine, 2379))
    for (const machine of hosts) {
      const [client, peer] = [urlOf(machine, 2379), urlOf(machine, 2380)]
      const etcd = new Supervised(
        machine,
        "etcd",
        ...["--name", machine.name, "--data-dir", join(machine.folder, "etcd"), "--log-level", "error"],
        ...["--listen-client-urls", client, "--advertise-client-urls", client],
        ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", members],
      )
      const server = new Supervised(
        machine,
        EXECUTABLE,
        ...["server", "--config", "/dev/null", "--data-dir", machine.dataDir, "--disable-agent", "--token", TOKEN],
        ...["--write-kubeconfig", join(machine.dataDir, "k3ts.yaml"), "--advertise-address", machine.address],
        ...["--datastore-endpoint", endpoints.join(",")],
        ...disabled.flatMap((part) => ["--disable", part]),
      )
      places.push({ machine, etcd, server, etcdUrl: client })
    }
    for (const { etcd, server } of places) {
      etcd.start()
      server.start()
    }
    await untilReady()
    const token = readFileSync(join(places[0]!.machine.dataDir, "server/token"), "utf8").trim()
    return { machines, places, token, untilReady, [Symbol.asyncDispose]: dispose }
  } catch (err) {
    await dispose()
    throw err
  }
}

async function ready({ machine, server }: Place): Promise<void> {
  const agent = new Agent()
  const until = performance.now() + START_MS
  const to = { host: machine.address, port: 6443 }
  for (;;) {
    const answer = await Promise.race([
      send(agent, to, "GET", "/readyz", {}).catch(() => undefined),
      Bun.sleep(1000).then(() => undefined),
    ])
    if (answer?.status === 200) break
    if (performance.now() > until) throw new Error(`The server of ${machine.name} is not ready:\n${server.output}`)
    await Bun.sleep(50)
  }
  agent.destroy()
}
