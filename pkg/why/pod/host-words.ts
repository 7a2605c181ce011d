/** How programs say that they do not find or do not reach another host. */

/** What a program did not reach. */
export interface Unreached {
  readonly host: string
  /** Undefined where the program does not tell it. */
  readonly port: number | undefined
  /** Refused at once, instead of unanswered; false where the program does not tell. */
  readonly refused: boolean
}

/** Names of hosts, as clients write them that cannot resolve them. Those that name the host most plainly come first. */
const UNRESOLVED: readonly RegExp[] = [
  /lookup ([\w.-]+)(?: on [^ ]+)?: (?:no such host|server misbehaving)/i,
  /getaddrinfo (?:ENOTFOUND|EAI_AGAIN) ([\w.-]+)/i,
  // PHP
  /getaddrinfo for ([\w.-]+) failed/i,
  // Ruby
  /failed to open tcp connection to ([\w.-]+):\d+ \(getaddrinfo/i,
  // redis-py
  /error -[2358] connecting to ([\w.-]+):\d+/i,
  // .NET
  /(?:name or service not known|no such host is known\.?|temporary failure in name resolution) \(([\w.-]+):\d+\)/i,
  // Elixir and Erlang
  /tcp connect \(([\w.-]+):\d+\): non-existing domain/i,
  /to_address,\{"([\w.-]+)",\d+\}.*nxdomain/,
  /could(?: not|n't) resolve (?:host(?:name)?|server|address):? ['"]?([\w.-]+)/i,
  /could not translate host name "([\w.-]+)"/i,
  /(?:unable|failed) to resolve (?:host(?:name)?(?: address)? )?['‘"]([\w.-]+)/i,
  /unable to resolve host(?: address)? ([\w.-]+)/i,
  /unknown (?:mysql server )?host:? ['"]([\w.-]+)/i,
  /bad address '([\w.-]+)'/i,
  /UnknownHostException: ([\w.-]+)/,
  /(?:can't|cannot) resolve ['"]?([\w.-]+)/i,
  /host ['"]([\w.-]+)['"]:? (?:not found|name or service not known)/i,
  /host not found in upstream "([\w.-]+)/i,
  /ENOTFOUND ([\w.-]+)/,
  /server can't find ([\w.-]+): NXDOMAIN/i,
  /(?<![\w.-])([\w.-]+): (?:name or service not known|nodename nor servname provided|temporary failure in name resolution)/i,
]

/** What stands before those words in the place of a name: the call that failed, the kind of the error. */
const NO_NAME = /^(?:getaddrinfo|failed|information|address|host(?:name)?|name|error)$|(?:Error|Exception|gaierror)$/

/** The words of the C library, which many programs pass on without the name that they asked for. */
const NAMELESS = /name or service not known|nodename nor servname provided|temporary failure in name resolution/i

/** Returns the name that a program could not resolve; "" where it does not tell which, undefined for other lines. */
export function unresolvedName(line: string): string | undefined {
  for (const pattern of UNRESOLVED) {
    const name = pattern.exec(line)?.[1]?.replace(/\.$/, "")
    if (name !== undefined && !/^\d+$/.test(name) && !NO_NAME.test(name)) return name
  }
  return NAMELESS.test(line) ? "" : undefined
}

/** What does not answer: host, port where it is said, and how it fails. */
const UNREACHED: readonly RegExp[] = [
  /can't connect to remote host \((?<host>[\w.:]+)\)[^\n]*?(?<how>refused|timed? ?out)/i,
  /failed to connect to (?<host>[\w.-]+) port (?<port>\d+)[^\n]*?(?<how>refused|timed? ?out|couldn't connect)/i,
  /HTTPS?ConnectionPool\(host='(?<host>[\w.-]+)', port=(?<port>\d+)\)[^\n]*?(?<how>refused|timed? ?out)/i,
  /(?:dial tcp|connect to|connecting to|connection to|reach) (?:https?:\/\/)?\[?(?<host>[\w.-]+)\]?:(?<port>\d+)[^\n]*?(?<how>refused|timed? ?out|i\/o timeout|no route)/i,
  /\/dev\/tcp\/(?<host>[\w.-]+)\/(?<port>\d+): [^\n]*?(?<how>refused|timed? ?out|no route)/i,
  /(?<how>ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH) (?<host>[\w.-]+):(?<port>\d+)/,
  // Elixir
  /tcp connect \((?<host>[\w.-]+):(?<port>\d+)\): [^\n]*?(?<how>refused|timed? ?out|timeout)/i,
  // .NET
  /(?<how>connection refused|timed? ?out|no route to host) \((?<host>[\w.-]+):(?<port>\d+)\)/i,
  // MySQL and MariaDB tell the number of the error, and its words in some versions.
  /connect to [^\n]{0,20}server on '(?<host>[\w.-]+?)(?::(?<port>\d+))?' \(\[?(?:errno )?(?<how>11[013])\b/i,
  // Prisma
  /can't reach database server at [`'"]?(?<host>[\w.-]+)[`'"]?:[`'"]?(?<port>\d+)/i,
  // Kafka
  /connection to node -?\d+ \((?<host>[\w.-]+)\/[\d.]+:(?<port>\d+)\) could not be established/i,
  /(?<![\w.-])(?<host>[\w.-]+):(?<port>\d+):? [^\n]*?(?<how>connection refused|timed? ?out|no route to host)/i,
  /host=(?<host>[\w.-]+)[^\n]*port=(?<port>\d+)[^\n]*?(?<how>refused|timed? ?out)/i,
  /"(?<host>[\w.-]+)"[^\n]*port (?<port>\d+) failed: [^\n]*?(?<how>refused|timed? ?out)/i,
]

/** Returns what a program did not reach, in each way in which its line can be read; the likeliest first. */
export const unreachedIn = (line: string): readonly Unreached[] =>
  UNREACHED.flatMap((pattern) => {
    const { host, port, how = "" } = pattern.exec(line)?.groups ?? {}
    if (host === undefined) return []
    // 111 is ECONNREFUSED of Linux.
    return [{ host, port: port === undefined ? undefined : Number(port), refused: /refused|^111$/i.test(how) }]
  })
