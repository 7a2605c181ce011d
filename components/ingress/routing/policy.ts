import { compareQuantities, fromUnits, parseQuantity, unitsOf } from "../../../pkg/apimachinery/quantity.ts"
import { parseDuration } from "../../../pkg/apimachinery/time.ts"

/** What the annotations of an Ingress say about its requests. Times in milliseconds. */
export interface Policy {
  /** Longest time for a connection to an endpoint. */
  readonly connectMs: number
  /** Longest time from the end of the request, or from its last part, to the head of the answer. */
  readonly responseMs: number
  /** Longest time for a request and its answer; Infinity for any. No annotation sets it. */
  readonly requestMs: number
  /** Longest time in which neither side of a body or of an upgraded connection sends anything. */
  readonly idleMs: number
  /** The largest body of a request, in bytes; Infinity for any. */
  readonly maxBodyBytes: number
  /** How many further endpoints are tried where that is safe. */
  readonly retries: number
  /** Requests that came without TLS are sent to `https` with status 308. */
  readonly redirectToHttps: boolean
}

export const DEFAULT_POLICY: Policy = {
  connectMs: 5000,
  responseMs: 60_000,
  requestMs: Infinity,
  idleMs: 300_000,
  maxBodyBytes: Infinity,
  retries: 2,
  redirectToHttps: false,
}

const PREFIX = "ingress.k3ts.dev/"
const LONGEST_MS = 24 * 3_600_000
const MOST_RETRIES = 10

type Setting = (text: string) => Partial<Policy> | undefined

const time = (key: "connectMs" | "responseMs" | "idleMs") => (text: string) => {
  const ms = parseDuration(text)
  return ms !== undefined && ms > 0 && ms <= LONGEST_MS ? { [key]: ms } : undefined
}

const SETTINGS: Readonly<Record<string, { readonly read: Setting; readonly form: string }>> = {
  "connect-timeout": { read: time("connectMs"), form: "a duration from 1ms to 24h, such as 5s" },
  "response-timeout": { read: time("responseMs"), form: "a duration from 1ms to 24h, such as 60s" },
  "idle-timeout": { read: time("idleMs"), form: "a duration from 1ms to 24h, such as 5m" },
  "max-body-size": {
    form: "a quantity of bytes, such as 8Mi; 0 for any",
    read(text) {
      const size = parseQuantity(text)
      if (size === undefined || compareQuantities(size, fromUnits(0)) < 0) return undefined
      return { maxBodyBytes: unitsOf(text) || Infinity }
    },
  },
  retries: {
    form: `a number from 0 to ${MOST_RETRIES}`,
    read: (text) => (/^\d{1,2}$/.test(text) && Number(text) <= MOST_RETRIES ? { retries: Number(text) } : undefined),
  },
  "redirect-to-https": {
    form: "true or false",
    read: (text) => (text === "true" || text === "false" ? { redirectToHttps: text === "true" } : undefined),
  },
}

/** The policy of an Ingress, and what is wrong with its annotations; a wrong one counts as absent. */
export function policyOf(annotations: Readonly<Record<string, string>> = {}): {
  readonly policy: Policy
  readonly problems: readonly string[]
} {
  let policy = DEFAULT_POLICY
  const problems: string[] = []
  for (const [name, text] of Object.entries(annotations)) {
    if (!name.startsWith(PREFIX)) continue
    const setting = Object.hasOwn(SETTINGS, name.slice(PREFIX.length)) ? SETTINGS[name.slice(PREFIX.length)] : undefined
    if (setting === undefined) {
      const known = Object.keys(SETTINGS).join(", ")
      problems.push(`annotation ${name} is not known: ${PREFIX} has ${known}`)
      continue
    }
    const read = setting.read(text)
    if (read === undefined)
      problems.push(`annotation ${name} has the value ${JSON.stringify(text.slice(0, 64))}: it must be ${setting.form}`)
    else policy = { ...policy, ...read }
  }
  return { policy, problems }
}
