import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { Database } from "bun:sqlite"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openClusterPki } from "../../pkg/pki/cluster-pki.ts"
import { median } from "./figure.ts"
import { load } from "./load.ts"

/** A TLS server of this runtime in a process of its own, as the API server is, that answers all with the same bytes. */
export interface BareServer extends AsyncDisposable {
  readonly port: number
  readonly pid: number
}

export async function startBareTls(bytes: number): Promise<BareServer> {
  const port = await freePort()
  const child = Bun.spawn([process.execPath, import.meta.path, String(port), String(bytes)], {
    stdout: "pipe",
    env: { ...process.env, BARE_TLS: "1" },
  })
  await child.stdout.getReader().read() // it listens
  return {
    port,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill()
      await child.exited
    },
  }
}

/** Requests a second of a bare TLS server: what no API server on this runtime can beat. */
export async function bareTls(bytes: number, connections: number): Promise<number> {
  await using server = await startBareTls(bytes)
  return (await load({ url: `https://127.0.0.1:${server.port}/`, connections, seconds: 3 })).perSecond
}

/**
 * Rows of `bytes` a second into SQLite with WAL and synchronous=FULL, `batch` rows a transaction, on the disk that the
 * server uses.
 */
export function rawSqlite(bytes: number, batch: number): number {
  const dir = mkdtempSync(join(tmpdir(), "k3ts-sqlite-"))
  const db = new Database(join(dir, "raw.db"))
  try {
    db.run("PRAGMA journal_mode = WAL")
    db.run("PRAGMA synchronous = FULL")
    db.run("CREATE TABLE log (rev INTEGER PRIMARY KEY, key TEXT, value TEXT)")
    const insert = db.prepare("INSERT INTO log (key, value) VALUES (?, ?)")
    const value = "x".repeat(bytes)
    const commit = db.transaction((from: number) => {
      for (let i = 0; i < batch; i++) insert.run(`/registry/configmaps/default/raw-${from + i}`, value)
    })
    let rows = 0
    const start = performance.now()
    while (performance.now() - start < 2000) {
      commit(rows)
      rows += batch
    }
    return (rows * 1000) / (performance.now() - start)
  } finally {
    db.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

/**
 * Milliseconds in which a bare TLS server in a process of its own writes the same bytes to so many connections, until
 * all have them; the median of some rounds.
 */
export async function bareFanOut(bytes: number, connections: number): Promise<number> {
  const port = await freePort()
  const child = Bun.spawn([process.execPath, import.meta.path, String(port), String(bytes)], {
    stdin: "pipe",
    stdout: "pipe",
    env: { ...process.env, BARE_TLS: "fan-out" },
  })
  await child.stdout.getReader().read() // it listens
  let [arrived, all] = [0, (): void => undefined]
  const sockets = await Promise.all(
    Array.from(
      { length: connections },
      () =>
        new Promise<Bun.Socket>((resolve, reject) => {
          let greeted = false
          Bun.connect({
            hostname: "127.0.0.1",
            port,
            tls: { rejectUnauthorized: false },
            socket: {
              data(socket, chunk) {
                if (greeted) arrived += chunk.length
                greeted = true
                resolve(socket)
                if (arrived >= bytes * connections) all()
              },
            },
          }).catch(reject)
        }),
    ),
  )
  const ms = await rounds(async () => {
    arrived = 0
    const delivered = new Promise<void>((resolve) => (all = resolve))
    void child.stdin.write("now\n")
    await child.stdin.flush()
    await delivered
  })
  for (const socket of sockets) socket.end()
  child.kill()
  await child.exited
  return ms
}

/**
 * The median of milliseconds that some rounds take, after some that nobody measures: at first a server runs its code
 * slowly, and its compiler beside it.
 */
export async function rounds(run: (round: number) => Promise<void>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const start = performance.now()
    await run(round)
    if (round >= WARM_UP_ROUNDS) times.push(performance.now() - start)
  }
  return median(times)
}
const WARM_UP_ROUNDS = 15
const ROUNDS = 25

if (process.env["BARE_TLS"] !== undefined) {
  const [port, bytes] = process.argv.slice(2).map(Number)
  const pki = openClusterPki({ now: () => Date.now() })
  const leaf = pki.leaf({
    name: "bare",
    authority: "server-ca",
    subject: { commonName: "bare", organizations: [] },
    ipAddresses: ["127.0.0.1"],
  })
  const body = Buffer.alloc(bytes!, "x")
  const certificate = { cert: leaf.certPem, key: leaf.keyPem }
  const listening = () => console.log("listening")
  if (process.env["BARE_TLS"] === "fan-out") {
    // Without the streams of node:tls, which cost as much again as TLS itself.
    const open = new Set<Bun.Socket>()
    Bun.listen({
      hostname: "127.0.0.1",
      port: port!,
      tls: certificate,
      socket: {
        data() {},
        close: (socket) => void open.delete(socket),
        handshake(socket) {
          open.add(socket)
          socket.setNoDelay(true)
          socket.write("!") // the client may think itself connected before we do
        },
      },
    })
    listening()
    process.stdin.on("data", () => {
      for (const socket of open) socket.write(body)
    })
  } else {
    const server = createServer(certificate, (_req, res) => {
      res.writeHead(200, { "content-type": "application/json", "content-length": body.length })
      res.end(body)
    })
    server.keepAliveTimeout = 60_000 // other servers are measured between its requests
    server.listen(port, "127.0.0.1", listening)
  }
}
