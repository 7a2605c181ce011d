import { isIP } from "node:net"
import {
  isIPAddress,
  isDNS1123Subdomain,
  isWildcardDNS1123Subdomain,
} from "../../../pkg/apimachinery/validation/names.ts"
import type { Directive } from "./corefile.ts"

import {
  zoneName,
  type CacheOptions,
  type ForwardOptions,
  type ForwardServer,
  type HostsOptions,
  type Rewrite,
  type Zone,
} from "./zone.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"
/** Sources: CoreDNS plugin/cache/README.md, plugin/forward/README.md, plugin/hosts/README.md. */
export const CACHE_DEFAULTS: CacheOptions = {
  success: { capacity: 9984, ttl: 3600, minTtl: 5 },
  denial: { capacity: 9984, ttl: 1800, minTtl: 5 },
}
const MOST_ANSWERS = 100_000
const MAX_FAILS = 2
const MAX_CONCURRENT = 1000
const MOST_CONCURRENT = 10_000
const HOSTS_TTL = 3600
const MOST_SERVERS = 15
const DNS_PORT = 53

/**
 * Plugins that are accepted without effect: the server always does what they do, or they have no meaning in this
 * process.
 */
const ACCEPTED = new Set([
  "errors",
  "health",
  "ready",
  "reload",
  "loop",
  "loadbalance",
  "prometheus",
  "bufsize",
  "nsid",
])

/** A zone with the directives that could be read; `problems` names those that are ignored. */
export interface ZoneReading {
  readonly zone: Zone
  readonly problems: readonly string[]
}

/**
 * Adds directives to a zone. A directive replaces the one of the same plugin; rewrites and forwards are put before the
 * earlier ones.
 */
export function readZone(before: Zone, directives: readonly Directive[]): ZoneReading {
  const problems: string[] = []
  let zone = before
  const added: { rewrites: Rewrite[]; forwards: ForwardOptions[] } = { rewrites: [], forwards: [] }
  for (const directive of directives) {
    const complain = (text: string) => void problems.push(`line ${directive.line}: ${directive.name}: ${text}`)
    if (ACCEPTED.has(directive.name)) continue
    if (directive.name === "log") zone = { ...zone, logs: true }
    else if (directive.name === "kubernetes") zone = { ...zone, cluster: true }
    else if (directive.name === "autopath") zone = readAutopath(zone, directive, complain)
    else if (directive.name === "hosts") zone = { ...zone, hosts: readHosts(directive, complain) }
    else if (directive.name === "cache") zone = { ...zone, cache: readCache(directive, complain) }
    else if (directive.name === "rewrite") pushAll(added.rewrites, readRewrite(directive, complain))
    else if (directive.name === "forward") pushAll(added.forwards, readForward(directive, complain))
    else complain("this plugin is not supported")
  }
  zone = {
    ...zone,
    rewrites: [...added.rewrites, ...before.rewrites],
    forwards: [...added.forwards, ...before.forwards],
  }
  return { zone, problems }
}

type Complain = (text: string) => void

function readAutopath(zone: Zone, { args }: Directive, complain: Complain): Zone {
  if (args.at(-1) === "@kubernetes") return { ...zone, autopath: true }
  complain(`must end with "@kubernetes", but is "${args.join(" ")}"`)
  return zone
}

function readHosts({ args, options }: Directive, complain: Complain): HostsOptions {
  if (args.length > 0) complain(`files and zones are not read ("${args.join(" ")}"); write the entries into the block`)
  const entries: { ip: string; name: string }[] = []
  let [ttl, fallsThrough, reverse] = [HOSTS_TTL, false, true]
  for (const option of options) {
    if (isIPAddress(option.name) === undefined) {
      for (const name of option.args) {
        const host = name.toLowerCase().replace(/\.$/, "")
        const isName = isDNS1123Subdomain(host) === undefined || isWildcardDNS1123Subdomain(host) === undefined
        if (isName) entries.push({ ip: option.name, name: host })
        else complain(`"${name}" is not the name of a host`)
      }
    } else if (option.name === "ttl") ttl = readNumber(option, 1, 65_535, complain) ?? ttl
    else if (option.name === "fallthrough") fallsThrough = true
    else if (option.name === "no_reverse") reverse = false
    else if (option.name !== "reload") complain(`"${option.name}" is neither an address nor an option`)
  }
  return { entries, ttl, fallsThrough, reverse }
}

function readRewrite({ args }: Directive, complain: Complain): readonly Rewrite[] {
  const words = [...args]
  const goesOn = words[0] === "continue"
  if (words[0] === "continue" || words[0] === "stop") words.shift()
  if (words.shift() !== "name") {
    complain(`only names are rewritten ("${args.join(" ")}")`)
    return []
  }
  const matches = ["exact", "prefix", "suffix", "substring"] as const
  const match = matches.find((each) => each === words[0])
  if (match !== undefined) words.shift()
  const [from, to, ...options] = words.map((word) => word.toLowerCase().replace(/\.$/, ""))
  if (from === undefined || to === undefined || from === "regex") {
    complain(`must be "name [exact|prefix|suffix|substring] FROM TO", but is "${args.join(" ")}"`)
    return []
  }
  // Responses always carry the name of the query, which is what "answer auto" asks for.
  if (options.length > 0 && options.join(" ") !== "answer auto")
    complain(`"${options.join(" ")}" is not an option here`)
  return [{ match: match ?? "exact", from, to, goesOn }]
}

function readForward({ args, options }: Directive, complain: Complain): readonly ForwardOptions[] {
  const [first = "", ...to] = args
  const from = zoneName(first)
  const servers = to.flatMap((text) => {
    const server = readServer(text)
    if (server === undefined) complain(`"${text}" is not an IP address of a server, with or without a port`)
    return server ?? []
  })
  if (from === undefined) complain(`"${first}" is not the name of a zone`)
  if (to.length === 0) complain("must name a server")
  if (servers.length > MOST_SERVERS) complain(`has ${servers.length} servers, but at most ${MOST_SERVERS} are allowed`)
  if (from === undefined || servers.length === 0 || servers.length > MOST_SERVERS) return []
  let protocol: ForwardOptions["protocol"] = "client"
  let policy: ForwardOptions["policy"] = "random"
  let [maxFails, maxConcurrent] = [MAX_FAILS, MAX_CONCURRENT]
  const except: string[] = []
  for (const option of options) {
    const [value = ""] = option.args
    if (option.name === "prefer_udp") protocol = protocol === "tcp" ? "tcp" : "udp"
    else if (option.name === "force_tcp") protocol = "tcp"
    else if (option.name === "except")
      pushAll(
        except,
        option.args.flatMap((name) => zoneName(name) ?? []),
      )
    else if (option.name === "max_fails") maxFails = readNumber(option, 0, 1000, complain) ?? maxFails
    else if (option.name === "max_concurrent")
      maxConcurrent = readNumber(option, 1, MOST_CONCURRENT, complain) ?? maxConcurrent
    else if (option.name === "policy") {
      if (value === "random" || value === "round_robin" || value === "sequential") policy = value
      else complain(`the policy must be random, round_robin or sequential, but is "${value}"`)
    } else if (option.name !== "expire" && option.name !== "health_check") complain(`"${option.name}" is not supported`)
  }
  return [{ from, except, servers, protocol, policy, maxFails, maxConcurrent }]
}

/** `10.0.0.1`, `10.0.0.1:5353`, `[fd00::1]:5353`, `dns://10.0.0.1`. */
function readServer(text: string): ForwardServer | undefined {
  const plain = text.replace(/^dns:\/\//, "")
  const [, v6, v4, port = `${DNS_PORT}`] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(plain) ?? []
  const address = isIP(plain) === 6 ? plain : (v6 ?? v4 ?? "")
  if (isIP(address) === 0 || Number(port) < 1 || Number(port) > 65_535) return undefined
  return { address, port: Number(port) }
}

function readCache({ args, options }: Directive, complain: Complain): CacheOptions {
  let { success, denial } = CACHE_DEFAULTS
  if (args.length > 0) {
    const ttl = /^\d{1,6}$/.test(args[0]!) ? Number(args[0]) : 0
    if (ttl === 0) complain(`the time to live must be a number of seconds above 0, but is "${args[0]}"`)
    else {
      success = { ...success, ttl: Math.min(success.ttl, ttl) }
      denial = { ...denial, ttl: Math.min(denial.ttl, ttl) }
    }
  }
  for (const option of options) {
    if (option.name === "success") success = readBounds(option, success, complain)
    else if (option.name === "denial") denial = readBounds(option, denial, complain)
    // Expired answers are always served while no server answers, so the option changes nothing.
    else if (option.name !== "serve_stale") complain(`"${option.name}" is not supported`)
  }
  return { success, denial }
}

/** `success CAPACITY [TTL] [MINTTL]`. */
function readBounds({ name, args }: Directive, before: CacheOptions["success"], complain: Complain) {
  const numbers = args.map((arg) => (/^\d{1,6}$/.test(arg) ? Number(arg) : Number.NaN))
  if (numbers.length === 0 || numbers.length > 3 || numbers.some(Number.isNaN)) {
    complain(`${name} must be CAPACITY [TTL] [MINTTL], but is "${args.join(" ")}"`)
    return before
  }
  const [capacity = before.capacity, ttl = before.ttl, minTtl = before.minTtl] = numbers
  return { capacity: Math.min(MOST_ANSWERS, capacity), ttl, minTtl }
}

function readNumber({ name, args }: Directive, least: number, most: number, complain: Complain): number | undefined {
  const value = /^\d{1,6}$/.test(args[0] ?? "") ? Number(args[0]) : Number.NaN
  if (args.length === 1 && value >= least && value <= most) return value
  complain(`${name} must be a number from ${least} to ${most}, but is "${args.join(" ")}"`)
  return undefined
}
