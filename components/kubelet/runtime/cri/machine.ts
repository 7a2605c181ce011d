import { existsSync, readdirSync, readFileSync } from "node:fs"
import { readFile, statfs } from "node:fs/promises"
import { arch, cpus, hostname, release, totalmem } from "node:os"
import { join } from "node:path"
import type { Machine } from "../runtime.ts"

const read = (path: string): string => {
  try {
    return readFileSync(path, "utf8").trim()
  } catch {
    return ""
  }
}

/** Reads capacity and state of this host. Source of the names: cadvisor machine/info.go. */
export function hostMachine(): Machine {
  return {
    cpus: cpus().length,
    memoryBytes: totalmem(),
    hugepages: hugepages(),
    hostname: hostname().toLowerCase(),
    // Source: third_party/forked/libcontainer/apparmor.
    hasAppArmor:
      existsSync("/sys/kernel/security/apparmor") && read("/sys/module/apparmor/parameters/enabled").startsWith("Y"),
    info: {
      machineID: read("/etc/machine-id") || read("/var/lib/dbus/machine-id"),
      systemUUID: read("/sys/class/dmi/id/product_uuid") || read("/etc/machine-id"),
      bootID: read("/proc/sys/kernel/random/boot_id"),
      kernelVersion: release(),
      osImage: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(read("/etc/os-release"))?.[1] ?? "Linux",
      operatingSystem: "linux",
      architecture: goArch(arch()),
      ...swapInfo(read("/proc/meminfo")),
    },
    async availableMemory() {
      const meminfo = await readFile("/proc/meminfo", "utf8")
      return Number(/^MemAvailable:\s+(\d+) kB$/m.exec(meminfo)?.[1] ?? 0) * 1024
    },
    async processes() {
      // The fourth field of loadavg is running/all.
      const [load, ids, threads] = await Promise.all([
        readFile("/proc/loadavg", "utf8"),
        readFile("/proc/sys/kernel/pid_max", "utf8"),
        readFile("/proc/sys/kernel/threads-max", "utf8"),
      ])
      return {
        used: Number(load.split(" ")[3]?.split("/")[1] ?? 0),
        max: Math.min(Number(ids), Number(threads)),
      }
    },
    async space(path) {
      const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path)
      return {
        capacityBytes: bsize * blocks,
        usedBytes: bsize * (blocks - bfree),
        availableBytes: bsize * bavail,
        inodes: files,
        inodesFree: ffree,
      }
    },
  }
}

/**
 * Returns the swap capacity; nothing when there is no swap. Source: pkg/kubelet/nodestatus/setters.go, which omits a
 * capacity of zero.
 */
function swapInfo(meminfo: string): { readonly swap?: { readonly capacity: number } } {
  const capacity = Number(/^SwapTotal:\s+(\d+) kB$/m.exec(meminfo)?.[1] ?? 0) * 1024
  return capacity === 0 ? {} : { swap: { capacity } }
}

/** Returns Go's name of a processor architecture, which node labels use. */
const goArch = (name: string): string => ({ x64: "amd64", ia32: "386", loong64: "loong64" })[name] ?? name

function hugepages(): Record<string, number> {
  const folder = "/sys/kernel/mm/hugepages"
  try {
    return Object.fromEntries(
      readdirSync(folder).map((name) => {
        const kib = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0)
        return [
          kib >= 1024 * 1024 ? `${kib / 1024 / 1024}Gi` : kib >= 1024 ? `${kib / 1024}Mi` : `${kib}Ki`,
          kib * 1024 * Number(read(join(folder, name, "nr_hugepages")) || 0),
        ]
      }),
    )
  } catch {
    return {}
  }
}
