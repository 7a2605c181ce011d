/** The address of a PostgreSQL server, the database and the user. */
export interface PostgresEndpoint {
  /** A host name, an IP address, or the folder of a unix socket. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string | undefined
  readonly database: string
  /** Whether the connection is encrypted and the server's certificate is checked; otherwise it is unencrypted. */
  readonly isSecure: boolean
  /** `host:port/database`, for messages: contains no password. */
  readonly name: string
}

const DEFAULT_PORT = 5432
const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "::1"])
const MODES: ReadonlySet<string | null> = new Set([null, "disable", "verify-full"])
const SCHEMES: ReadonlySet<string> = new Set(["postgres:", "postgresql:"])
/**
 * The accepted values of `target_session_attrs`. Of several servers k3ts always uses the one that accepts writes; libpq
 * needs one of these values for that.
 */
const ATTRS: ReadonlySet<string | null> = new Set([null, "read-write", "primary"])
const PARAMETERS: ReadonlySet<string> = new Set(["sslmode", "target_session_attrs"])

/**
 * Splits URLs that are separated by commas, or one URL with several hosts in libpq's syntax
 * (`postgres://user@a:5432,b:5432/database`), into URLs of one host each. They are not validated. Source: PostgreSQL's
 * documentation of libpq, Specifying Multiple Hosts.
 */
export function splitPostgresUrls(text: string): readonly string[] {
  return text.split(/,(?=\s*postgres(?:ql)?:)/).flatMap((one) => {
    const parts = /^(\s*\w+:\/\/(?:[^@/]*@)?)([^/?]*)(.*)$/.exec(one)
    return parts === null ? [one.trim()] : parts[2]!.split(",").map((host) => `${parts[1]}${host}${parts[3]}`.trim())
  })
}

/**
 * Parses `postgres://user:password@host:port/database`; returns undefined for any other text. The folder of a unix
 * socket is written as a host, with %2F for each slash. `sslmode` is `verify-full`, or `disable`, which is the default
 * on the same machine only. libpq's other modes do not check the server's certificate, so anyone on the network path
 * could pose as the server.
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

/** Returns whether others on the network could read the traffic to this server. */
export const isOpenToReaders = ({ host, isSecure }: PostgresEndpoint): boolean =>
  !isSecure && !host.startsWith("/") && !LOOPBACK.has(host)

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
