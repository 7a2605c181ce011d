import { mkdir, rename, rm } from "node:fs/promises"
import { existsSync } from "node:fs"
import { join } from "node:path"
import type { MachineImages } from "../debian.ts"
import { makeDisks } from "../machine.ts"
import { Steps } from "../steps.ts"

/** The memory of the machine, beside its disks. */
export const MEMORY = "memory"

/**
 * Returns the folder of a machine with the package, which serves README's first application: its disks and its memory,
 * with which each piece begins.
 * @param files what is /folder in the machine: k3ts.deb, and newer.deb with a higher version
 * @param cache where the machine is kept for these packages
 */
export async function firstApplication(images: MachineImages, cache: string, files: string): Promise<string> {
  if (existsSync(cache)) return cache
  const making = `${cache}.new`
  await rm(making, { recursive: true, force: true })
  await mkdir(making, { recursive: true })
  await makeDisks(making, images.root, files)
  await using steps = await Steps.begin({ images, state: making })
  await steps.step(
    "Noting what is there before",
    120,
    `
systemctl disable --now containerd
# It is empty then, and a purge removes it.
rmdir /run/containerd || true
state >/folder/before`,
  )
  await steps.step(
    "Installing the package with apt",
    900,
    `
apt-get -q install -y ./k3ts.deb
[ "$(property ActiveState)" = active ] || fail "the service does not run"
[ "$(property StatusText)" = Running ] || fail "systemd was not told that the server runs"
[ "$(property WatchdogUSec)" = 2min ] || fail "the watchdog does not watch"
[ "$(systemctl is-enabled k3ts)" = enabled ] || fail "the service does not start at boot"
until_true 300 node_ready`,
  )
  await steps.step(
    "Serving the first application",
    420,
    `
until_true 120 applied
kubectl rollout status deploy/web --timeout="$(bound 300)s"
until_true 60 serves`,
  )
  await steps.save(join(making, MEMORY))
  await rename(making, cache)
  return cache
}
