import { accessSync, constants, readFileSync } from "node:fs"
import { statfs } from "node:fs/promises"
import { portFault } from "../../../pkg/process/free-port.ts"
import { found, missing, warning, type Finding } from "./finding.ts"
import { nearestExisting } from "../config/history-size.ts"

const MIB = 1024 * 1024
/** With less free space than LEAST_DISK the store has no room; below ENOUGH_DISK the first images fill the disk. */
const LEAST_DISK = 200 * MIB
const ENOUGH_DISK = 2048 * MIB
const ENOUGH_MEMORY = 512 * MIB

const size = (bytes: number): string =>
  bytes >= 1024 * MIB ? `${(bytes / MIB / 1024).toFixed(1)} GiB` : `${Math.round(bytes / MIB)} MiB`

export const judgeDisk = (path: string, free: number): Finding =>
  free < LEAST_DISK
    ? missing(
        "disk",
        `${size(free)} free at ${path}`,
        `free at least ${size(ENOUGH_DISK)}, or choose another --data-dir`,
      )
    : free < ENOUGH_DISK
      ? warning("disk", `${size(free)} free at ${path}`, `free at least ${size(ENOUGH_DISK)}: images need room`)
      : found("disk", `${size(free)} free at ${path}`)

/** @param meminfo /proc/meminfo */
export function judgeMemory(meminfo: string): Finding {
  const total = Number(/^MemTotal:\s+(\d+) kB/m.exec(meminfo)?.[1] ?? 0) * 1024
  return total < ENOUGH_MEMORY
    ? warning("memory", size(total), `give the machine at least ${size(ENOUGH_MEMORY)}`)
    : found("memory", size(total))
}

/**
 * With a clock that is behind, new certificates are not valid yet for other machines. `built`: the date of the
 * program's last commit, which cannot be in the future.
 */
export const judgeClock = (now: number, built: number): Finding =>
  now < built
    ? missing(
        "clock",
        `${new Date(now).toISOString()} is before this program was made`,
        "set the clock, as in: timedatectl set-ntp true",
      )
    : found("clock", new Date(now).toISOString())

/** Checks whether a port is free. */
export async function checkPort(host: string, port: number, server: number | undefined): Promise<Finding> {
  const name = `port ${port}`
  const fault = await portFault(host, port)
  if (fault === undefined) return found(name, "free")
  if (fault.code === "EADDRINUSE") {
    return server === undefined
      ? missing(
          name,
          `in use on ${host}`,
          `end the program that has it (ss -ltnp 'sport = :${port}' names it), or choose another --https-listen-port`,
        )
      : found(name, `held by the k3ts server that runs (pid ${server})`)
  }
  if (fault.code === "EADDRNOTAVAIL")
    return missing(name, `this machine has no address ${host}`, "choose another --bind-address")
  return missing(
    name,
    fault.code === "EACCES" ? `user ${process.getuid?.()} may not listen on it` : fault.message,
    "run as root, or choose another --https-listen-port",
  )
}

/** Checks whether a folder can be written to, or created. `flag` is the flag that names it. */
export function checkFolder(name: string, path: string, flag: string): Finding {
  const existing = nearestExisting(path)
  try {
    accessSync(existing, constants.W_OK)
    return found(name, path)
  } catch {
    return missing(
      name,
      `user ${process.getuid?.()} cannot write to ${existing}`,
      `run as root, or choose another --${flag}`,
    )
  }
}

export async function checkResources(dataDir: string, now: number, built: number): Promise<Finding[]> {
  const { bavail, bsize } = await statfs(nearestExisting(dataDir))
  return [
    judgeDisk(dataDir, bavail * bsize),
    judgeMemory(readFileSync("/proc/meminfo", "utf8")),
    judgeClock(now, built),
  ]
}
