import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { homedir, tmpdir } from "node:os"
import { join } from "node:path"
import { run } from "../../pkg/process/run.ts"
import { debian, lacking, type RootContent } from "./debian.ts"
import { runInMachine } from "./machine.ts"

/**
 * `npm run test:vm -- package` installs the Debian package of dist/release in a Debian with systemd, and uses, upgrades,
 * disturbs and purges it there. The steps are in package.sh.
 */

/** What k3ts's package depends on, so that apt finds it without a network. */
const WITH_SYSTEMD: RootContent = {
  name: "systemd",
  packages: ["systemd-sysv", "dbus", "udev", "kmod", "procps", "curl", "iproute2", "kubernetes-client"],
  downloads: [
    "containerd",
    "runc",
    "containernetworking-plugins",
    "conntrack",
    "iptables",
    "nftables",
    "ca-certificates",
  ],
  size: "4G",
}
/** The machine is emulated, about 20 times slower than this one. */
const TIMEOUT_MS = 30 * 60_000

const missing = lacking()
if (missing !== undefined) {
  console.error(`SKIPPED: ${missing}`)
  process.exit(2)
}
const release = join(import.meta.dir, "../../dist/release")
const folder = await mkdtemp(join(tmpdir(), "k3ts-vm-package-"))
try {
  const name = (await readdir(release).catch(() => [])).find((one) => one.endsWith("_amd64.deb"))
  if (name === undefined) throw new Error("dist/release has no package for amd64; run: npm run release")
  await copyFile(join(release, name), join(folder, "k3ts.deb"))
  await makeNewer(join(folder, "k3ts.deb"), join(folder, "newer.deb"))
  const images = await debian(process.env["K3TS_VM_CACHE"] ?? join(homedir(), ".cache/k3ts-vm"), WITH_SYSTEMD)
  const {
    exitCode,
    output,
    console: kernel,
  } = await runInMachine(images, {
    folder,
    command: await readFile(join(import.meta.dir, "package.sh"), "utf8"),
    timeoutMs: TIMEOUT_MS,
    memoryMiB: 3072,
    systemd: true,
  })
  process.stdout.write(output)
  if (exitCode === undefined) console.error(`The machine ended before the test did:\n${kernel.slice(-4000)}`)
  process.exitCode = exitCode ?? 1
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** Makes a package with the same content and a higher version. */
async function makeNewer(from: string, to: string): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), "k3ts-newer-"))
  try {
    await run("dpkg-deb", ["--raw-extract", from, scratch])
    const control = join(scratch, "DEBIAN/control")
    await writeFile(
      control,
      (await readFile(control, "utf8")).replace(/^Version: .*$/m, (line) => `${line}+newer`),
    )
    await run("dpkg-deb", ["--root-owner-group", "-Znone", "--build", scratch, to])
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}
