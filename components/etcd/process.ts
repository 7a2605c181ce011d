import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import type { Clock } from "../../pkg/clock/clock.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { endOrphan } from "../../pkg/process/orphan.ts"
import { etcdTlsFiles } from "./certificates.ts"
import { clientUrl, localUrl, peerUrl, type EtcdConfig } from "./etcd-config.ts"
import { LogLines } from "./log-lines.ts"

/** How a member comes to its cluster. Once it has data, etcd reads none of it. */
export interface InitialCluster {
  readonly state: "new" | "existing"
  /** `<name>=<peer URL>`, with commas. */
  readonly members: string
}

export interface LaunchOptions {
  readonly config: EtcdConfig
  /** The name of the member. */
  readonly name: string
  readonly initial: InitialCluster | undefined
  /** Makes this member the only one, with the data that it has. */
  readonly forceNewCluster?: boolean
  readonly log: Logger
  readonly clock: Clock
}

export interface EtcdEnd {
  readonly reason: string
  /** Whether etcd has ended because the cluster has removed this member. */
  readonly isRemoved: boolean
}

/** A running etcd. */
export interface EtcdProcess {
  readonly pid: number
  /** Resolves when it has ended. Never rejects. */
  readonly exited: Promise<EtcdEnd>
  /** Ends it. */
  stop(): Promise<void>
}

/** k3ts itself must end within five seconds; an etcd without a majority does not end by itself. */
const STOP_TIMEOUT_MS = 2000
/**
 * Milliseconds. A member that is not heard for as long as the second calls an election. k3s takes 500 and 5000, after
 * which a cluster without its leader may be without one for ten seconds.
 */
const HEARTBEAT_MS = 200
const ELECTION_MS = 2000

/** Ends the etcd of a folder that a killed server has left behind. Resolves to its pid; undefined where none runs. */
export const endOrphanedEtcd = (folder: string, clock: Clock): Promise<number | undefined> =>
  endOrphan({ program: "etcd", argument: `--data-dir=${folder}`, stopMs: STOP_TIMEOUT_MS }, clock)

/** Starts etcd in a process group of its own, so that Ctrl-C in the terminal of k3ts does not reach it. */
export function launchEtcd(options: LaunchOptions): EtcdProcess {
  const { clock, log, config } = options
  const lines = new LogLines(log, clock)
  // What is set in the environment would be taken for flags: ETCD_LISTEN_CLIENT_URLS, as Debian's service has it.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("ETCD")))
  const child = spawn("etcd", argumentsOf(options), { detached: true, env, stdio: ["ignore", "ignore", "pipe"] })
  // A program that could not be started for want of a file descriptor has no streams.
  const { stderr }: { readonly stderr?: typeof child.stderr } = child
  if (stderr !== undefined) createInterface({ input: stderr }).on("line", (line) => lines.take(line))
  const exited = new Promise<EtcdEnd>((resolve) => {
    child.on("error", (err) =>
      resolve({
        reason: `etcd could not be run: ${err.message}; is it installed? apt-get install etcd-server`,
        isRemoved: false,
      }),
    )
    // At `close` the last line of its log has been read.
    child.on("close", (code, signal) => {
      const end = signal === null ? `exited with code ${code}` : `was ended by ${signal}`
      const why = signal === null && lines.complaint !== undefined ? `: ${lines.complaint}` : ""
      resolve({ reason: `etcd ${end}${why}`, isRemoved: lines.saysRemoved })
    })
  })
  log.debug("Started etcd", { pid: child.pid, folder: config.folder })
  return {
    pid: child.pid ?? 0,
    exited,
    async stop() {
      child.kill("SIGTERM")
      const timer = clock.setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS)
      await exited
      timer.cancel()
    },
  }
}

function argumentsOf({ config, name, initial, forceNewCluster = false }: Omit<LaunchOptions, "log" | "clock">) {
  const files = etcdTlsFiles(config.tlsFolder)
  const flags: Readonly<Record<string, string | number | undefined>> = {
    name,
    "data-dir": config.folder,
    "listen-client-urls": [localUrl(config), clientUrl(config)].join(","),
    "advertise-client-urls": clientUrl(config),
    "listen-peer-urls": peerUrl(config),
    "initial-advertise-peer-urls": peerUrl(config),
    "listen-metrics-urls": `http://127.0.0.1:${config.ports.metrics}`,
    "initial-cluster": initial?.members,
    "initial-cluster-state": initial?.state,
    "client-cert-auth": "true",
    "trusted-ca-file": files.serverCa,
    "cert-file": files.server.certFile,
    "key-file": files.server.keyFile,
    "peer-client-cert-auth": "true",
    "peer-trusted-ca-file": files.peerCa,
    "peer-cert-file": files.peer.certFile,
    "peer-key-file": files.peer.keyFile,
    "heartbeat-interval": HEARTBEAT_MS,
    "election-timeout": ELECTION_MS,
    // A member that comes back or joins must not depose a leader which all others hear; the default from 3.5 on.
    "pre-vote": "true",
    "snapshot-count": 10_000,
    logger: "zap",
    "log-outputs": "stderr",
    "force-new-cluster": forceNewCluster ? "true" : undefined,
  }
  return Object.entries(flags).flatMap(([flag, value]) => (value === undefined ? [] : [`--${flag}=${value}`]))
}
