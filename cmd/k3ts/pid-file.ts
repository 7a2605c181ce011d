import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileError, removeIfPossible, replaceFile } from "../../pkg/files/files.ts"

/** A server that runs on a data directory. */
export interface RunningServer {
  readonly pid: number
  /** What the API server listens on; undefined while it does not. */
  readonly listens: Listening | undefined
}

export interface Listening {
  readonly host: string
  readonly port: number
}

export interface Lock {
  /** Notes what the server listens on, for commands that want to reach it. */
  setListening(on: Listening): void
  release(): void
}

const pidFile = (dataDir: string): string => join(dataDir, "server/k3ts.pid")
/**
 * Held by the one server that runs a node here: network, rules and the container runtime's socket are the machine's.
 */
export const NODE_PID_FILE = "/run/k3ts/k3ts.pid"

/** Takes the data directory for this process. @throws Error that names the holder */
export const lockDataDir = (dataDir: string, pid = process.pid): Lock =>
  lock(pidFile(dataDir), pid, 0o700, () => refuseSecondServer(dataDir))

/** Takes the machine, to run a node. @throws Error that names the holder */
export const lockNode = (path = NODE_PID_FILE, pid = process.pid): Lock =>
  lock(path, pid, 0o711, () => refuseSecondNode(path))

/**
 * The file holds the pid and the time the process began, in clock ticks since boot, so that
 * a process that got the same pid later is not mistaken for the server: what a killed server leaves behind is no lock.
 */
function lock(path: string, pid: number, mode: number, refuseSecond: () => void): Lock {
  const text = `${pid}\n${startOf(pid) ?? ""}\n`
  const folder = dirname(path)
  // Pods with users of their own must be able to pass through the folders above, which hold what they run from.
  mkdirSync(dirname(folder), { recursive: true, mode: 0o755 })
  mkdirSync(folder, { recursive: true, mode })
  for (;;) {
    try {
      writeFileSync(path, text, { flag: "wx", mode: 0o644 })
      break
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== "EEXIST") {
        removeIfPossible(path) // an empty one is there where the disk is full
        throw fileError("write", path, err)
      }
      refuseSecond()
      rmSync(path, { force: true })
    }
  }
  return {
    setListening: ({ host, port }) => replaceFile(path, `${text}${port}\n${host}\n`, { mode: 0o644 }),
    release: () => rmSync(path, { force: true }),
  }
}

/** @throws Error that names the server which runs on the data directory, if one does */
export function refuseSecondServer(dataDir: string): void {
  const holder = findServer(dataDir)
  if (holder !== undefined)
    throw new Error(
      `cannot use ${dataDir}: another k3ts server runs on it (pid ${holder.pid}); stop that one, or choose ` +
        "another --data-dir",
    )
}

/** @throws Error that names the server which runs a node on this machine, if one does */
export function refuseSecondNode(path = NODE_PID_FILE): void {
  const holder = holderOf(path)
  if (holder !== undefined)
    throw new Error(
      `cannot run a node: another k3ts server runs one on this machine (pid ${holder.pid}); stop that one, or ` +
        "start this one with --disable-agent",
    )
}

/** The server that runs on a data directory, if one does. */
export const findServer = (dataDir: string): RunningServer | undefined => holderOf(pidFile(dataDir))

/** The process that holds a pid file. */
export function holderOf(path: string): RunningServer | undefined {
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch {
    return undefined
  }
  const [pid = "", start = "", port = "", host = ""] = text.split("\n")
  if (!/^\d+$/.test(pid) || startOf(Number(pid)) !== start) return undefined
  return { pid: Number(pid), listens: port === "" ? undefined : { host, port: Number(port) } }
}

/**
 * Field 22 of /proc/<pid>/stat; undefined when there is no such process. The second field, a name in parentheses, may
 * hold anything.
 */
function startOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ")[19]
  } catch {
    return undefined
  }
}
