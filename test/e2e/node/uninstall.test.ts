/** `k3ts uninstall` where a step fails in the middle. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DNS_INTERFACE } from "../../../components/dns/address.ts"
import { describeOnMachines } from "../../harness/cluster.ts"
import { startMachines, type Machine, type Machines } from "../../harness/machine.ts"
import { EXECUTABLE, uninstallArgs } from "../../harness/server.ts"

describeOnMachines("k3ts uninstall", () => {
  let machines: Machines
  let machine: Machine
  beforeAll(async () => {
    machines = await startMachines()
    machine = await machines.add("leaving")
  }, 30_000)
  afterAll(() => machines?.[Symbol.asyncDispose](), 30_000)

  test("goes on after a step that fails, lists what is left, and removes that the next time", async () => {
    // given what a killed agent leaves: mounts of which one cannot be ended, an interface and data
    const { dataDir, folder } = machine
    const volume = join(dataDir, "agent/kubelet/pods/1b/volumes/kubernetes.io~empty-dir/m")
    const state = "/run/k3ts/containerd"
    const programs = join(folder, "programs")
    mkdirSync(volume, { recursive: true })
    mkdirSync(programs)
    writeFileSync(
      join(programs, "umount"),
      `#!/bin/sh\ncase "$*" in *empty-dir*) echo "umount: no mount point specified" >&2; exit 1;; esac\nexec $(PATH=/usr/bin:/bin; command -v umount) "$@"\n`,
    )
    chmodSync(join(programs, "umount"), 0o755)
    await machine.sh(`mount -t tmpfs none ${volume}; echo kept > ${volume}/file`)
    await machine.sh(`mkdir -p ${state}; ip link add ${DNS_INTERFACE} type bridge`)
    await machine.sh(`nft add table inet k3ts-network-policy`)
    const uninstall = (path: string) =>
      machine.sh(`PATH=${path}$PATH ${EXECUTABLE} ${uninstallArgs(dataDir).join(" ")}; echo "code $?"`)
    const isThere = (command: string) => machine.sh(`if ${command} >/dev/null 2>&1; then echo yes; else echo no; fi`)
    // when
    const first = await uninstall(`${programs}:`)
    // then everything else is gone, and no file of the mount
    expect(first).toMatch(
      /Left behind:\n {2}mounts of volumes: .*: umount .* failed: umount: no mount point specified\n/,
    )
    expect(first).toContain(`  ${dataDir}: not removed, because ${volume} is still mounted\n`)
    expect(first).toContain("\ncode 1\n")
    expect(await machine.sh(`cat ${volume}/file`)).toBe("kept\n")
    expect(await isThere(`ip link show ${DNS_INTERFACE}`)).toBe("no\n")
    expect(await isThere("nft list table inet k3ts-network-policy")).toBe("no\n")
    // when it is possible
    const second = await uninstall("")
    // then
    expect(second).not.toContain("Left behind")
    expect(second).toContain("\ncode 0\n")
    expect(existsSync(dataDir)).toBe(false)
  }, 60_000)
})
