/** A PostgreSQL server of its own for a test: Debian's, with its data in a folder that is removed at the end. */
import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { spawn, spawnSync, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

interface Account {
  readonly uid?: number
  readonly gid?: number
}

const ROOT = "/usr/lib/postgresql"
/** The folder of the newest version's programs; undefined where it is not installed. */
const bin = existsSync(ROOT)
  ? readdirSync(ROOT)
      .toSorted((a, b) => Number(b) - Number(a))
      .map((version) => join(ROOT, version, "bin"))
      .find((folder) => existsSync(join(folder, "initdb")))
  : undefined

/** PostgreSQL refuses to run as root; Debian's package has made this user. */
const owner: Account | undefined = process.getuid?.() === 0 ? accountOf("postgres") : {}

/** Whether PostgreSQL is installed. `hack/setup.sh --test` brings it. */
export const hasPostgres = bin !== undefined && owner !== undefined
if (!hasPostgres) console.error("Tests with a real PostgreSQL are skipped: it is missing; run hack/setup.sh --test")

export interface TestPostgres extends AsyncDisposable {
  readonly port: number
  /** `postgres://k3ts:<password>@127.0.0.1:<port>/postgres` */
  readonly endpoint: string
  readonly password: string
  /** Ends the server at once, as a crash would. Its data stay. */
  kill(): Promise<void>
  restart(): Promise<void>
  /** Suspends all its processes (SIGSTOP) until `goOn`: connections stay open, and nothing answers. */
  hang(): void
  goOn(): void
  /** Starts a standby that receives every write before it is acknowledged here. */
  addStandby(): Promise<TestStandby>
  /** Runs SQL by psql and returns what it prints, without headings. */
  sql(text: string): string
  /** Returns the transactions per second of pgbench with this SQL. */
  perSecond(text: string, load: { readonly clients: number; readonly seconds: number }): number
}

export interface TestStandby extends AsyncDisposable {
  readonly port: number
  /** Promotes the standby to the primary. */
  promote(): void
}

export interface PostgresFiles {
  readonly certPem: string
  readonly keyPem: string
  readonly caPem: string
}

/** @param files PEM texts of a server that takes TLS only, and wants certificates of its clients */
export async function startPostgres(files?: PostgresFiles): Promise<TestPostgres> {
  const dir = mkdtempSync(join(tmpdir(), "k3ts-postgres-"))
  const [data, password, port] = [join(dir, "data"), "s3cret-of-k3ts", await freePort()]
  if (owner?.uid !== undefined) chownSync(dir, owner.uid, owner.gid!)
  write(join(dir, "password"), password)
  run("initdb", ["-D", data, "-U", "k3ts", "--pwfile", join(dir, "password"), "--auth=scram-sha-256", "--no-sync"], dir)
  appendFileSync(
    join(data, "postgresql.conf"),
    `\nlisten_addresses = '127.0.0.1'\nport = ${port}\nunix_socket_directories = '${dir}'\nshared_buffers = '16MB'\n`,
  )
  if (files !== undefined) {
    for (const [name, pem] of Object.entries({
      "server.crt": files.certPem,
      "server.key": files.keyPem,
      "ca.crt": files.caPem,
    }))
      write(join(data, name), pem)
    appendFileSync(join(data, "postgresql.conf"), "ssl = on\nssl_ca_file = 'ca.crt'\n")
    write(join(data, "pg_hba.conf"), "hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n")
  }
  let child = await launch(dir, data, port)
  const place = ["-h", "127.0.0.1", "-p", String(port), "-U", "k3ts"]
  const sql = (text: string) => run("psql", [...place, "-d", "postgres", "-XAtc", text], dir, { PGPASSWORD: password })
  const signalAll = (signal: NodeJS.Signals) => {
    const children = spawnSync("ps", ["--ppid", String(child.pid), "-o", "pid="]).stdout.toString()
    for (const pid of [child.pid!, ...children.split("\n").filter(Boolean).map(Number)]) process.kill(pid, signal)
  }
  return {
    port,
    password,
    endpoint: `postgres://k3ts:${password}@127.0.0.1:${port}/postgres`,
    kill: () => crash(child),
    async restart() {
      child = await launch(dir, data, port)
    },
    hang: () => signalAll("SIGSTOP"),
    goOn: () => signalAll("SIGCONT"),
    sql,
    perSecond(text, { clients, seconds }) {
      const script = join(dir, "script.sql")
      write(script, text)
      const load = ["-n", "-M", "prepared", "-f", script, "-c", String(clients), "-j", "2", "-T", String(seconds)]
      const printed = run("pgbench", [...place, ...load, "postgres"], dir, { PGPASSWORD: password })
      return Number(/^tps = ([\d.]+)/m.exec(printed)![1])
    },
    async addStandby() {
      const standby = await startStandby(port, password)
      sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
      sql("SELECT pg_reload_conf()")
      while (sql("SELECT sync_state FROM pg_stat_replication").trim() !== "sync") await Bun.sleep(25)
      return standby
    },
    async [Symbol.asyncDispose]() {
      await crash(child)
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

async function startStandby(primaryPort: number, password: string): Promise<TestStandby> {
  const dir = mkdtempSync(join(tmpdir(), "k3ts-standby-"))
  const [data, port] = [join(dir, "data"), await freePort()]
  if (owner?.uid !== undefined) chownSync(dir, owner.uid, owner.gid!)
  const from = ["-h", "127.0.0.1", "-p", String(primaryPort), "-U", "k3ts"]
  run("pg_basebackup", [...from, "-D", data, "-R", "-c", "fast", "--no-sync"], dir, { PGPASSWORD: password })
  appendFileSync(join(data, "postgresql.conf"), `\nport = ${port}\nunix_socket_directories = '${dir}'\n`)
  const child = await launch(dir, data, port)
  return {
    port,
    promote: () => void run("pg_ctl", ["promote", "-D", data], dir),
    async [Symbol.asyncDispose]() {
      await crash(child)
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

async function launch(dir: string, data: string, port: number): Promise<ChildProcess> {
  const child = spawn(join(bin!, "postgres"), ["-D", data], { cwd: dir, stdio: "ignore", detached: true, ...owner })
  await listening(port, child)
  return child
}

/**
 * Shuts the server down at once. As in a crash it writes nothing more, but it leaves no process and no shared memory.
 */
async function crash(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, "exit")
  child.kill("SIGQUIT")
  await exited
}

function accountOf(name: string): Account | undefined {
  const [uid, gid] = ["-u", "-g"].map((flag) => spawnSync("id", [flag, name]).stdout.toString().trim())
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined
}

/** Writes a file that only the server's user may read. */
function write(file: string, text: string): void {
  writeFileSync(file, text)
  chmodSync(file, 0o600)
  if (owner?.uid !== undefined) chownSync(file, owner.uid, owner.gid!)
}

function run(program: string, args: readonly string[], cwd: string, env: Record<string, string> = {}): string {
  const options = { cwd, env: { ...process.env, ...env }, ...owner }
  const { stdout, stderr, status, error } = spawnSync(join(bin!, program), args, options)
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? String(stderr)}`)
  return String(stdout)
}

/** Polls until the server accepts connections, since it does not report that it is ready. */
async function listening(port: number, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 400 && child.exitCode === null; tries++) {
    if (spawnSync(join(bin!, "pg_isready"), ["-h", "127.0.0.1", "-p", String(port)]).status === 0) return
    await Bun.sleep(25)
  }
  throw new Error("PostgreSQL did not start")
}
