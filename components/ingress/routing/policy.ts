import { compareQuantities, fromUnits, parseQuantity, unitsOf } from "../../../pkg/apimachinery/scalars/quantity.ts"
import { parseDuration } from "../../../pkg/apimachinery/scalars/time.ts"

/** The settings in the annotations of an Ingress. Times in milliseconds. */
export interface Policy {
  /** The longest time to connect to an endpoint. */
  readonly connectMs: number
  /** The longest time from the last part of the request to the head of the response. */
  readonly responseMs: number
  /** Longest time for a request and its answer; Infinity for any. No annotation sets it. */
  readonly requestMs: number
  /** Longest time in which neither side of a body or of an upgraded connection sends anything. */
  readonly idleMs: number
  /** The largest body of a request, in bytes; Infinity for no limit. */
  readonly maxBodyBytes: number
  /** How many more endpoints are tried when that is safe. */
  readonly retries: number
  /** Whether requests without TLS are redirected to `https` with status 308. */
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

/** Returns the policy of an Ingress, and the problems with its annotations; an invalid one is ignored. */
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
