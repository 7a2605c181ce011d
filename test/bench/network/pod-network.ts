import { join } from "node:path"
import {
  HOST_PLUGINS,
  LACKING,
  LOOPBACK,
  PluginLab,
  RANGES,
} from "../../../components/containerd/network/plugin/plugin-lab.fixtures.ts"
import { cpuMs, type Benchmark, type Figure } from "../figure.ts"

const PODS = 40

/** One call of a plugin as containerd makes it. */
interface Step {
  readonly plugin: string
  readonly config: Record<string, unknown>
}

/**
 * The network of a pod, set up and removed, in a network namespace that stands for the machine: by our CNI plugin, and
 * by the host's plugins, which are the limit. What `ip netns exec` costs, by which all plugins are started here, is
 * taken off.
 */
export const podNetwork: Benchmark = {
  name: "pod-network",
  needs: () =>
    HOST_PLUGINS === undefined ? "needs CNI plugins" : LACKING.length > 0 ? `needs ${LACKING.join(", ")}` : undefined,
  async *run() {
    await using lab = await PluginLab.start({ guarded: true })
    const ipam = { ranges: RANGES.map((subnet) => [{ subnet }]), dataDir: lab.addressFolder }
    const ours = [
      { plugin: lab.plugin("loopback"), config: LOOPBACK },
      { plugin: lab.plugin("k3ts"), config: lab.config() },
    ]
    const hosts = [
      { plugin: join(HOST_PLUGINS!, "loopback"), config: LOOPBACK },
      {
        plugin: join(HOST_PLUGINS!, "bridge"),
        config: {
          ...lab.config({ type: "bridge", isGateway: true, hairpinMode: true }),
          ipam: { type: "host-local", ...ipam },
        },
      },
    ]
    await measure(lab, "first", ours) // the first calls wait for the compiler
    const nothing = await measure(lab, "nothing", [{ plugin: "/bin/true", config: {} }])
    const [mine, theirs] = [await measure(lab, "ours", ours), await measure(lab, "host", hosts)]
    for (const [what, key] of [
      ["time", "wall"],
      ["processor time", "cpu"],
    ] as const) {
      const net = (cost: Cost, calls: number) => cost[key] - nothing[key] * calls
      yield {
        name: `network of a pod, set up and removed: ${what}`,
        unit: "ms",
        value: net(mine, ours.length),
        better: "less",
        limit: { what: "the host's plugins loopback, bridge and host-local", value: net(theirs, hosts.length) },
      } satisfies Figure
    }
  },
}

/** Milliseconds for one pod. */
interface Cost {
  readonly wall: number
  readonly cpu: number
}

async function measure(lab: PluginLab, name: string, steps: readonly Step[]): Promise<Cost> {
  const pods = Array.from({ length: PODS }, (_, i) => lab.sandbox(`${name}-${i}`))
  const [began, used] = [performance.now(), cpuMs()]
  for (const command of ["ADD", "DEL"] as const)
    for (const pod of pods)
      for (const { plugin, config } of steps)
        await lab.call(command, pod, config, { plugin, environment: { CNI_PATH: HOST_PLUGINS! } })
  return { wall: (performance.now() - began) / PODS, cpu: (cpuMs() - used) / PODS }
}
