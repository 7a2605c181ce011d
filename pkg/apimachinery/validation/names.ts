import { isIP } from "node:net"
import { addressNumber, canonicalAddress, isMapped } from "../addresses/cidr.ts"

/**
 * Checks names and other short texts. Each check returns what is wrong in upstream's words, or undefined: a text for
 * one fault, a list for several. Source: apimachinery pkg/util/validation/validation.go and pkg/api/validate/content.
 */
export type Check = (value: string) => Problem | undefined
export type Problem = string | readonly string[]

/** Joins all faults of a check into one text, where upstream does. */
export const oneProblem = (problem: Problem, separator: string): string =>
  typeof problem === "string" ? problem : problem.join(separator)

const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`
const LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
const QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

const whole = (pattern: string) => new RegExp(`^(?:${pattern})$`)
const labelPattern = whole(LABEL)
const subdomainPattern = whole(SUBDOMAIN)
const label1035Pattern = whole(LABEL_1035)
const wildcardPattern = whole(`\\*\\.${SUBDOMAIN}`)
const qualifiedPattern = whole(QUALIFIED)
const plainQualifiedPattern = whole(`(${SUBDOMAIN}/)?${QUALIFIED}`)

/** Returns upstream's message for a failed pattern: the rule, examples, and the pattern itself. */
export const patternMessage = (rule: string, pattern: string, ...examples: string[]): string =>
  examples.length === 0
    ? `${rule} (regex used for validation is '${pattern}')`
    : `${rule} (e.g. ${examples.map((example) => `'${example}', `).join(" or ")}regex used for validation is ` +
      `'${pattern}')`

const byteLength = (value: string) => Buffer.byteLength(value)
function all(...problems: readonly (string | undefined | false)[]): Problem | undefined {
  let found: Problem | undefined
  for (const problem of problems)
    if (typeof problem === "string")
      found = found === undefined ? problem : typeof found === "string" ? [found, problem] : [...found, problem]
  return found
}
const longerThan = (value: string, max: number) =>
  value.length > max / 4 && byteLength(value) > max && `must be no more than ${max} characters`
const longerThanBytes = (value: string, max: number) =>
  value.length > max / 4 && byteLength(value) > max && `must be no more than ${max} bytes`

type Longer = typeof longerThan
const labelWithin =
  (longer: Longer): Check =>
  (value) =>
    all(
      longer(value, 63),
      !labelPattern.test(value) &&
        (subdomainPattern.test(value)
          ? "must not contain dots"
          : patternMessage(
              "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must " +
                "start and end with an alphanumeric character",
              LABEL,
              "my-name",
              "123-abc",
            )),
    )
/** Checks for a DNS label of RFC 1123, at most 63 characters. */
export const isDNS1123Label: Check = labelWithin(longerThan)
/** The same in the words of declarative validation. Source: apimachinery pkg/api/validate/content. */
export const isShortName: Check = labelWithin(longerThanBytes)

const subdomainWithin =
  (longer: Longer): Check =>
  (value) =>
    all(
      longer(value, 253),
      !subdomainPattern.test(value) &&
        patternMessage(
          "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " +
            "must start and end with an alphanumeric character",
          SUBDOMAIN,
          "example.com",
        ),
    )
/** Checks for a DNS name of RFC 1123, at most 253 characters. */
export const isDNS1123Subdomain: Check = subdomainWithin(longerThan)
/** The same in the words of declarative validation. */
export const isLongName: Check = subdomainWithin(longerThanBytes)

/** Checks for a DNS label that starts with a letter (RFC 1035), as names of Services. */
export const isDNS1035Label: Check = (value) =>
  all(
    longerThan(value, 63),
    !label1035Pattern.test(value) &&
      patternMessage(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic " +
          "character, and end with an alphanumeric character",
        LABEL_1035,
        "my-name",
        "abc-123",
      ),
  )

/** Checks for `*.` and a DNS name, as hosts of Ingresses. */
export const isWildcardDNS1123Subdomain: Check = (value) =>
  all(
    longerThan(value, 253),
    !wildcardPattern.test(value) &&
      patternMessage(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must " +
          "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
        `\\*\\.${SUBDOMAIN}`,
        "*.example.com",
      ),
  )

/** Checks for a DNS name of two parts or more, with an optional final dot. */
export const isFullyQualifiedDomainName: Check = (value) => {
  const name = value.endsWith(".") ? value.slice(0, -1) : value
  const problem = isDNS1123Subdomain(name)
  if (problem !== undefined) return oneProblem(problem, ",")
  const labels = name.split(".")
  if (labels.length < 2) return "should be a domain with at least two segments separated by dots"
  const wrong = labels.map(isDNS1123Label).find((found) => found !== undefined)
  return wrong === undefined ? undefined : oneProblem(wrong, ",")
}

const MOST_OF_NAME = 63
const PREFIX_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"

/** Checks a label or annotation key: a name of at most 63 bytes, with an optional DNS name and `/` before it. */
export const isQualifiedName: Check = (value) => {
  // True for nearly all: neither part can be too long.
  if (value.length <= MOST_OF_NAME && plainQualifiedPattern.test(value)) return undefined
  const parts = value.split("/")
  if (parts.length > 2)
    return (
      `a valid label key ${patternMessage(PREFIX_RULE, QUALIFIED, "MyName", "my.name", "123-abc")} with an ` +
      "optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    )
  const name = parts[parts.length - 1]!
  const prefix = parts.length === 2 ? parts[0]! : undefined
  const prefixProblem =
    prefix === undefined ? undefined : prefix === "" ? "must be non-empty" : isDNS1123Subdomain(prefix)
  const prefixProblems =
    prefixProblem === undefined ? [] : typeof prefixProblem === "string" ? [prefixProblem] : prefixProblem
  const nameProblem = name === "" ? "must be non-empty" : longerThanBytes(name, MOST_OF_NAME)
  return all(
    ...prefixProblems.map((problem) => `prefix part ${problem}`),
    typeof nameProblem === "string" && `name part ${nameProblem}`,
    !qualifiedPattern.test(name) &&
      `name part ${patternMessage(PREFIX_RULE, QUALIFIED, "MyName", "my.name", "123-abc")}`,
  )
}

/** Checks the value of a label: empty, or at most 63 bytes of letters, digits, `-`, `_` and `.`. */
export const isLabelValue: Check = (value) =>
  all(
    longerThanBytes(value, 63),
    value !== "" &&
      !qualifiedPattern.test(value) &&
      patternMessage(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " +
          "must start and end with an alphanumeric character",
        `(${QUALIFIED})?`,
        "MyValue",
        "my_value",
        "12345",
      ),
  )

/**
 * Checks the name of an environment variable: printable ASCII without `=`, the relaxed rule that is the default since
 * 1.34.
 */
export const isEnvVarName: Check = (value) => {
  if (value === "") return "environment variable name must be non-empty"
  return /^[ -<>-~]+$/.test(value)
    ? undefined
    : "a valid environment variable name must consist only of printable ASCII characters other than '='"
}

const leavesFolder = (value: string) =>
  value === "."
    ? "must not be '.'"
    : value === ".."
      ? "must not be '..'"
      : value.startsWith("..") && "must not start with '..'"

/** Checks a key in a ConfigMap or Secret, which must be a valid file name. */
export const isConfigMapKey: Check = (value) =>
  all(
    longerThan(value, 253),
    !/^[-._a-zA-Z0-9]+$/.test(value) &&
      patternMessage(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        "[-._a-zA-Z0-9]+",
        "key.name",
        "KEY_NAME",
        "key-name",
      ),
    leavesFolder(value),
  )

/**
 * Checks for a name that a URL path can contain unchanged, the only rule of kinds with free names (RBAC). Source:
 * apimachinery pkg/api/validation/path.
 */
export const isPathSegmentName: Check = (value) => {
  if (value === "." || value === "..") return `may not be '${value}'`
  if (!value.includes("/") && !value.includes("%")) return undefined
  return all(...["/", "%"].filter((char) => value.includes(char)).map((char) => `may not contain '${char}'`))
}

export const isHTTPHeaderName: Check = (value) =>
  /^[-A-Za-z0-9]+$/.test(value)
    ? undefined
    : patternMessage(
        "a valid HTTP header must consist of alphanumeric characters or '-'",
        "[-A-Za-z0-9]+",
        "X-Header-Name",
      )

/** Checks the name of a port: an IANA service name (RFC 6335) in lower case. */
export const isPortName: Check = (value) =>
  all(
    longerThan(value, 15),
    !/^[-a-z0-9]+$/.test(value) && "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    !/[a-z]/.test(value) && "must contain at least one letter (a-z)",
    value.includes("--") && "must not contain consecutive hyphens",
    (value.startsWith("-") || value.endsWith("-")) && "must not begin or end with a hyphen",
  )

export const isPercent: Check = (value) =>
  /^[0-9]+%$/.test(value)
    ? undefined
    : patternMessage(
        "a valid percent string must be a numeric string followed by an ending '%'",
        "[0-9]+%",
        "1%",
        "93%",
      )

export const isPortNumber = (port: number): string | undefined => inRange(port, 1, 65535)
/** Returns what is wrong with a number that must be between `min` and `max`. */
export const inRange = (value: number, min: number, max: number): string | undefined =>
  value >= min && value <= max ? undefined : `must be between ${min} and ${max}, inclusive`

/** Checks the id of a user or group, which has 31 bits. */
export const isUserOrGroupID = (id: number): string | undefined => inRange(id, 0, 0x7fffffff)

/**
 * Checks an IPv4 or IPv6 address without a zone. Refuses leading zeros, which some programs read as octal, and IPv4
 * addresses in IPv6 form. Source: apimachinery pkg/util/validation/ip.go.
 */
export const isIPAddress: Check = (value) => {
  if (isIP(value) !== 0 && !value.includes("%"))
    return isMapped(value) ? "must not be an IPv4-mapped IPv6 address" : undefined
  return isIP(withoutLeadingZeros(value)) === 4
    ? "must not have leading 0s"
    : "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
}

/** Checks an IPv4 or IPv6 network in CIDR form, whose bits after the prefix must be zero. */
export const isCIDR: Check = (value) => {
  const [address, bits] = [value.slice(0, value.indexOf("/")), value.slice(value.indexOf("/") + 1)]
  const family = address.includes("%") ? 0 : isIP(withoutLeadingZeros(address))
  if (!value.includes("/") || family === 0 || !/^[0-9]{1,9}$/.test(bits) || Number(bits) > (family === 6 ? 128 : 32))
    return "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
  if (isIP(address) === 0 || String(Number(bits)) !== bits) return "must not have leading 0s in IP or prefix length"
  if (isMapped(address)) return "must not have an IPv4-mapped IPv6 address"
  return hasHostBits(address, Number(bits)) ? "must not have bits set beyond the prefix length" : undefined
}

/** Checks for an address in the canonical form of RFC 5952, which new fields of the API require. */
export const isCanonicalIPAddress: Check = (value) => isIPAddress(value) ?? unlike(value, canonicalAddress(value))

/** Checks for a network in CIDR form with an address in canonical form. */
export function isCanonicalCIDR(value: string): Problem | undefined {
  const [address = "", bits = ""] = value.split("/")
  return isCIDR(value) ?? unlike(value, `${canonicalAddress(address)}/${bits}`)
}

const unlike = (value: string, canonical: string): string | undefined =>
  value === canonical ? undefined : `must be in canonical form (${JSON.stringify(canonical)})`

/** Returns an IPv4 address without leading zeros, as a parser that reads `010` as ten would write it. */
export const withoutLeadingZeros = (address: string): string =>
  address.includes(":") || !ZERO_BEFORE_DIGIT.test(address)
    ? address
    : address
        .split(".")
        .map((part) => part.replace(/^0+(?=\d)/, ""))
        .join(".")
const ZERO_BEFORE_DIGIT = /(?:^|\.)0\d/
const hasHostBits = (address: string, bits: number): boolean =>
  addressNumber(address) % (1n << BigInt((address.includes(":") ? 128 : 32) - bits)) !== 0n

/**
 * The name of an object of a kind whose prefix is sent as generateName: a trailing `-` counts as a letter. Source:
 * pkg/api/validation/generic.go.
 */
export const asPrefix =
  (check: Check): Check =>
  (value) =>
    check(value.length > 1 && value.endsWith("-") ? `${value.slice(0, -2)}a` : value)
