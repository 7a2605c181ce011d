import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { madeOnce } from "../../../../../pkg/cache/made-once.ts"
import type { Clock } from "../../../../../pkg/clock/clock.ts"
import type { CriClient } from "../../../../../pkg/cri/client.ts"
import { forwardEach } from "../../../../../pkg/streaming/each-port.ts"
import { connectPortForward } from "../../../../../pkg/streaming/port-forward-client.ts"
import { connectRemoteCommand } from "../../../../../pkg/streaming/remote-command-client.ts"
import type { RuntimeStreams } from "../../runtime.ts"
import { HeldOutputs } from "./held-outputs.ts"
import { withWholeInput } from "./whole-input.ts"

/** The streams of a runtime behind the CRI. */
export function criStreams(cri: Pick<CriClient, "runtime" | "processExits">, clock: Clock): RuntimeStreams {
  const stateDir = madeOnce(() => stateDirOf(cri))
  const outputs = new HeldOutputs({
    clock,
    exits: (signal, onActive) => cri.processExits(signal, onActive),
    stateDir,
  })
  return {
    // As containerd does. Source: pkg/cri/io/container_io.go Attach.
    inputEndsOutput: true,
    async exec(url, streams, containerId) {
      // The output of a terminal ends with its process only.
      const held = streams.stdin && !streams.tty ? await outputs.hold(containerId) : undefined
      try {
        const command = await connectRemoteCommand({ url, streams })
        return held === undefined ? command : withWholeInput(command, held, clock)
      } catch (err) {
        held?.release()
        throw err
      }
    },
    async processes(containerId) {
      const state = await stateDir()
      if (state === undefined) return 0
      const names = await readdir(join(state, "containers", containerId, "io")).catch(() => [])
      // Each process has a folder, and one is of the container itself.
      return Math.max(0, names.length - 1)
    },
    attach: (url, streams) => connectRemoteCommand({ url, streams }),
    portForward: (urlOf) => forwardEach(async () => connectPortForward({ url: await urlOf() })),
  }
}

/** Returns the folder where containerd's CRI has the pipes of containers; undefined for another runtime. */
async function stateDirOf({ runtime }: Pick<CriClient, "runtime">): Promise<string | undefined> {
  if ((await runtime.version()).runtimeName !== "containerd") return undefined
  const { info } = await runtime.status(true)
  const { stateDir } = JSON.parse(info?.["config"] ?? "{}") as { readonly stateDir?: string }
  return stateDir
}
