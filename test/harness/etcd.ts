/** An etcd of its own for a test: /usr/bin/etcd with its data in a folder that is removed at the end. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "./server.ts"

/** Whether etcd and etcdctl are installed. `hack/setup.sh --test` brings them. */
export const hasEtcd = ["etcd", "etcdctl"].every((program) => spawnSync(program, ["--version"]).error === undefined)
if (!hasEtcd) console.error("Tests with a real etcd are skipped: etcd or etcdctl is missing; run hack/setup.sh --test")

export interface TestEtcd extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly endpoint: string
  /** Ends the process, by SIGKILL unless given. Its data stay. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Stops the process where it is, so that connections stay open and nothing answers; SIGCONT lets it go on. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void
  /** Starts the process again, with its data. */
  restart(): Promise<void>
  /** Runs etcdctl and returns what it prints. */
  ctl(...args: readonly string[]): string
}

/** @param flags more flags of etcd */
export async function startEtcd(...flags: readonly string[]): Promise<TestEtcd> {
  const dir = mkdtempSync(join(tmpdir(), "k3ts-etcd-"))
  const [client, peer] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`]
  let child: ChildProcess
  const start = async () => {
    const own = spawn(
      "etcd",
      [
        ...["--data-dir", dir, "--log-level", "error"],
        ...["--listen-client-urls", client, "--advertise-client-urls", client],
        ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", `default=${peer}`],
        ...flags,
      ],
      { stdio: "ignore" },
    )
    child = own
    await healthy(client, own)
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
    signal: (signal) => void child.kill(signal),
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

/** Asks until etcd answers: nothing tells when it does. */
async function healthy(endpoint: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    if (child.exitCode !== null) break
    const answer = await fetch(`${endpoint}/health`).catch(() => undefined)
    if (answer?.ok === true) return
    await Bun.sleep(25)
  }
  throw new Error("etcd did not start")
}
