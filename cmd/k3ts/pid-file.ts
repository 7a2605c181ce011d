import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileError, removeIfPossible, replaceFile } from "../../pkg/files/files.ts"

/** A server that runs on a data directory. */
export interface RunningServer {
  readonly pid: number
  /** The address of the API server; undefined while it does not listen. */
  readonly listens: Listening | undefined
}

export interface Listening {
  readonly host: string
  readonly port: number
}

export interface Lock {
  /** Records the address of the server, for commands that call it. */
  setListening(on: Listening): void
  release(): void
}

const PID_FILE = "k3ts.pid"
const pidFile = (dataDir: string): string => join(dataDir, "server", PID_FILE)
/**
 * Held by the one server that runs a node on this machine, because network, rules and the runtime's socket exist once.
 */
export const NODE_PID_FILE = "/run/k3ts/k3ts.pid"

/** Locks the data directory for this process. @throws Error that names the holder */
export const lockDataDir = (dataDir: string, pid = process.pid): Lock =>
  lock(pidFile(dataDir), pid, 0o700, () => refuseSecondServer(dataDir))

/** Locks a folder that is to become the `server` folder of a data directory, for this process. */
export const lockRestore = (folder: string, pid = process.pid): Lock =>
  lock(join(folder, PID_FILE), pid, 0o700, () => undefined)

/** Returns the process that made such a folder. */
export const restorerOf = (folder: string): RunningServer | undefined => holderOf(join(folder, PID_FILE))

/** Locks the machine for the node of this process. @throws Error that names the holder */
export const lockNode = (path = NODE_PID_FILE, pid = process.pid): Lock =>
  lock(path, pid, 0o711, () => refuseSecondNode(path))

/**
 * The file holds the pid and the start time of the process, in clock ticks since boot, so that a later process with the
 * same pid is not taken for the server: the file of a killed server is no lock.
 */
function lock(path: string, pid: number, mode: number, refuseSecond: () => void): Lock {
  const text = `${pid}\n${startOf(pid) ?? ""}\n`
  const folder = dirname(path)
  // Pods with user namespaces must be able to pass through the folders above.
  mkdirSync(dirname(folder), { recursive: true, mode: 0o755 })
  mkdirSync(folder, { recursive: true, mode })
  take(path, pid, text, refuseSecond)
  return {
    setListening: ({ host, port }) => replaceFile(path, `${text}${port}\n${host}\n`, { mode: 0o644 }),
    release: () => rmSync(path, { force: true }),
  }
}

/** Makes the file of a lock, in place of one whose process is gone. `refuseSecond` throws when its process runs. */
function take(path: string, pid: number, text: string, refuseSecond: () => void): void {
  while (!createWhole(path, pid, text)) {
    refuseSecond()
    // Two processes that start at once can both find the file of a killed one. Only who holds this second lock may
    // remove it, so that neither removes the new file of the other.
    const takeover = `${path}.takeover`
    take(takeover, pid, text, () => refuseTakeover(takeover))
    try {
      refuseSecond()
      rmSync(path, { force: true })
    } finally {
      rmSync(takeover, { force: true })
    }
  }
}

/** Creates a file with its content in one step, since an empty one is no lock. Returns false when the file exists. */
function createWhole(path: string, pid: number, text: string): boolean {
  const aside = `${path}.${pid}`
  try {
    writeFileSync(aside, text, { mode: 0o644 })
    linkSync(aside, path)
    return true
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "EEXIST") return false
    throw fileError("write", path, err)
  } finally {
    removeIfPossible(aside)
  }
}

/** @throws Error that names the process that is about to lock the same path, if there is one */
function refuseTakeover(takeover: string): void {
  const holder = holderOf(takeover)
  if (holder !== undefined)
    throw new Error(
      `cannot take over ${takeover.slice(0, -".takeover".length)}: another k3ts starts at the same time ` +
        `(pid ${holder.pid}); start this one again when that one has ended`,
    )
}

/** @throws Error that names the server that runs on the data directory, if there is one */
export function refuseSecondServer(dataDir: string): void {
  const holder = findServer(dataDir)
  if (holder !== undefined)
    throw new Error(
      `cannot use ${dataDir}: another k3ts server runs on it (pid ${holder.pid}); stop that one, or choose ` +
        "another --data-dir",
    )
}

/** @throws Error that names the server that runs a node on this machine, if there is one */
export function refuseSecondNode(path = NODE_PID_FILE): void {
  const holder = holderOf(path)
  if (holder !== undefined)
    throw new Error(
      `cannot run a node: another k3ts server runs one on this machine (pid ${holder.pid}); stop that one, or ` +
        "start this one with --disable-agent",
    )
}

/** Returns the server that runs on a data directory, if there is one. */
export const findServer = (dataDir: string): RunningServer | undefined => holderOf(pidFile(dataDir))

/** Returns the process that holds a pid file. */
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
 * Returns field 22 of /proc/<pid>/stat; undefined when the process does not exist. The second field, a name in
 * parentheses, may contain anything.
 */
function startOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ")[19]
  } catch {
    return undefined
  }
}
