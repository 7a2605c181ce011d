/** The address of a PostgreSQL server, the database and the user. */
export interface PostgresEndpoint {
  /** A host name, an address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string | undefined
  readonly database: string
  /** Whether the connection is encrypted and the server's certificate checked; otherwise it is plain. */
  readonly isSecure: boolean
  /** `host:port/database`, for messages: without a password. */
  readonly name: string
}

const DEFAULT_PORT = 5432
const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "::1"])
const MODES: ReadonlySet<string | null> = new Set([null, "disable", "verify-full"])
const SCHEMES: ReadonlySet<string> = new Set(["postgres:", "postgresql:"])
/** Of several servers always the one is used that takes writes; libpq needs one of these values for that. */
const ATTRS: ReadonlySet<string | null> = new Set([null, "read-write", "primary"])
const PARAMETERS: ReadonlySet<string> = new Set(["sslmode", "target_session_attrs"])

/**
 * Splits URLs with commas between them, or one that names several hosts as libpq takes it
 * (`postgres://user@a:5432,b:5432/database`), into URLs of one host each. They need not be valid. Source: PostgreSQL's
 * documentation of libpq, Specifying Multiple Hosts.
 */
export function splitPostgresUrls(text: string): readonly string[] {
  return text.split(/,(?=\s*postgres(?:ql)?:)/).flatMap((one) => {
    const parts = /^(\s*\w+:\/\/(?:[^@/]*@)?)([^/?]*)(.*)$/.exec(one)
    return parts === null ? [one.trim()] : parts[2]!.split(",").map((host) => `${parts[1]}${host}${parts[3]}`.trim())
  })
}

/**
 * Parses `postgres://user:password@host:port/database`; returns undefined for any other text. The folder of a Unix
 * socket is written as a host, with %2F. `sslmode` is `verify-full`, or `disable`, which is the default on the same
 * machine only. Other modes of libpq do not check the server's certificate, so anyone on the network path could pose as
 * the server.
 */
export function parsePostgresUrl(text: string): PostgresEndpoint | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const mode = url.searchParams.get("sslmode")
  const hasOthers = [...url.searchParams.keys()].some((name) => !PARAMETERS.has(name))
  if (!SCHEMES.has(url.protocol) || hasOthers || !MODES.has(mode)) return undefined
  if (!ATTRS.has(url.searchParams.get("target_session_attrs"))) return undefined
  const [host, user, password, database] = [
    url.hostname.replace(/^\[|\]$/g, ""),
    url.username,
    url.password,
    url.pathname.slice(1),
  ].map(decoded)
  if (!host || !user || !database || password === undefined) return undefined
  const isSocket = host.startsWith("/")
  if (isSocket && mode === "verify-full") return undefined
  const port = Number(url.port || DEFAULT_PORT)
  return {
    host,
    port,
    user,
    password: password === "" ? undefined : password,
    database,
    isSecure: mode === "verify-full" || (mode === null && !isSocket && !LOOPBACK.has(host)),
    name: `${host.includes(":") ? `[${host}]` : host}:${port}/${database}`,
  }
}

/** Whether others on the network could read the traffic to this server. */
export const isOpenToReaders = ({ host, isSecure }: PostgresEndpoint): boolean =>
  !isSecure && !host.startsWith("/") && !LOOPBACK.has(host)

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
