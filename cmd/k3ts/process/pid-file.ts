import { existsSync, linkSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileError, readIfExists, removeIfPossible, replaceFile } from "../../../pkg/files/files.ts"
import { isEnding, startOf } from "../../../pkg/process/process-state.ts"

/** A server that runs on a data directory. */
export interface RunningServer {
  readonly pid: number
  /** The address of the API server; undefined while it does not listen. */
  readonly listens: Listening | undefined
  /** Whether it ends by itself within seconds: it was killed, or was told to stop. */
  readonly isEnding: boolean
}

export interface Listening {
  readonly host: string
  readonly port: number
}

export interface Lock {
  /** Records the address of the server, for commands that call it. */
  setListening(on: Listening): void
  /** Records that the process stops, so that the next one waits for its end. */
  setStopping(): void
  /** Also removes the folders that were made for the lock, where nothing has come into them. */
  release(): void
}

const PID_FILE = "k3ts.pid"
const pidFile = (dataDir: string): string => join(dataDir, "server", PID_FILE)
/**
 * Held by the one server that runs a node on this machine, because network, rules and the runtime's socket exist once.
 */
export const NODE_PID_FILE = "/run/k3ts/k3ts.pid"

const agentPidFile = (dataDir: string): string => join(dataDir, "agent", PID_FILE)

/** Locks the data directory for this process. @throws Error that names the holder */
export const lockDataDir = (dataDir: string, pid = process.pid): Lock =>
  lock(pidFile(dataDir), pid, 0o700, (holder) => {
    throw serverRuns(dataDir, holder)
  })

/** Locks the data directory for this process, an agent. @throws Error that names the holder */
export const lockAgent = (dataDir: string, pid = process.pid): Lock =>
  lock(agentPidFile(dataDir), pid, 0o755, ({ pid: other }) => {
    throw new Error(
      `cannot use ${dataDir}: another k3ts agent runs on it (pid ${other}); stop that one, or choose another --data-dir`,
    )
  })

/** Returns the agent that runs on a data directory, if there is one. */
export const findAgent = (dataDir: string): RunningServer | undefined => holderOf(agentPidFile(dataDir))

/** Locks a folder that is to become the `server` folder of a data directory, for this process. */
export const lockRestore = (folder: string, pid = process.pid): Lock =>
  lock(join(folder, PID_FILE), pid, 0o700, () => undefined)

/** Returns the process that made such a folder. */
export const restorerOf = (folder: string): RunningServer | undefined => holderOf(join(folder, PID_FILE))

/** Locks the machine for the node of this process. @throws Error that names the holder */
export const lockNode = (path = NODE_PID_FILE, pid = process.pid): Lock =>
  lock(path, pid, 0o711, (holder) => {
    throw nodeRuns(holder)
  })

/**
 * The file holds the pid and the start time of the process, in clock ticks since boot, so that a later process with the
 * same pid is not taken for the server: the file of a killed server is no lock.
 */
function lock(path: string, pid: number, mode: number, refuseSecond: (holder: RunningServer) => void): Lock {
  const text = `${pid}\n${startOf(pid) ?? ""}\n`
  const folder = dirname(path)
  // Pods with user namespaces must be able to pass through the folders above.
  const above = mkdirSync(dirname(folder), { recursive: true, mode: 0o755 })
  const made = mkdirSync(folder, { recursive: true, mode })
  take(path, pid, text, refuseSecond)
  let where = "\n\n"
  const write = (end: string) => replaceFile(path, `${text}${where}${end}`, { mode: 0o644 })
  return {
    setListening({ host, port }) {
      where = `${port}\n${host}\n`
      write("")
    },
    setStopping() {
      try {
        write(`${STOPPING}\n`)
      } catch {
        // On a full disk the next start does not wait for this process.
      }
    },
    release() {
      rmSync(path, { force: true })
      if (made !== undefined) removeEmpty(folder, above ?? made)
    },
  }
}

const STOPPING = "stopping"

/** Removes a folder and those above it up to `top`, as far as nothing is in them. */
function removeEmpty(folder: string, top: string): void {
  try {
    for (let path = folder; path.startsWith(top); path = dirname(path)) rmdirSync(path)
  } catch {
    // Something is in it.
  }
}

/** Makes the file of a lock, in place of one whose process is gone. `refuseSecond` throws when its process runs. */
function take(path: string, pid: number, text: string, refuseSecond: (holder: RunningServer) => void): void {
  while (!createWhole(path, pid, text)) {
    if (!isLeftBehind(path, refuseSecond)) continue
    // Two processes that start at once can both find the file of a killed one. Only who holds this second lock may
    // remove it, so that neither removes the new file of the other.
    const takeover = `${path}.takeover`
    take(takeover, pid, text, (holder) => {
      throw takesOver(path, holder)
    })
    try {
      if (isLeftBehind(path, refuseSecond)) rmSync(path, { force: true })
    } finally {
      rmSync(takeover, { force: true })
    }
  }
}

/**
 * Whether a file is that of a process that is gone; false when it has been released in between, since the file that is
 * there next may be another process's. @throws what `refuseSecond` throws when its process runs
 */
function isLeftBehind(path: string, refuseSecond: (holder: RunningServer) => void): boolean {
  const text = readIfExists(path)
  if (text === undefined) return false
  const holder = holderIn(text)
  if (holder !== undefined) refuseSecond(holder)
  return true
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

const takesOver = (path: string, { pid }: RunningServer): Error =>
  new Error(
    `cannot take over ${path}: another k3ts starts at the same time (pid ${pid}); start this one again when that one ` +
      "has ended",
  )

const serverRuns = (dataDir: string, { pid }: RunningServer): Error =>
  new Error(
    `cannot use ${dataDir}: another k3ts server runs on it (pid ${pid}); stop that one, or choose another --data-dir`,
  )

const nodeRuns = ({ pid }: RunningServer): Error =>
  new Error(
    `cannot run a node: another k3ts server runs one on this machine (pid ${pid}); stop that one, or start this one ` +
      "with --disable-agent",
  )

/** @throws Error that names the server that runs on the data directory, if there is one */
export function refuseSecondServer(dataDir: string): void {
  const holder = findServer(dataDir)
  if (holder !== undefined) throw serverRuns(dataDir, holder)
}

/** @throws Error that names the server that runs a node on this machine, if there is one */
export function refuseSecondNode(path = NODE_PID_FILE): void {
  const holder = holderOf(path)
  if (holder !== undefined) throw nodeRuns(holder)
}

/** Returns the server that runs on a data directory, if there is one. */
export const findServer = (dataDir: string): RunningServer | undefined => holderOf(pidFile(dataDir))

/** Whether a data directory has the lock of a server or an agent that was killed. */
export const wasKilled = (dataDir: string): boolean =>
  [pidFile(dataDir), agentPidFile(dataDir)].some((path) => existsSync(path) && holderOf(path) === undefined)

/** Returns the process that holds a pid file. */
export function holderOf(path: string): RunningServer | undefined {
  try {
    return holderIn(readFileSync(path, "utf8"))
  } catch {
    return undefined
  }
}

/** Returns the process whose lock has this text, if it runs. */
function holderIn(text: string): RunningServer | undefined {
  const [pid = "", start = "", port = "", host = "", stopping = ""] = text.split("\n")
  if (!/^\d+$/.test(pid) || startOf(Number(pid)) !== start) return undefined
  return {
    pid: Number(pid),
    listens: port === "" ? undefined : { host, port: Number(port) },
    isEnding: stopping === STOPPING || isEnding(Number(pid)),
  }
}
