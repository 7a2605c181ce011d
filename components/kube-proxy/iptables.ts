import { execFile, spawn } from "node:child_process"
import { promisify } from "node:util"
import { JUMPS, OUR_CHAIN } from "./restore.ts"

const run = promisify(execFile)

/** Runs a program of iptables or conntrack; a test gives one that acts in a network namespace. */
export interface Host {
  /** Runs a command and gives what it prints; throws when it fails. */
  run(command: string, args: readonly string[]): Promise<string>
  /** The same with something on its standard input. */
  feed(command: string, args: readonly string[], input: string): Promise<void>
}

/**
 * A program that takes longer is ended and counts as failed: what hangs for ever would keep the rules as they are,
 * without a word.
 */
const LIMIT_MS = 30_000

/** The machine itself, or with `netns` one of its named network namespaces. */
export function hostIn(netns?: string): Host {
  const within = (command: string, args: readonly string[]): [string, readonly string[]] =>
    netns === undefined ? [command, args] : ["ip", ["netns", "exec", netns, command, ...args]]
  return {
    async run(command, args) {
      const [program, all] = within(command, args)
      return (await run(program, [...all], { maxBuffer: 64 * 1024 * 1024, timeout: LIMIT_MS })).stdout
    },
    feed(command, args, input) {
      const [program, all] = within(command, args)
      return new Promise((resolve, reject) => {
        const child = spawn(program, [...all], { stdio: ["pipe", "ignore", "pipe"], timeout: LIMIT_MS })
        let complaint = ""
        child.stderr.on("data", (bytes: Buffer) => (complaint += bytes.toString()))
        child.on("error", reject)
        child.on("close", (code, signal) =>
          code === 0
            ? resolve()
            : reject(
                new Error(
                  signal === null
                    ? `${command} failed with code ${code}: ${complaint.trim()}`
                    : `${command} was ended by ${signal} after at most ${LIMIT_MS / 1000} s`,
                ),
              ),
        )
        child.stdin.on("error", () => undefined) // the exit code tells
        child.stdin.end(input)
      })
    },
  }
}

/** Seconds to wait for the lock that other users of iptables may hold. */
const WAIT = ["-w", "5"]

export const restore = (host: Host, text: string): Promise<void> =>
  host.feed("iptables-restore", [...WAIT, "--noflush"], text)

/** Puts in the jumps that are missing, before all other rules, so that no earlier ACCEPT passes them by. */
export async function ensureJumps(host: Host): Promise<void> {
  const present = {
    nat: await host.run("iptables-save", ["-t", "nat"]),
    filter: await host.run("iptables-save", ["-t", "filter"]),
  }
  const missing = JUMPS.filter(
    ([table, chain, rule]) =>
      !present[table]
        .split("\n")
        .some(
          (line) =>
            line.startsWith(`-A ${chain} `) &&
            line.endsWith(rule.slice(rule.lastIndexOf("-j "))) &&
            normalized(line) === normalized(`-A ${chain} ${rule}`),
        ),
  )
  for (const table of ["filter", "nat"] as const) {
    const rules = missing.filter(([of]) => of === table).reverse() // each goes to the top: the last one first
    if (rules.length > 0)
      await restore(
        host,
        [`*${table}`, ...rules.map(([, chain, rule]) => `-I ${chain} 1 ${rule}`), "COMMIT", ""].join("\n"),
      )
  }
}

/** iptables-save may order the matches of a rule otherwise: compare them as sets. */
const normalized = (line: string): string =>
  line
    .replaceAll('"', "")
    .split(/ (?=-)/)
    .sort()
    .join(" ")

/** Are our rules still there? Somebody may have flushed the tables. */
export async function intact(host: Host): Promise<boolean> {
  try {
    return (
      (await host.run("iptables", [...WAIT, "-t", "nat", "-S", "PREROUTING"])).includes("-j KUBE-SERVICES") &&
      (await host.run("iptables", [...WAIT, "-t", "nat", "-S", "KUBE-POSTROUTING"])).includes("MASQUERADE")
    )
  } catch {
    return false
  }
}

/**
 * Removes every chain of ours and every rule that leads into one; other rules stay as they are. Without iptables there
 * is nothing to remove.
 */
export async function cleanUp(host: Host): Promise<void> {
  for (const table of ["filter", "nat"]) {
    const saved = await host.run("iptables-save", ["-t", table]).catch(() => "")
    const chains = [...saved.matchAll(/^:(\S+) /gm)].map(([, chain]) => chain!).filter((chain) => OUR_CHAIN.test(chain))
    if (chains.length === 0) continue
    const jumps = saved.split("\n").filter((line) => {
      const [, chain = ""] = line.split(" ")
      const target = / -j (\S+)/.exec(line)?.[1] ?? ""
      return line.startsWith("-A ") && !OUR_CHAIN.test(chain) && OUR_CHAIN.test(target)
    })
    await restore(
      host,
      [
        `*${table}`,
        ...jumps.map((line) => line.replace(/^-A/, "-D")),
        ...chains.map((chain) => `:${chain} - [0:0]`),
        ...chains.map((chain) => `-X ${chain}`),
        "COMMIT",
        "",
      ].join("\n"),
    )
  }
}
