import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"

export const SCRIPT = join(import.meta.dirname, "install.sh")

export const NAMES = ["k3ts-linux-amd64", "k3ts-linux-arm64"]
export const EXECUTABLE = '#!/bin/sh\n[ "$1" = version ] && echo "k3ts 1.2.3 (0123456789ab)" || echo "k3ts $*"\n'

export interface Machine {
  readonly bin: string
  readonly units: string
  readonly release: string
  /** The arguments with which systemctl was called. */
  calls(): string
  install(
    env?: Record<string, string>,
    args?: readonly string[],
    input?: string,
  ): Promise<{ readonly code: number | null; readonly output: string }>
}

/** Creates folders that stand for those of a machine, and a release whose executable is a script. */
export function newMachine(scratch: string): Machine {
  const root = mkdtempSync(join(scratch, "machine-"))
  const [bin, units, release, tools] = ["bin", "units", "release", "tools"].map((name) => join(root, name))
  for (const folder of [bin!, units!, release!, tools!]) mkdirSync(folder)
  writeFileSync(join(tools!, "systemctl"), `#!/bin/sh\necho "$*" >>${root}/calls\n`)
  chmodSync(join(tools!, "systemctl"), 0o755)
  publish(release!, EXECUTABLE)
  cpSync(SCRIPT, join(release!, "install.sh"))
  return {
    bin: bin!,
    units: units!,
    release: release!,
    calls: () => (existsSync(join(root, "calls")) ? readFileSync(join(root, "calls"), "utf8") : ""),
    // Not at once: the server of a test answers in this process.
    install(env = {}, args = [], input = undefined) {
      const child = spawn("sh", [...(input === undefined ? [join(release!, "install.sh")] : ["-s", "-"]), ...args], {
        cwd: release!,
        env: {
          PATH: `${tools}:${process.env["PATH"] ?? ""}`,
          INSTALL_K3TS_BIN_DIR: bin!,
          INSTALL_K3TS_SYSTEMD_DIR: units!,
          INSTALL_K3TS_SKIP_PACKAGES: "true",
          INSTALL_K3TS_SKIP_START: "true",
          INSTALL_K3TS_SYMLINK: "skip",
          ...env,
        },
      })
      const output: Buffer[] = []
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes: Buffer) => output.push(bytes))
      child.stdin.on("error", () => undefined) // a script that ends early does not read the rest
      child.stdin.end(input ?? "")
      return new Promise((resolve) =>
        child.on("close", (code) => resolve({ code, output: Buffer.concat(output).toString() })),
      )
    },
  }
}

export function publish(folder: string, content: string): void {
  const digest = createHash("sha256").update(content).digest("hex")
  for (const name of NAMES) writeFileSync(join(folder, name), content)
  writeFileSync(join(folder, "SHA256SUMS"), NAMES.map((name) => `${digest}  ${name}\n`).join(""))
}

/** Makes a folder with all programs of this machine but some. */
export function toolsWithout(scratch: string, ...without: readonly string[]): string {
  const tools = mkdtempSync(join(scratch, "tools-"))
  for (const folder of ["/usr/sbin", "/usr/bin", "/sbin", "/bin"])
    for (const name of readdirSync(folder))
      if (!without.includes(name) && !existsSync(join(tools, name))) symlinkSync(join(folder, name), join(tools, name))
  return tools
}
