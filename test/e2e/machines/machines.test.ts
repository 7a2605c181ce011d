/** Tests the machines of test/harness/machine.ts, which the tests of several nodes use. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { busybox } from "../../../components/containerd/needs.fixtures.ts"
import { describeOnMachines } from "../../harness/cluster.ts"
import { startMachines, type Machine, type Machines } from "../../harness/machine.ts"

describeOnMachines("machines", () => {
  let machines: Machines
  let [a, b] = [] as Machine[] as [Machine, Machine]
  beforeAll(async () => {
    machines = await startMachines()
    a = await machines.add("a")
    b = await machines.add("b")
  })
  afterAll(() => machines?.[Symbol.asyncDispose]())
  const reaches = async (from: Machine, address: string) =>
    (await from.run(busybox!, "ping", "-c", "1", "-W", "1", address)).code === 0

  test("see neither each other's processes nor the files of the host's programs", async () => {
    expect((await a.sh("hostname")).trim()).toBe("a")
    await a.sh("echo of a >/run/mark; mkdir /sys/fs/cgroup/*/of-a 2>/dev/null || mkdir /sys/fs/cgroup/of-a")
    expect(await b.sh("ls /run/mark /sys/fs/cgroup/of-a /sys/fs/cgroup/*/of-a 2>/dev/null || true")).toBe("")
    expect((await b.sh("ls -d /proc/[0-9]*")).trim().split("\n").length).toBeLessThan(6)
  })

  test("reach each other in both families, unless they are cut off or unplugged", async () => {
    expect([await reaches(a, b.address), await reaches(b, a.address6)]).toEqual([true, true])
    await machines.cut(a, b)
    expect([await reaches(a, b.address), await reaches(a, machines.lan.host)]).toEqual([false, true])
    await machines.heal()
    await b.plug(false)
    expect(await reaches(a, b.address)).toBe(false)
    await b.plug(true)
    expect(await reaches(a, b.address)).toBe(true)
  })

  test("lose their processes and /run when they are powered off, and keep their disk", async () => {
    await a.sh("echo kept >/var/log/mark; echo lost >/run/mark; sleep 1000 >/dev/null 2>&1 &")
    await a.powerOff()
    await a.powerOn()
    expect(await a.sh("cat /var/log/mark; cat /run/mark 2>/dev/null || echo none")).toBe("kept\nnone\n")
    expect(await reaches(a, b.address)).toBe(true)
  })
})
