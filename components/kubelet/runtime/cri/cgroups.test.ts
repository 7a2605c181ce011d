import { expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempDisposableSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { VirtualClock } from "../../../../pkg/clock/virtual.ts"
import { removePodCgroups } from "../../pod/resources/pod-cgroups.ts"
import { cgroupFolder, hostCgroups, sliceName } from "./cgroups.ts"
import type { Slices } from "./systemd-slices.ts"

test("cgroups have the names that their driver expects", () => {
  const path = ["kubepods", "burstable", "podab-cd"]
  expect(hostCgroups("cgroupfs", new VirtualClock(0)).parentName(path)).toBe("/kubepods/burstable/podab-cd")
  expect(hostCgroups("systemd", new VirtualClock(0)).parentName(path)).toBe("kubepods-burstable-podab_cd.slice")
  expect(sliceName(["kubepods"])).toBe("kubepods.slice")
})

test("systemd gets the limits of a slice, and stops the slice before its cgroup is removed", async () => {
  // given a hierarchy of v2
  using scratch = mkdtempDisposableSync(join(tmpdir(), "k3ts-cgroups-"))
  const path = ["kubepods", "burstable", "podab-cd"]
  const folder = join(scratch.path, cgroupFolder(path, "systemd"))
  mkdirSync(folder, { recursive: true })
  for (const above of [folder, dirname(folder), dirname(dirname(folder)), scratch.path])
    writeFileSync(join(above, "cgroup.controllers"), "cpu memory\n")
  const calls: string[] = []
  const slices: Slices = {
    set: (name, { cpuShares }) => Promise.resolve(void calls.push(`${name} has ${cpuShares}`)),
    stop: (name) => Promise.resolve(void calls.push(`${name} ends, its cgroup is there: ${existsSync(folder)}`)),
  }
  const cgroups = hostCgroups("systemd", new VirtualClock(0), { root: scratch.path, slices })
  // when
  await cgroups.ensure(path, { cpuShares: 100 })
  await removePodCgroups({ cgroups }, "ab-cd")
  // then no slice is told of that was not there
  expect(calls).toEqual([
    "kubepods-burstable-podab_cd.slice has 100",
    "kubepods-burstable-podab_cd.slice ends, its cgroup is there: true",
  ])
})
