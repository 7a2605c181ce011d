import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { machineArchitecture } from "../../elf.ts"
import type { ContainerdPaths } from "../../paths.ts"
import { CODE } from "./cni.ts"
import { pluginExecutable } from "./plugin-program.ts"

/** The `type` of our plugin in network configurations. */
export const PLUGIN = "k3ts"
/** containerd starts the plugin `loopback` for every pod, with every configuration. */
const LOOPBACK = "loopback"

/**
 * Fills containerd's folder of CNI plugins with ours, and with links to the host's plugins for configurations that name
 * them. If our program cannot run, for example on a file system mounted with `noexec`, the folder is left empty, and
 * the host's plugins are used directly.
 */
export function installPlugins(paths: ContainerdPaths, hostPlugins: string | undefined): void {
  const folder = paths.cniBin
  rmSync(folder, { recursive: true, force: true })
  const architecture = machineArchitecture()
  if (architecture === undefined) return
  mkdirSync(folder, { recursive: true })
  const program = join(folder, PLUGIN)
  // By rename: a file cannot be executed while it is open for writing, even if only a child process, started at this
  // moment, has inherited it.
  writeFileSync(`${program}.new`, pluginExecutable(architecture, paths.cniSocket), { mode: 0o755 })
  renameSync(`${program}.new`, program)
  if (!runs(program)) return rmSync(program)
  symlinkSync(PLUGIN, join(folder, LOOPBACK))
  if (hostPlugins === undefined) return
  for (const name of readdirSync(hostPlugins))
    if (name !== LOOPBACK && name !== PLUGIN) symlinkSync(join(hostPlugins, name), join(folder, name))
}

/** Whether the plugins of `installPlugins` exist and can run. */
export const hasPlugins = ({ cniBin }: ContainerdPaths): boolean => existsSync(join(cniBin, PLUGIN))

/** Whether the program can run. While no server answers, it prints an error, which shows that it runs. */
function runs(program: string): boolean {
  const { stdout } = spawnSync(program, { encoding: "utf8", timeout: 5000 })
  try {
    return (JSON.parse(stdout) as { code: number }).code === CODE.tryAgainLater
  } catch {
    return false
  }
}
