/** An etcd of its own for a test: /usr/bin/etcd with its data in a folder that is removed at the end. */
import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { spawn, spawnSync, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Whether etcd and etcdctl are installed. `hack/setup.sh --test` brings them. */
export const hasEtcd = ["etcd", "etcdctl"].every((program) => spawnSync(program, ["--version"]).error === undefined)
if (!hasEtcd) console.error("Tests with a real etcd are skipped: etcd or etcdctl is missing; run hack/setup.sh --test")

export interface TestEtcd extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`, or with https */
  readonly endpoint: string
  /** Ends the process, by SIGKILL unless given. Its data stay. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Suspends the process (SIGSTOP) until `goOn`: connections stay open, and nothing answers. */
  hang(): Promise<void>
  goOn(): void
  /** Starts the process again, with its data. */
  restart(): Promise<void>
  /** Runs etcdctl and returns what it prints. */
  ctl(...args: readonly string[]): string
}

/** @param flags more flags of etcd */
export async function startEtcd(...flags: readonly string[]): Promise<TestEtcd> {
  const peer = `http://127.0.0.1:${await freePort()}`
  return startMember("default", peer, `default=${peer}`, flags)
}

/** Starts an etcd of three members. @param flags more flags of etcd */
export async function startEtcdMembers(...flags: readonly string[]): Promise<readonly [TestEtcd, TestEtcd, TestEtcd]> {
  const peers = [await freePort(), await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`)
  const cluster = peers.map((peer, i) => `m${i}=${peer}`).join(",")
  const starts = await Promise.allSettled(peers.map((peer, i) => startMember(`m${i}`, peer, cluster, flags)))
  const members = starts.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []))
  const [a, b, c] = members
  if (c !== undefined) return [a!, b!, c]
  // The others would run on when the tests have ended.
  await Promise.all(members.map((member) => member[Symbol.asyncDispose]()))
  throw starts.find((start) => start.status === "rejected")!.reason
}

/** Files in PEM of an etcd that speaks TLS and wants certificates of its clients. */
export interface EtcdFiles {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** Starts an etcd that only clients with a certificate may use. */
export async function startSecuredEtcd({ ca, cert, key }: EtcdFiles): Promise<TestEtcd> {
  const peer = `http://127.0.0.1:${await freePort()}`
  const flags = ["--client-cert-auth", "--trusted-ca-file", ca, "--cert-file", cert, "--key-file", key]
  return startMember("default", peer, `default=${peer}`, flags, "https")
}

async function startMember(
  name: string,
  peer: string,
  cluster: string,
  flags: readonly string[],
  scheme = "http",
): Promise<TestEtcd> {
  const dir = mkdtempSync(join(tmpdir(), "k3ts-etcd-"))
  const client = `${scheme}://127.0.0.1:${await freePort()}`
  let child: ChildProcess
  const start = async () => {
    const own = spawn(
      "etcd",
      [
        ...["--name", name, "--data-dir", dir, "--log-level", "error"],
        ...["--listen-client-urls", client, "--advertise-client-urls", client],
        ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster],
        ...flags,
      ],
      { stdio: "ignore" },
    )
    child = own
    await listening(client, own).catch(async (err: unknown) => {
      await kill()
      throw err
    })
  }
  const kill = async (signal: NodeJS.Signals = "SIGKILL") => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, "exit")
    child.kill(signal)
    await exited
  }
  await start()
  return {
    endpoint: client,
    kill,
    async hang() {
      child.kill("SIGSTOP")
      while (!hasStopped(child.pid!)) await Bun.sleep(5)
    },
    goOn: () => void child.kill("SIGCONT"),
    restart: start,
    ctl(...args) {
      const env = { ...process.env, ETCDCTL_API: "3" }
      const { stdout, stderr, status, error } = spawnSync("etcdctl", ["--endpoints", client, ...args], { env })
      if (status !== 0) throw new Error(`etcdctl ${args.join(" ")}: ${error?.message ?? String(stderr)}`)
      return String(stdout)
    },
    async [Symbol.asyncDispose]() {
      await kill()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Whether every thread of a process is suspended; some still run for a moment after SIGSTOP. */
const hasStopped = (pid: number): boolean =>
  readdirSync(`/proc/${pid}/task`).every((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8").includes(") T "),
  )

/**
 * Polls until etcd answers, since it does not report that it is ready. An etcd that requires certificates closes the
 * connection.
 */
async function listening(endpoint: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 1200; tries++) {
    if (child.exitCode !== null) break
    if (endpoint.startsWith("https:") ? await accepts(Number(new URL(endpoint).port)) : await isHealthy(endpoint))
      return
    await Bun.sleep(25)
  }
  throw new Error("etcd did not start")
}

const isHealthy = async (endpoint: string): Promise<boolean> =>
  (await fetch(`${endpoint}/health`).catch(() => undefined))?.ok === true

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => (socket.destroy(), resolve(true))).once("error", () => resolve(false))
  })
