/** The types of flag values. Each error message says what the value must be. */
import { isIP } from "node:net"
import { isAbsolute, resolve } from "node:path"
import {
  isCanonicalCIDR,
  isCanonicalIPAddress,
  isDNS1123Subdomain,
  isLabelValue,
  isQualifiedName,
  oneProblem,
  type Check,
} from "../../../pkg/apimachinery/validation/names.ts"
import { parseFeatureGates } from "../../../pkg/component/features.ts"
import { parseZonedCron } from "../../../pkg/cron/schedule.ts"
import { isSnapshotName } from "../../../pkg/snapshot/names.ts"
import type { Taint } from "../../../pkg/api/core/v1/node/nodespec.ts"
import { isOfKubelet } from "../../../pkg/api/core/v1/node/node-labels.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { unreadable } from "../../../pkg/files/unreadable.ts"
import { reading, readingAs, textThat } from "./flag-type.ts"

/** Makes the type of the texts with which `check` finds nothing wrong. */
const checkedBy = (check: Check) =>
  textThat(
    (text) => check(text) === undefined,
    (text) => oneProblem(check(text) ?? "", ", "),
  )

const wholeNumber = (text: string): number | undefined => (/^\d{1,9}$/.test(text) ? Number(text) : undefined)

/** A path, made absolute. */
export const filePath = reading(
  (text) => (text === "" || text.includes("\0") ? undefined : resolve(text)),
  "must be a path, as in /var/lib/k3ts",
)
/** A file that is read. Its path is made absolute. */
export const fileToRead = readingAs((text) => {
  const path = filePath.read(text)
  const fault = "fault" in path ? undefined : unreadable(path.value)
  return fault === undefined ? path : { fault }
})
export const fileOrDash = reading(
  (text) => (text === "" || text.includes("\0") ? undefined : text === "-" ? text : resolve(text)),
  "must be a path, as in /var/log/ingress.log, or -",
)
/** An address in canonical form: `192.0.2.1`, `2001:db8::1`. */
export const ipAddress = checkedBy(isCanonicalIPAddress)
/** The kernel's rule: dev_valid_name in net/core/dev.c. */
export const interfaceName = textThat(
  (text) => /^[^\s/:]{1,15}$/.test(text) && text !== "." && text !== "..",
  "must be the name of an interface: up to 15 characters",
)
export const hostOrAddress = textThat(
  (text) => isIP(text) !== 0 || isDNS1123Subdomain(text.replace(/^\*\./, "")) === undefined,
  "must be a host name or an IP address",
)
export const dnsName = textThat(
  (text) => isDNS1123Subdomain(text) === undefined,
  "must be a DNS name: lower case letters, digits, '-' and '.'",
)

export const port = reading((text) => {
  const number = wholeNumber(text)
  return number !== undefined && number >= 1 && number <= 65535 ? number : undefined
}, "must be a port, 1 to 65535")

/** A port, or 0 for none. */
export const portOrNone = reading((text) => {
  const number = wholeNumber(text)
  return number !== undefined && number <= 65535 ? number : undefined
}, "must be a port, 1 to 65535, or 0 for none")

/** A whole number from 0. */
export const count = reading(wholeNumber, "must be a whole number, as in 200")

/** A number from 0, which may have a fraction: `0.01`. */
export const rate = reading(
  (text) => (/^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : undefined),
  "must be a number, as in 0.1",
)

/** `30000-32767` */
export const portRange = reading((text) => {
  const [first, last] = (/^(\d+)-(\d+)$/.exec(text) ?? []).slice(1).map(Number)
  return first !== undefined && last !== undefined && first >= 1 && first <= last && last <= 65535
    ? { first, last }
    : undefined
}, "must be a range of ports, as in 30000-32767")

/** A schedule of cron, with the zone that it may name: `0 6 * * *`, `CRON_TZ=UTC @daily`. */
export const cron = readingAs((text) => {
  const read = parseZonedCron(text)
  return typeof read === "string" ? { fault: `must be a schedule of cron: ${read}` } : { value: read }
})

/** `s3.example.org`, `192.0.2.1:9000`, `[2001:db8::1]:9000` */
export const hostAndPort = textThat((text) => {
  const url = `http://${text}`
  return URL.canParse(url) && !/[/@?#\s]/.test(text) && new URL(url).hostname !== ""
}, "must be a host, and a port if need be, as in s3.example.org:9000")

/** Where a server listens: `0.0.0.0:10256`, `::1`, `[::]:10256`; undefined for the word `none`. */
export const bindAddress = (port: number) =>
  readingAs((text): { value: { host: string; port: number } | "none" } | { fault: string } => {
    if (text === "none" || text === "") return { value: "none" }
    const [, bracketed, plain, given] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? []
    const host = isIP(text) === 0 ? (bracketed ?? plain ?? "") : text
    const number = isIP(text) === 0 && given !== undefined ? Number(given) : port
    return isIP(host) === 0 || number < 1 || number > 65535
      ? { fault: `must be an address, and a port if need be, as in 0.0.0.0:${port} or [::]:${port}, or none` }
      : { value: { host, port: number } }
  })

/** `backups/k3ts`, without the slashes at its ends. */
export const keyPrefix = reading((text) => {
  const inner = text.replace(/^\/+|(?<!\/)\/+$/g, "")
  return inner.length <= 512 && !/[\0-\x1f]|\/\/|(^|\/)\.\.?(\/|$)/.test(inner) ? inner : undefined
}, "must be a path, as in backups/k3ts")

export const snapshotName = textThat(isSnapshotName, "must be letters, digits, '.', '_' and '-'")

/** An octal mode, as of chmod. */
export const fileMode = reading(
  (text) => (/^(0o)?[0-7]{3,4}$/.test(text) ? Number.parseInt(text.replace("0o", ""), 8) : undefined),
  "must be a file mode in octal, as in 600 or 0644",
)

/** A range in canonical form: `10.42.0.0/16`, `fd42::/56`. */
export const cidr = checkedBy(isCanonicalCIDR)
/** A range in canonical form, or the text `word`. */
export const cidrOr = (word: string) => checkedBy((text) => (text === word ? undefined : isCanonicalCIDR(text)))

/** `example.com/name=value`: a label that a node may set on itself. The API refuses others. */
export const label = reading((text): readonly [string, string] | undefined => {
  const equals = text.indexOf("=")
  const [key, labelValue] = [text.slice(0, equals), text.slice(equals + 1)]
  return equals > 0 && isQualifiedName(key) === undefined && isLabelValue(labelValue) === undefined && isOfKubelet(key)
    ? [key, labelValue]
    : undefined
}, "must be a label that a node may give itself, as in disk=ssd")

const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const

/** `key=value:NoSchedule`, or `key:NoSchedule` */
export const taint = reading(
  (text): Taint | undefined => {
    const [, key = "", taintValue = "", effect = ""] = /^([^=:]+)(?:=([^:]*))?:(\w+)$/.exec(text) ?? []
    const known = EFFECTS.find((name) => name === effect)
    return known !== undefined && isQualifiedName(key) === undefined && isLabelValue(taintValue) === undefined
      ? { key, value: taintValue, effect: known }
      : undefined
  },
  `must be a taint, as in dedicated=db:NoSchedule (${EFFECTS.join(", ")})`,
)

/** `Name=true,Other=false` */
export const featureGates = readingAs((text) => {
  try {
    return { value: parseFeatureGates(text) }
  } catch (err) {
    return { fault: errorMessage(err) }
  }
})

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** `90s`, `15m`, `24h`, `7d`, `1h30m`: in seconds. */
export const durationIn = (text: string): number | undefined => {
  if (!/^(\d+[smhd])+$/.test(text)) return undefined
  return [...text.matchAll(/(\d+)([smhd])/gy)].reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit!]!, 0)
}
export const duration = reading(durationIn, "must be a duration, as in 15m, 24h or 7d")

/** A duration, or 0 for none: upstream takes that without a unit. */
export const durationOrNone = reading(
  (text) => (text === "0" ? 0 : durationIn(text)),
  "must be a duration, as in 15m or 24h, or 0",
)

/** A duration that is at least what clients rely on, since upstream keeps history for two of its compactions; 0: off. */
export const historyAge = reading(
  (text) => (text === "0" ? 0 : durationIn(text)),
  "must be a duration, as in 24h, or 0",
).refine((seconds) => seconds === 0 || seconds >= 600, "must be 10m or longer, or 0 for no history")

const LONGEST_EVENT_DAYS = 3650

/** How long Events are kept; 0s for ever, as upstream's API server takes it. */
export const eventTtl = duration.refine(
  (seconds) => seconds <= LONGEST_EVENT_DAYS * UNITS["d"]!,
  `must be at most ${LONGEST_EVENT_DAYS}d, or 0s for ever`,
)

const BYTE_UNITS: Readonly<Record<string, number>> = { Mi: 2 ** 20, Gi: 2 ** 30 }

/** `64Mi`, `2Gi`: in bytes. */
export const byteSize = reading((text) => {
  const [, count, unit] = /^(\d{1,6})(Mi|Gi)$/.exec(text) ?? []
  return count === undefined || Number(count) === 0 ? undefined : Number(count) * BYTE_UNITS[unit!]!
}, "must be a size, as in 64Mi or 2Gi")

/** A unix socket: `unix:///run/x.sock` or its path; or the text `word`. */
export const socketPathOr = (word?: string) =>
  reading((text) => {
    const path = text.replace(/^unix:\/\//, "")
    return isAbsolute(path) || path === word ? path : undefined
  }, "must be a unix socket, as in unix:///run/containerd/containerd.sock")
