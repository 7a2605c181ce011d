/** Tests with real network namespaces. They need root, ip and busybox. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { createReadStream, existsSync, statSync } from "node:fs"
import { connect } from "node:net"
import { dirname, join, relative } from "node:path"
import { FRAME } from "./plugin-program.ts"
import { portName } from "./pod-names.ts"
import { BRIDGE, HOST_PLUGINS, LACKING, LOOPBACK, PluginLab, RANGES } from "./plugin-lab.fixtures.ts"

if (LACKING.length > 0) console.warn(`SKIPPED: the tests of the CNI plugin need ${LACKING.join(", ")}`)

describe.skipIf(LACKING.length > 0)("the CNI plugin", () => {
  let lab: PluginLab
  beforeAll(async () => {
    lab = await PluginLab.start()
  })
  afterAll(() => lab?.[Symbol.asyncDispose]())

  test("gives pods addresses of both families, at which they reach each other, the node and themselves", async () => {
    // given two pods
    const [a, b] = [await lab.pod("a"), await lab.pod("b")]
    // then they have different addresses, and the MTU of the configuration
    expect(new Set([...a.addresses, ...b.addresses]).size).toBe(4)
    expect(lab.run(a.name, "ip", "link", "show", "eth0")).toContain("mtu 1400")
    // and all of them are reached at once
    for (const [i, gateway] of ["10.98.0.1", "fd98::1"].entries())
      expect([gateway, a.addresses[i]!, b.addresses[i]!].map((address) => lab.reaches(a.name, address))).toEqual([
        true,
        true,
        true,
      ])
    // and a packet may return through the bridge port from which it came, as packets of a pod to its own Service do
    const port = portName({ containerId: a.name, interface: "eth0" })
    expect(lab.run(lab.machine, "bridge", "-d", "link", "show", "dev", port)).toContain("hairpin on")
  })

  test("returns its result in the form of the configuration's version", async () => {
    const container = lab.sandbox("told")
    // when a pod is added
    const { code, said } = await lab.call("ADD", container)
    // then the result has the interfaces and addresses
    const [v4, v6] = (said["ips"] as readonly { address: string }[]).map(({ address }) => address)
    const mac = expect.stringMatching(/^0a:58:0a:62:00:/)
    expect([code, said]).toEqual([
      0,
      {
        cniVersion: "1.0.0",
        interfaces: [
          { name: BRIDGE, mac: "0a:58:0a:62:00:01" },
          { name: portName({ containerId: container, interface: "eth0" }), mac: expect.any(String) },
          { name: "eth0", mac, sandbox: `/run/netns/${container}` },
        ],
        ips: [
          { address: v4, gateway: "10.98.0.1", interface: 2 },
          { address: v6, gateway: "fd98::1", interface: 2 },
        ],
        routes: [{ dst: "0.0.0.0/0" }, { dst: "::/0" }],
        dns: {},
      },
    ])
    expect([v4, v6]).toEqual([expect.stringMatching(/^10\.98\.0\.\d+\/24$/), expect.stringMatching(/^fd98::.+\/64$/)])
  })

  test("removes a pod's interface and frees its addresses, however often DEL is called", async () => {
    // given a pod
    const { name, addresses } = await lab.pod("gone")
    const port = portName({ containerId: name, interface: "eth0" })
    // when DEL is called three times, the last time without the namespace
    const first = await lab.call("DEL", name)
    const second = await lab.call("DEL", name)
    const third = await lab.call("DEL", name, undefined, { environment: { CNI_NETNS: "" } })
    // then no call fails, and nothing is left
    expect([first, second, third]).toEqual(Array(3).fill({ code: 0, said: {} }))
    expect(lab.run(lab.machine, "ip", "-o", "link")).not.toContain(port)
    expect(lab.addresses().filter((address) => addresses.includes(address))).toEqual([])
  })

  test.each([
    { title: "an address of IPv4 was removed", id: 1, command: ["address", "delete", "10.98.0.1/24", "dev", BRIDGE] },
    { title: "an address of IPv6 was removed", id: 2, command: ["address", "delete", "fd98::1/64", "dev", BRIDGE] },
    { title: "the link was set down", id: 3, command: ["link", "set", BRIDGE, "down"] },
    { title: "the bridge was deleted", id: 4, command: ["link", "delete", BRIDGE] },
  ])("gives a pod a gateway after $title", async ({ id, command }) => {
    await lab.pod(`before-${id}`)
    lab.run(lab.machine, "ip", ...command)
    const { name } = await lab.pod(`after-${id}`)
    // While a new bridge learns the members of multicast groups, it may lose the first neighbour solicitation of IPv6.
    const reaches = (gateway: string) => lab.reaches(name, gateway) || lab.reaches(name, gateway)
    expect(["10.98.0.1", "fd98::1"].map(reaches)).toEqual([true, true])
  })

  test("gives pods that are added at the same time different addresses", async () => {
    const names = Array.from({ length: 12 }, (_, i) => lab.sandbox(`many-${i}`))
    const answers = await Promise.all(names.map((name) => lab.call("ADD", name)))
    expect(answers.map(({ code }) => code)).toEqual(names.map(() => 0))
    const given = answers.flatMap(({ said }) => (said["ips"] as { address: string }[]).map(({ address }) => address))
    expect(new Set(given).size).toBe(24)
    await Promise.all(names.map((name) => lab.call("DEL", name)))
  })

  test("leaves nothing behind when a pod cannot be added", async () => {
    // given a namespace that has an interface of this name
    const container = lab.sandbox("taken")
    lab.run(container, "ip", "link", "add", "eth0", "type", "bridge")
    const before = [lab.addresses().toSorted(), lab.run(lab.machine, "ip", "-o", "link").split("\n").length]
    // then the error has the kernel's reason
    expect(await lab.call("ADD", container)).toMatchObject({ code: 1, said: { msg: "netlink: file already exists" } })
    // and neither address nor interface remains
    expect([lab.addresses().toSorted(), lab.run(lab.machine, "ip", "-o", "link").split("\n").length]).toEqual(before)
  })

  test("reports why the kernel creates no interface", async () => {
    // given a machine that already has an interface with the name of the port
    const container = lab.sandbox("port-taken")
    const port = portName({ containerId: container, interface: "eth0" })
    lab.run(lab.machine, "ip", "link", "add", port, "type", "bridge")
    // then the error names this reason, not the later one that the pod has no interface
    expect(await lab.call("ADD", container)).toMatchObject({ code: 1, said: { msg: "netlink: file already exists" } })
  })

  test("refuses a pod when no address is free, and accepts it after another pod is removed", async () => {
    const config = lab.config({
      name: "small",
      ipam: { ranges: [[{ subnet: "10.97.0.0/30" }]], dataDir: lab.addressFolder },
    })
    const [first, second] = [lab.sandbox("small-1"), lab.sandbox("small-2")]
    expect((await lab.call("ADD", first, config)).code).toBe(0)
    expect(await lab.call("ADD", second, config)).toMatchObject({
      code: 1,
      said: { code: 100, msg: "no address is free in 10.97.0.0/30" },
    })
    await lab.call("DEL", first, config)
    expect((await lab.call("ADD", second, config)).code).toBe(0)
    await lab.call("DEL", second, config)
  })

  test("checks that a pod has its interface and addresses", async () => {
    const { name, addresses } = await lab.pod("checked")
    expect(await lab.call("CHECK", name)).toEqual({ code: 0, said: {} })
    lab.run(name, "ip", "address", "delete", `${addresses[1]}/64`, "dev", "eth0")
    expect(await lab.call("CHECK", name)).toMatchObject({ code: 1, said: { msg: `eth0 lacks ${addresses[1]}` } })
    lab.run(name, "ip", "link", "delete", "eth0")
    expect(await lab.call("CHECK", name)).toMatchObject({ code: 1, said: { msg: "the interface eth0 does not exist" } })
  })

  test("removes the remains of pods that the runtime no longer knows", async () => {
    const [kept, forgotten] = [await lab.pod("kept"), await lab.pod("forgotten")]
    const others = lab.addresses().filter((address) => ![...kept.addresses, ...forgotten.addresses].includes(address))
    const valid = [kept.name, ...owners(others)].map((containerID) => ({ containerID, ifname: "eth0" }))
    expect(await lab.call("GC", "", lab.config({ "cni.dev/valid-attachments": valid }))).toEqual({ code: 0, said: {} })
    expect(lab.addresses().filter((address) => forgotten.addresses.includes(address))).toEqual([])
    expect(lab.addresses()).toEqual(expect.arrayContaining([...kept.addresses]))
    expect(lab.reaches(kept.name, "10.98.0.1")).toBe(true)
    function owners(addresses: readonly string[]): readonly string[] {
      return addresses.map((address) => lab.ownerOf(address))
    }
  })

  test.each([
    { title: "no command", command: "", config: {}, wants: { code: 4, msg: "unknown CNI_COMMAND: it is not set" } },
    { title: "no JSON", command: "ADD", config: "{", wants: { code: 6 } },
    { title: "a future version", command: "ADD", config: { cniVersion: "9.0.0" }, wants: { code: 1 } },
    {
      title: "a network without a bridge",
      command: "ADD",
      config: { cniVersion: "1.0.0", name: "k3ts", type: "k3ts" },
      wants: { code: 7, msg: "invalid value (absent) for bridge" },
    },
  ] as const)("refuses $title with the specification's code", async ({ command, config, wants }) => {
    expect(await lab.call(command, "x", config)).toMatchObject({ code: 1, said: wants })
  })

  test("answers VERSION with its versions, and STATUS without an error", async () => {
    const { code, said } = await lab.call("VERSION", "", { cniVersion: "1.0.0" })
    expect([code, said["supportedVersions"]]).toEqual([0, ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]])
    expect(await lab.call("STATUS", "")).toEqual({ code: 0, said: {} })
  })

  test("brings up the loopback interface, as the plugin loopback does", async () => {
    const container = lab.sandbox("lo")
    const answer = await lab.call("ADD", container, LOOPBACK)
    expect(answer).toMatchObject({ code: 0, said: { ips: [{ version: "4", address: "127.0.0.1/8" }, {}] } })
    expect(lab.reaches(container, "127.0.0.1")).toBe(true)
  })

  describe.skipIf(HOST_PLUGINS === undefined)("with the host's plugins", () => {
    const stock = () => ({
      ...lab.config({ type: "bridge", isGateway: true, hairpinMode: true }),
      ipam: { type: "host-local", ranges: RANGES.map((subnet) => [{ subnet }]), dataDir: lab.addressFolder },
    })
    const environment = { CNI_PATH: HOST_PLUGINS! }
    const plugin = join(HOST_PLUGINS ?? "", "bridge")

    test("adopts pods of `bridge`, and `bridge` adopts its pods", async () => {
      // given a pod of each plugin
      const ours = await lab.pod("ours")
      const container = lab.sandbox("theirs")
      const { said } = await lab.call("ADD", container, stock(), { plugin, environment })
      const theirs = (said["ips"] as readonly { address: string }[]).map(({ address }) => address.split("/")[0]!)
      // then they have different addresses, and reach each other
      expect(new Set([...ours.addresses, ...theirs]).size).toBe(4)
      expect(theirs.map((address) => lab.reaches(ours.name, address))).toEqual([true, true])
      // when each plugin deletes the other one's pod
      expect(await lab.call("DEL", container)).toEqual({ code: 0, said: {} })
      expect(await lab.call("DEL", ours.name, stock(), { plugin, environment })).toEqual({ code: 0, said: {} })
      // then nothing is left
      expect(lab.addresses().filter((address) => [...ours.addresses, ...theirs].includes(address))).toEqual([])
      expect(lab.run(lab.machine, "ip", "-o", "link")).not.toContain(
        portName({ containerId: ours.name, interface: "eth0" }),
      )
    })

    test("starts portmap and bandwidth only for pods that need them", async () => {
      // given a pod with a host port and a limit
      const path = { environment: { CNI_PATH: lab.pluginsOnMachine("portmap", "bandwidth") } }
      const portMappings = [{ hostPort: 18_080, containerPort: 80, protocol: "tcp" }]
      const bandwidth = { ingressRate: 8_000_000, ingressBurst: 8_000_000 }
      const container = lab.sandbox("ports")
      const config = lab.config({ runtimeConfig: { portMappings, bandwidth } })
      const rules = () => lab.run(lab.machine, "iptables-save", "-t", "nat")
      const limits = () => lab.run(lab.machine, "tc", "qdisc")
      // then rules and limits exist as long as the pod
      expect((await lab.call("ADD", container, config, path)).code).toBe(0)
      expect(rules()).toContain(container)
      expect(limits()).toContain("tbf")
      expect(await lab.call("DEL", container, config, path)).toEqual({ code: 0, said: {} })
      expect(rules()).not.toContain(container)
      expect(limits()).not.toContain("tbf")
    })

    test.each([
      { path: () => "/nowhere", says: "portmap is not in /nowhere" },
      { path: () => "", says: "portmap is not in CNI_PATH, which has no absolute path" },
      { path: () => relative(process.cwd(), HOST_PLUGINS!), says: "portmap is not in CNI_PATH, which has no" },
    ])("removes the pod again when a chained plugin fails: $says", async ({ path, says }) => {
      const container = lab.sandbox("no-ports")
      const before = lab.addresses().toSorted()
      const config = lab.config({ runtimeConfig: { portMappings: [{ hostPort: 1, containerPort: 80 }] } })
      const answer = await lab.call("ADD", container, config, { environment: { CNI_PATH: path() } })
      expect(answer).toMatchObject({ code: 1, said: { msg: expect.stringContaining(says) } })
      expect(lab.addresses().toSorted()).toEqual(before)
      expect(existsSync(`/run/netns/${container}`)).toBe(true)
      expect(lab.run(container, "ip", "-o", "link")).not.toContain("eth0")
    })
  })

  test("accepts calls of root only: its socket is in a folder that only root can enter", () => {
    expect([dirname(lab.socket), lab.socket].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o600])
  })

  test("serves other calls when a process ends in the middle of its call", async () => {
    // given processes that end before, during and after their answer to the first system call
    for (const answers of [0, 1, 2]) {
      const socket = connect(lab.socket)
      const closed = new Promise((resolve) => socket.once("close", resolve))
      let asked = 0
      socket.on("data", (frames: Buffer) => {
        for (let i = 0; i < frames.length / FRAME && asked++ < answers; i++) socket.write(Buffer.alloc(FRAME))
        if (asked >= answers) socket.destroy()
      })
      await closed
    }
    // and one that is killed while the server waits for its input
    await lab.callAndKill("ADD", lab.sandbox("killed"))
    // then other calls are served
    expect((await lab.call("VERSION", "", { cniVersion: "1.0.0" })).code).toBe(0)
  })

  test("ends a running chained plugin when k3ts stops; later calls fail because k3ts does not answer", async () => {
    // given a plugin that hangs and keeps a pipe open as long as it runs
    const { path, pipe } = lab.hangingPlugin("portmap")
    const hanging = createReadStream(pipe)
    const started = once(hanging, "data")
    const config = lab.config({ runtimeConfig: { portMappings: [{ hostPort: 1, containerPort: 80 }] } })
    const call = lab.call("ADD", lab.sandbox("hanging"), config, { environment: { CNI_PATH: path } })
    await started
    // when k3ts stops
    await lab.stopServer()
    // then the plugin has ended
    await once(hanging, "end")
    expect((await call).code).not.toBe(0)
    expect(await lab.call("ADD", "x")).toMatchObject({
      code: 1,
      said: { code: 11, msg: expect.stringContaining("k3ts does not answer") },
    })
  })
})
